"""jax.lax.linalg, with its arguments and the order of its results."""

from __future__ import annotations

from typing import Any

from . import _neap
from . import linalg as _la
from ._neap import Array
from ._neap.linalg import triangular_solve as _triangular_solve
from ._neap.linalg import tridiagonal_solve


def cholesky(a: Any, *, symmetrize_input: bool = True) -> Array:
    """Returns the lower triangular L with L L^T = (a + a^T) / 2."""
    return _la.cholesky(a, symmetrize_input=symmetrize_input)


def eig(x: Any, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True) -> tuple[Array, ...]:
    """Returns eigenvalues, then the left and the right eigenvectors that are asked for, in columns. The left ones are made of
    the right ones, which they need to be independent."""
    if not (compute_left_eigenvectors or compute_right_eigenvectors):
        return (_la.eigvals(x),)
    values, right = _la.eig(x)
    if not compute_left_eigenvectors:
        return values, right
    left = _neap.conj(_la.matrix_transpose(_la.inv(right)))
    left = left / _la.vector_norm(left, axis=-2, keepdims=True)
    return (values, left, right) if compute_right_eigenvectors else (values, left)


def eigh(x: Any, *, lower: bool = True, symmetrize_input: bool = True) -> tuple[Array, Array]:
    """Returns (eigenvectors, eigenvalues): the vectors first."""
    values, vectors = _la.eigh(x, "L" if lower else "U", symmetrize_input)
    return vectors, values


def lu(x: Any) -> tuple[Array, Array, Array]:
    """Returns L and U in one matrix, the pivots and the permutation."""
    return tuple(_la.lu(x))


def qr(x: Any, *, full_matrices: bool = True) -> tuple[Array, Array]:
    """Factors x = Q R."""
    return tuple(_la.qr(x, "complete" if full_matrices else "reduced"))


def schur(x: Any, *, compute_schur_vectors: bool = True) -> tuple[Array, ...]:
    """Returns the complex Schur form (T, Z), or (T,)."""
    t, z = _la.schur(x)
    return (t, z) if compute_schur_vectors else (t,)


def triangular_solve(
    a: Any, b: Any, *, left_side: bool = False, lower: bool = False, transpose_a: bool = False, conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:  # fmt: skip
    """Solves x a = b, or a x = b where left_side."""
    t = _neap.conj(a) if conjugate_a else a
    return _triangular_solve(
        t, b, left_side=left_side, lower=lower, transpose_a=transpose_a, unit_diagonal=unit_diagonal
    )


def svd(x: Any, *, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Factors x = U diag(S) Vh; without compute_uv the singular values alone."""
    return tuple(_la.svd(x, full_matrices)) if compute_uv else _la.svdvals(x)


__all__ = ["cholesky", "eig", "eigh", "lu", "qr", "schur", "svd", "triangular_solve", "tridiagonal_solve"]
