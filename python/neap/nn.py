"""Activations and attention: jax.nn."""

from ._neap import nn as _nn

globals().update({name: value for name, value in vars(_nn).items() if not name.startswith("_")})
__all__ = [name for name in vars(_nn) if not name.startswith("_")]
