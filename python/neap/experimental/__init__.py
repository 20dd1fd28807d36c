"""What Neap has of jax.experimental."""

from . import ode

__all__ = ["ode"]
