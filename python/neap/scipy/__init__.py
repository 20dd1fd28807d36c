"""What Neap has of jax.scipy."""

from . import linalg, optimize, signal, sparse, special

__all__ = ["linalg", "optimize", "signal", "sparse", "special"]
