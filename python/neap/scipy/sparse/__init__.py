"""What Neap has of jax.scipy.sparse: solvers of linear systems that are given as functions."""

from . import linalg

__all__ = ["linalg"]
