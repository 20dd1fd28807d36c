"""Fourier transforms: jax.numpy.fft, with its definitions."""

from ._neap import fft as _fft

globals().update({name: value for name, value in vars(_fft).items() if not name.startswith("_")})
__all__ = [name for name in vars(_fft) if not name.startswith("_")]
