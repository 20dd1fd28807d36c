"""What Neap has of jax.experimental."""

from .._callback import io_callback
from . import ode

__all__ = ["io_callback", "ode"]
