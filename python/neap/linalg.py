"""Linear algebra: jax.numpy.linalg, and what is used of jax.scipy.linalg, with their definitions."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _neap
from ._neap import Array
from ._array_api import vecdot
from ._neap import matmul, tensordot
from ._neap.linalg import (
    block_diag, cho_solve, cholesky, det, eigvals, expm, inv, matrix_power, matrix_transpose, norm, solve,
    sqrtm, svdvals, triangular_solve, tridiagonal_solve,
)  # fmt: skip

_linalg = _neap.linalg


class QRResult(NamedTuple):
    """The factors of a = Q R."""

    Q: Array
    R: Array


class EighResult(NamedTuple):
    """Eigenvalues, ascending, and eigenvectors, in columns."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """Eigenvalues, in no order, and eigenvectors, in columns; both are complex."""

    eigenvalues: Array
    eigenvectors: Array


class SchurResult(NamedTuple):
    """The factors of a = Z T Z^H: Z unitary, T upper triangular."""

    T: Array
    Z: Array


class SVDResult(NamedTuple):
    """The factors of a = U diag(S) Vh."""

    U: Array
    S: Array
    Vh: Array


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Array
    logabsdet: Array


class LUResult(NamedTuple):
    """L and U in one matrix, which rows each step swapped, and the rows' permutation."""

    lu: Array
    pivots: Array
    permutation: Array


class LstsqResult(NamedTuple):
    """The solution, the sums of squares of a x - b, the rank and the singular values."""

    x: Array
    residuals: Array
    rank: Array
    s: Array


def qr(a: Any, mode: str = "reduced") -> QRResult:
    """Factors a = Q R, Q orthogonal, R upper triangular."""
    return QRResult(*_linalg._qr(a, mode))


def _is_lower(op: str, uplo: str | None) -> bool:
    if uplo not in (None, "L", "U"):
        raise _neap.OptionError(_neap._message(op, f'UPLO "{uplo}"', '"L" or "U"'))
    return uplo != "U"


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Returns the eigenvalues and eigenvectors of (a + a^T) / 2; without symmetrize_input those of the matrix whose lower
    triangle (UPLO="U": upper) is a's."""
    return EighResult(*_linalg._eigh(a, _is_lower("eigh", UPLO), symmetrize_input))


def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """Returns the eigenvalues of the same matrix alone, ascending."""
    return _linalg._eigvalsh(a, _is_lower("eigvalsh", UPLO), symmetrize_input)


def eig(a: Any) -> EigResult:
    """Returns the eigenvalues and eigenvectors of any square matrix, complex."""
    return EigResult(*_linalg._eig(a))


def schur(a: Any) -> SchurResult:
    """Returns the complex Schur form a = Z T Z^H of any square matrix. It has no derivative."""
    return SchurResult(*_linalg._schur(a))


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> SVDResult | Array:
    """Factors a = U diag(S) Vh; without compute_uv the singular values alone."""
    return SVDResult(*_linalg._svd(a, full_matrices)) if compute_uv else svdvals(a)


def slogdet(a: Any) -> SlogdetResult:
    """Returns the sign and the logarithm of the absolute value of the determinant."""
    return SlogdetResult(*_linalg._slogdet(a))


def lu(a: Any) -> LUResult:
    """Factors a by Gaussian elimination with partial pivoting."""
    return LUResult(*_linalg._lu(a))


def lu_solve(factors: LUResult, b: Any, trans: int = 0) -> Array:
    """Returns x with a x = b (trans=1: a^T x = b) from lu(a)."""
    return _linalg._lu_solve(*factors, b, trans == 1)


def lstsq(a: Any, b: Any, rcond: float | None = None) -> LstsqResult:
    """Returns the x of least norm among those with the least |a x - b|."""
    return LstsqResult(*_linalg._lstsq(a, b, rcond))


def cond(x: Any) -> Array:
    """Returns the ratio of the largest and the smallest singular value."""
    s = svdvals(x)
    return s[..., 0] / s[..., -1]


def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Array:
    """Returns norms of vectors along axes, all unless given."""
    x = _neap._as_array(x)
    if axis is None:
        flat = norm(x.ravel(), ord)
        return flat.reshape((1,) * x.ndim) if keepdims else flat
    if isinstance(axis, int):
        return norm(x, ord, axis, keepdims)
    total = _neap.sum(_neap.abs(x) ** ord, axis, keepdims=keepdims)
    return total ** (1 / ord)


def matrix_norm(x: Any, *, keepdims: bool = False, ord: float | str = "fro") -> Array:
    """Returns norms of matrices in the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


def _above(s: Array, rtol: Any) -> Array:
    """Whether singular values are above rtol (a number for each matrix) times the largest."""
    return s > _neap._as_array(rtol)[..., None] * _neap.max(s, axis=-1, keepdims=True, initial=0)


def pinv(a: Any, rtol: Any = None) -> Array:
    """The pseudo-inverse; singular values up to rtol, a number or one for each matrix, times the largest count as zero."""
    if rtol is None or isinstance(rtol, (int, float)):
        return _linalg.pinv(a, rtol)
    u, s, vh = _linalg._svd(a, False)
    counts = _above(s, rtol)
    inverse = _neap.where(counts, 1 / _neap.where(counts, s, 1), 0)
    return matrix_transpose(vh).conj() @ (inverse[..., None] * matrix_transpose(u).conj())


def matrix_rank(M: Any, rtol: Any = None) -> Array:
    """Counts the singular values above rtol, a number or one for each matrix, times the largest."""
    if rtol is None or isinstance(rtol, (int, float)):
        return _linalg.matrix_rank(M, rtol)
    return _neap.sum(_above(svdvals(M), rtol), axis=-1, dtype=_neap.int32)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """A diagonal of the last two axes, which becomes the last axis."""
    return _neap.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Adds up a diagonal of the last two axes."""
    return _neap.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def outer(x1: Any, x2: Any, /) -> Array:
    """Multiplies each element of a vector with each of another."""
    x1, x2 = _neap._as_array(x1), _neap._as_array(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise _neap.ShapeError(_neap._message("outer", f"{x1.ndim} and {x2.ndim} axes", "one axis of both"))
    return _neap.outer(x1, x2)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Cross products of vectors along an axis; other axes broadcast."""
    return _neap.cross(x1, x2, axis)


def multi_dot(arrays: list) -> Array:
    """Multiplies matrices, from the left to the right."""
    result = arrays[0]
    for other in arrays[1:]:
        result = _neap.dot(result, other)
    return result


__all__ = [
    "EigResult", "EighResult", "LUResult", "LstsqResult", "QRResult", "SVDResult", "SchurResult", "SlogdetResult", "block_diag",
    "cho_solve", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "expm", "inv", "lstsq", "lu", "lu_solve",
    "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "schur", "slogdet",
    "solve", "sqrtm", "svd", "svdvals", "tensordot", "trace", "triangular_solve", "tridiagonal_solve", "vecdot", "vector_norm",
]  # fmt: skip
