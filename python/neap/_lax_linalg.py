"""jax.lax.linalg, with its arguments and the order of its results."""

from __future__ import annotations

from typing import Any

from . import linalg as _la
from ._neap import Array
from ._neap.linalg import triangular_solve, tridiagonal_solve


def cholesky(a: Any, *, symmetrize_input: bool = True) -> Array:
    """Returns the lower triangular L with L L^T = (a + a^T) / 2."""
    return _la.cholesky(a, symmetrize_input=symmetrize_input)


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


def svd(x: Any, *, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Factors x = U diag(S) Vh; without compute_uv the singular values alone."""
    return tuple(_la.svd(x, full_matrices)) if compute_uv else _la.svdvals(x)


__all__ = ["cholesky", "eigh", "lu", "qr", "schur", "svd", "triangular_solve", "tridiagonal_solve"]
