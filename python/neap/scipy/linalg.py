"""Linear algebra: what is used of jax.scipy.linalg, with its arguments. Matrices are checked for nothing, and overwritten
never."""

from __future__ import annotations

from typing import Any

from .. import _neap
from .. import linalg as _la
from .._neap import Array
from .._neap.linalg import block_diag, det, expm, inv, sqrtm


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Returns the upper (lower: lower) triangular factor of a symmetric (Hermitian) positive definite a."""
    return _la.cholesky(a, upper=not lower)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, bool]:
    """Returns (cholesky(a, lower), lower) for cho_solve()."""
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Array:
    """Returns x with a x = b from cho_factor(a)."""
    c, lower = c_and_lower
    return _la.cho_solve(c, b, lower)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """Returns L and U in one matrix, and which rows each step swapped."""
    factors = _la.lu(a)
    return factors.lu, factors.pivots


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """Returns x with a x = b (trans=1: a^T x = b; 2: a^H x = b) from lu_factor(a)."""
    lu, pivots = (_neap._as_array(x) for x in lu_and_piv)
    if trans == 2:
        return _neap.conj(lu_solve((lu, pivots), _neap.conj(b), 1))
    rows = list(range(lu.shape[-1]))
    permutation = _permutation(pivots, rows)
    return _la.lu_solve(_la.LUResult(lu, pivots, permutation), b, trans)


def _permutation(pivots: Array, rows: list[int]) -> Array:
    """Returns the permutation that swaps rows i and pivots[i], in order."""
    from .._control import fori_loop

    def swap(i: Array, p: Array) -> Array:
        j = pivots[i]
        return p.at[i].set(p[j]).at[j].set(p[i])

    return fori_loop(0, pivots.shape[-1], swap, _neap.array(rows, dtype=_neap.int32))


def qr(a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False) -> Any:
    """Factors a = Q R, mode "full", "r" or "economic"; "r" gives (R,)."""
    if pivoting:
        raise NotImplementedError("qr: pivoting")
    if mode not in ("full", "r", "economic"):
        raise _neap.OptionError(_neap._message("qr", f'mode "{mode}"', '"full", "r" or "economic"'))
    q, r = _la.qr(a, "reduced" if mode == "economic" else "complete")
    return (r,) if mode == "r" else (q, r)


def eigh(
    a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
    turbo: bool = True, eigvals: Any = None, type: int = 1, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Returns (eigenvalues, eigenvectors) of a symmetric (Hermitian) a; eigvals_only: the values."""
    if b is not None or eigvals is not None or type != 1:
        raise NotImplementedError("eigh: b, eigvals, type")
    uplo = "L" if lower else "U"
    return _la.eigvalsh(a, uplo) if eigvals_only else tuple(_la.eigh(a, uplo))


def schur(a: Any, output: str = "real") -> tuple[Array, Array]:
    """Returns the Schur form (T, Z) with a = Z T Z^H. output is "complex", for complex matrices "real" too."""
    x = _neap._as_array(a)
    if output not in ("real", "complex"):
        raise _neap.OptionError(_neap._message("schur", f'output "{output}"', '"complex"'))
    if output == "real" and x.dtype.kind != "c":
        raise NotImplementedError('schur: the real form of a real matrix; output="complex"')
    return tuple(_la.schur(x))


def solve(
    a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False, debug: bool = False,
    check_finite: bool = True, assume_a: str = "gen",
) -> Array:  # fmt: skip
    """Returns x with a x = b; assume_a="pos": a is symmetric (Hermitian) positive definite."""
    return _la.solve(a, b, positive=assume_a == "pos")


def solve_triangular(
    a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    debug: Any = None, check_finite: bool = True,
) -> Array:  # fmt: skip
    """Returns x with a x = b (trans=1 or "T": a^T x = b; 2 or "C": a^H x = b) for a triangular a."""
    x, y = _neap._as_array(a), _neap._as_array(b)
    if trans in (2, "C"):
        x = _neap.conj(x)
    flipped = trans in (1, 2, "T", "C")
    vector = y.ndim == x.ndim - 1
    out = _la.triangular_solve(
        x, y[..., None] if vector else y, left_side=True, lower=lower, transpose_a=flipped, unit_diagonal=unit_diagonal
    )
    return out[..., 0] if vector else out


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    """Factors a = U diag(s) Vh; without compute_uv the singular values alone."""
    return tuple(_la.svd(a, full_matrices)) if compute_uv else _la.svdvals(a)


__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "det", "eigh", "expm", "inv", "lu_factor", "lu_solve", "qr", "schur",
    "solve", "solve_triangular", "sqrtm", "svd",
]  # fmt: skip
