"""Convolutions of several axes: jax.scipy.signal."""

from __future__ import annotations

from typing import Any

from .. import _neap
from .._neap import Array
from .._neap.signal import fftconvolve

_signal = _neap.signal


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Array:
    """Convolves arrays of one to three axes, by their sums of products or, with method="fft", by Fourier transforms."""
    del precision
    return fftconvolve(in1, in2, mode) if _is_fft("convolve", method) else _signal._convolve(in1, in2, mode)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Array:
    """Correlates such arrays: convolves in1 with in2 conjugated and turned round."""
    del precision
    if _is_fft("correlate", method):
        return fftconvolve(in1, _neap.conj(_neap.flip(in2)), mode)
    return _signal._correlate(in1, in2, mode)


def _is_fft(op: str, method: str) -> bool:
    if method not in ("auto", "direct", "fft"):
        raise _neap.OptionError(_neap._message(op, f'method "{method}"', '"auto", "direct" or "fft"'))
    return method == "fft"


def _check_boundary(op: str, boundary: str, fillvalue: float) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f'{op}: boundary "{boundary}", fillvalue {fillvalue}; what is beyond the edges counts as 0')


def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0, precision: Any = None
) -> Array:
    """Convolves two matrices."""
    del precision
    _check_boundary("convolve2d", boundary, fillvalue)
    return _signal._convolve2d(in1, in2, mode)


def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0, precision: Any = None
) -> Array:
    """Correlates two matrices."""
    del precision
    _check_boundary("correlate2d", boundary, fillvalue)
    return _signal._correlate2d(in1, in2, mode)


__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]
