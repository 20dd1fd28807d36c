"""Minima of functions: jax.scipy.optimize."""

from .._solvers import OptimizeResults, minimize

__all__ = ["OptimizeResults", "minimize"]
