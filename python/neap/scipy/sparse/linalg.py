"""Linear systems that are given as functions: jax.scipy.sparse.linalg."""

from ..._solvers import bicgstab, cg, gmres

__all__ = ["bicgstab", "cg", "gmres"]
