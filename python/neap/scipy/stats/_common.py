"""What distributions share: arguments of one dtype, what lies outside, and what follows of logarithms."""

from __future__ import annotations

import math
from typing import Any

from ... import _neap
from ..._neap import Array, exp, floor, log, log1p, where

INF = math.inf


def arrays(*values: Any) -> list[Array]:
    """The values as arrays of one floating dtype, which Python's numbers follow."""
    strong = [_neap._as_array(v) for v in values if not isinstance(v, (bool, int, float, complex))]
    dtype = strong[0].dtype if strong else _neap.dtype("float32")
    for a in strong[1:]:
        dtype = _neap.promote_types(dtype, a.dtype)
    if dtype.kind == "c" or any(isinstance(v, complex) for v in values):
        raise _neap.DTypeError(_neap._message("scipy.stats", "complex numbers", "real ones"))
    if dtype.kind in "iub":
        dtype = _neap.dtype("float64" if dtype.itemsize == 8 else "float32")
    is_number = [isinstance(v, (bool, int, float)) for v in values]
    return [_neap._operand_as(v, dtype) if n else _neap._as_array(v).astype(dtype) for v, n in zip(values, is_number, strict=True)]


def within(outside: Array, x: Array, f: Any, safe: float = 1.0, value: float = -INF) -> Array:
    """f(x), and `value` outside of where it lives; there f sees `safe`, so that gradients are 0 and not NaN. NaN is not
    outside."""
    return where(outside, value, f(where(outside, safe, x)))


def not_whole(z: Array) -> Array:
    return z > floor(z)


def quantile(q: Array, value: Array) -> Array:
    """The value, and NaN where q is no probability."""
    return where((q < 0) | (q > 1), math.nan, value)


class Distribution:
    """What follows from a distribution's logpdf, cdf and sf."""

    @classmethod
    def pdf(cls, x: Any, *args: Any, **kwargs: Any) -> Array:
        """The density."""
        return exp(cls.logpdf(x, *args, **kwargs))


class Whole:
    """What follows from a logpmf."""

    @classmethod
    def pmf(cls, k: Any, *args: Any, **kwargs: Any) -> Array:
        """The probability of each number."""
        return exp(cls.logpmf(k, *args, **kwargs))


def log_of(part: Array, rest: Array) -> Array:
    """log(part), of the smaller of both."""
    none, small = part <= 0, part < 0.5
    logs = where(small, log(where(small & ~none, part, 0.5)), log1p(-where(small, 0.5, rest)))
    return where(none, -INF, logs)


class WithTails(Distribution):
    """What follows from a cdf and an sf."""

    @classmethod
    def logcdf(cls, x: Any, *args: Any, **kwargs: Any) -> Array:
        """The logarithm of the distribution function."""
        return log_of(cls.cdf(x, *args, **kwargs), cls.sf(x, *args, **kwargs))

    @classmethod
    def logsf(cls, x: Any, *args: Any, **kwargs: Any) -> Array:
        """The logarithm of one minus the distribution function."""
        return log_of(cls.sf(x, *args, **kwargs), cls.cdf(x, *args, **kwargs))
