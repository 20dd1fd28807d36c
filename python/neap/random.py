"""Random numbers: pure functions of (key, element). A seed draws the numbers of JAX's default generator."""

from ._neap import random as _random

globals().update({name: value for name, value in vars(_random).items() if not name.startswith("_")})
__all__ = [name for name in vars(_random) if not name.startswith("_")]
