"""jax.debug's names: print and callback in compiled code."""

from ._callback import callback
from ._callback import debug_print as print

__all__ = ["callback", "print"]
