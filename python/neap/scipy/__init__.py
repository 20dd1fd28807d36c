"""What Neap has of jax.scipy."""

from . import linalg, optimize, signal, sparse, special, stats

__all__ = ["linalg", "optimize", "signal", "sparse", "special", "stats"]
