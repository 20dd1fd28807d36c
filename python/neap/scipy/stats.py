"""Distributions: jax.scipy.stats. Each has the density (`pdf`, of whole numbers `pmf`), its logarithm, and where there is a
good formula the distribution function (`cdf`), one minus it (`sf`), their logarithms and inverses (`ppf`, `isf`). Arguments
are arrays or numbers that broadcast; `loc` is taken away first, then what is left is divided by `scale`. Outside of where a
distribution lives its density is 0, as that of numbers between whole ones is, and so are the gradients; what is NaN stays so.
Results have the dtype of the arrays (of integers: float32, of 64 bits float64). Formulas: SciPy's documentation."""

from __future__ import annotations

import math
from typing import Any

from .. import _neap
from .._array_api import broadcast_shapes
from .._neap import Array, exp, expm1, floor, log, log1p, where
from .._neap.nn import log_sigmoid
from .linalg import cholesky, solve_triangular
from .special import betainc, betaln, gammainc, gammaincc, gammaln, i0e, log_ndtr, ndtr, ndtri, xlog1py, xlogy

_INF = math.inf


def _arrays(*values: Any) -> list[Array]:
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


def _within(outside: Array, x: Array, f: Any, safe: float = 1.0, value: float = -_INF) -> Array:
    """f(x), and `value` outside of where it lives; there f sees `safe`, so that gradients are 0 and not NaN. NaN is not
    outside."""
    return where(outside, value, f(where(outside, safe, x)))


def _not_whole(z: Array) -> Array:
    return z > floor(z)


def _quantile(q: Array, value: Array) -> Array:
    """The value, and NaN where q is no probability."""
    return where((q < 0) | (q > 1), math.nan, value)


class _Distribution:
    """What follows from a distribution's logpdf, cdf and sf."""

    @classmethod
    def pdf(cls, x: Any, *args: Any, **kwargs: Any) -> Array:
        """The density."""
        return exp(cls.logpdf(x, *args, **kwargs))


class _Whole:
    """What follows from a logpmf."""

    @classmethod
    def pmf(cls, k: Any, *args: Any, **kwargs: Any) -> Array:
        """The probability of each number."""
        return exp(cls.logpmf(k, *args, **kwargs))


def _log_of(part: Array, rest: Array) -> Array:
    """log(part), of the smaller of both."""
    none, small = part <= 0, part < 0.5
    logs = where(small, log(where(small & ~none, part, 0.5)), log1p(-where(small, 0.5, rest)))
    return where(none, -_INF, logs)


class _WithTails(_Distribution):
    """What follows from a cdf and an sf."""

    @classmethod
    def logcdf(cls, x: Any, *args: Any, **kwargs: Any) -> Array:
        """The logarithm of the distribution function."""
        return _log_of(cls.cdf(x, *args, **kwargs), cls.sf(x, *args, **kwargs))

    @classmethod
    def logsf(cls, x: Any, *args: Any, **kwargs: Any) -> Array:
        """The logarithm of one minus the distribution function."""
        return _log_of(cls.sf(x, *args, **kwargs), cls.cdf(x, *args, **kwargs))


class norm(_Distribution):
    """The normal distribution."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        z = (x - loc) / scale
        return -0.5 * z * z - log(scale) - 0.5 * math.log(2 * math.pi)

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return ndtr((x - loc) / scale)

    @staticmethod
    def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return log_ndtr((x - loc) / scale)

    @staticmethod
    def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return ndtr((loc - x) / scale)

    @staticmethod
    def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return log_ndtr((loc - x) / scale)

    @staticmethod
    def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, loc, scale = _arrays(q, loc, scale)
        return ndtri(q) * scale + loc

    @staticmethod
    def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, loc, scale = _arrays(q, loc, scale)
        return loc - ndtri(q) * scale


class expon(_Distribution):
    """The exponential distribution of mean `scale`."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        z = (x - loc) / scale
        return _within(z < 0, z, lambda z: -z - log(scale))

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return -expm1(expon.logsf(x, loc, scale))

    @staticmethod
    def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        z = (x - loc) / scale
        return _within(z <= 0, z, lambda z: log(-expm1(-z)))

    @staticmethod
    def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return exp(expon.logsf(x, loc, scale))

    @staticmethod
    def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        z = (x - loc) / scale
        return where(z < 0, 0.0, -z)

    @staticmethod
    def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, loc, scale = _arrays(q, loc, scale)
        return _quantile(q, loc - log1p(-q) * scale)


class uniform(_Distribution):
    """The uniform distribution from loc to loc + scale."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        z = (x - loc) / scale
        outside = (z < 0) | (z > 1)
        return where(outside, -_INF, 0 * where(outside, 0.0, z) - log(scale))

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return _neap.clip((x - loc) / scale, 0, 1)

    @staticmethod
    def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, loc, scale = _arrays(q, loc, scale)
        return _quantile(q, q * scale + loc)


class laplace(_Distribution):
    """The Laplace distribution."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return -_neap.abs((x - loc) / scale) - log(2 * scale)

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        z = (x - loc) / scale
        tail = 0.5 * exp(-_neap.abs(z))
        return where(z <= 0, tail, 1 - tail)


class logistic(_Distribution):
    """The logistic distribution."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        z = _neap.abs((x - loc) / scale)
        return -z - 2 * log1p(exp(-z)) - log(scale)

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return _neap.sigmoid((x - loc) / scale)

    @staticmethod
    def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return log_sigmoid((x - loc) / scale)

    @staticmethod
    def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return log_sigmoid((loc - x) / scale)

    @staticmethod
    def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return _neap.sigmoid((loc - x) / scale)

    @staticmethod
    def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return _neap.logit(x) * scale + loc

    @staticmethod
    def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return loc - _neap.logit(x) * scale


class cauchy(_WithTails):
    """The Cauchy distribution."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        z = (x - loc) / scale
        return -log1p(z * z) - log(math.pi * scale)

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return _neap.arctan2(scale, loc - x) / math.pi  # 1/2 + atan((x - loc) / scale) / pi, without losing what is small

    @staticmethod
    def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return _neap.arctan2(scale, x - loc) / math.pi

    @staticmethod
    def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, loc, scale = _arrays(q, loc, scale)
        return _quantile(q, _cauchy_quantile(q) * scale + loc)

    @staticmethod
    def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, loc, scale = _arrays(q, loc, scale)
        return _quantile(q, loc - _cauchy_quantile(q) * scale)


def _cauchy_quantile(q: Array) -> Array:
    """tan(pi (q - 1/2)), with all digits at both ends."""
    low = q < 0.5
    half = 1 / _neap.tan(math.pi * where(low, q, 1 - q))
    return where(low, -half, half)


class gumbel_r(_Distribution):
    """The distribution of the largest of many numbers."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        z = (x - loc) / scale
        return -z - exp(-z) - log(scale)

    @staticmethod
    def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        return -exp((loc - x) / scale)

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return exp(gumbel_r.logcdf(x, loc, scale))

    @staticmethod
    def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return -expm1(gumbel_r.logcdf(x, loc, scale))

    @staticmethod
    def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = _arrays(x, loc, scale)
        z = (x - loc) / scale
        far = z > 20  # where 1 - exp(-exp(-z)) is exp(-z), to all digits but of f64 half of one
        return where(far, -z - 0.5 * exp(-where(far, z, 20.0)), log(-expm1(-exp(-where(far, 20.0, z)))))

    @staticmethod
    def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Array:
        p, loc, scale = _arrays(p, loc, scale)
        return loc - log(-log(p)) * scale


class gumbel_l(_Distribution):
    """The distribution of the smallest of many numbers."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return gumbel_r.logpdf(*_mirrored(x, loc, scale))

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return gumbel_r.sf(*_mirrored(x, loc, scale))

    @staticmethod
    def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return gumbel_r.logsf(*_mirrored(x, loc, scale))

    @staticmethod
    def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return gumbel_r.cdf(*_mirrored(x, loc, scale))

    @staticmethod
    def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return gumbel_r.logcdf(*_mirrored(x, loc, scale))

    @staticmethod
    def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Array:
        p, loc, scale = _arrays(p, loc, scale)
        return log(-log1p(-p)) * scale + loc


def _mirrored(x: Any, loc: Any, scale: Any) -> tuple[Array, Array, Array]:
    x, loc, scale = _arrays(x, loc, scale)
    return -x, -loc, scale


class gamma(_WithTails):
    """The gamma distribution of shape `a`."""

    @staticmethod
    def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, loc, scale = _arrays(x, a, loc, scale)
        z = (x - loc) / scale
        return _within((z < 0) | (z == _INF), z, lambda z: xlogy(a - 1, z) - z - gammaln(a) - log(scale))

    @staticmethod
    def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, loc, scale = _arrays(x, a, loc, scale)
        z = (x - loc) / scale
        return _within(z < 0, z, lambda z: gammainc(a, z), value=0.0)

    @staticmethod
    def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, loc, scale = _arrays(x, a, loc, scale)
        z = (x - loc) / scale
        return _within(z < 0, z, lambda z: gammaincc(a, z), value=1.0)


class chi2(_WithTails):
    """The distribution of the sum of `df` squares of normal numbers."""

    @staticmethod
    def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return gamma.logpdf(*_halved(x, df, loc, scale))

    @staticmethod
    def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return gamma.cdf(*_halved(x, df, loc, scale))

    @staticmethod
    def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return gamma.sf(*_halved(x, df, loc, scale))


def _halved(x: Any, df: Any, loc: Any, scale: Any) -> tuple[Array, Array, Array, Array]:
    x, df, loc, scale = _arrays(x, df, loc, scale)
    return x, df / 2, loc, 2 * scale


class beta(_WithTails):
    """The beta distribution of shapes `a` and `b`."""

    @staticmethod
    def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, b, loc, scale = _arrays(x, a, b, loc, scale)
        z = (x - loc) / scale
        outside = (z < 0) | (z > 1)
        return _within(outside, z, lambda z: xlogy(a - 1, z) + xlog1py(b - 1, -z) - betaln(a, b) - log(scale), 0.5)

    @staticmethod
    def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, b, loc, scale = _arrays(x, a, b, loc, scale)
        z = (x - loc) / scale
        return where(z >= 1, 1.0, _within((z < 0) | (z >= 1), z, lambda z: betainc(a, b, z), 0.5, 0.0))

    @staticmethod
    def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, b, loc, scale = _arrays(x, a, b, loc, scale)
        z = (loc + scale - x) / scale
        return where(z >= 1, 1.0, _within((z < 0) | (z >= 1), z, lambda z: betainc(b, a, z), 0.5, 0.0))


class t(_Distribution):
    """Student's distribution of `df` degrees of freedom."""

    @staticmethod
    def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, df, loc, scale = _arrays(x, df, loc, scale)
        z = (x - loc) / scale
        norming = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * log(df * math.pi) - log(scale)
        return norming - (df + 1) / 2 * log1p(z * z / df)


class pareto(_WithTails):
    """The Pareto distribution of shape `b`, from 1 on."""

    @staticmethod
    def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, b, loc, scale = _arrays(x, b, loc, scale)
        z = (x - loc) / scale
        return _within(z < 1, z, lambda z: log(b / scale) - (b + 1) * log(z))

    @staticmethod
    def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return -expm1(pareto.logsf(x, b, loc, scale))

    @staticmethod
    def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return exp(pareto.logsf(x, b, loc, scale))

    @staticmethod
    def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, b, loc, scale = _arrays(x, b, loc, scale)
        z = (x - loc) / scale
        return _within(z < 1, z, lambda z: -b * log(z), value=0.0)

    @staticmethod
    def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, b, loc, scale = _arrays(q, b, loc, scale)
        return _quantile(q, exp(-log1p(-q) / b) * scale + loc)


class gennorm(_Distribution):
    """The generalized normal distribution of shape `beta`: 2 is normal, 1 Laplace's."""

    @staticmethod
    def logpdf(x: Any, beta: Any) -> Array:
        x, beta = _arrays(x, beta)
        return log(beta) - math.log(2) - gammaln(1 / beta) - _neap.abs(x) ** beta

    @staticmethod
    def cdf(x: Any, beta: Any) -> Array:
        x, beta = _arrays(x, beta)
        return 0.5 * (1 + _neap.sign(x) * gammainc(1 / beta, _neap.abs(x) ** beta))


class vonmises(_Distribution):
    """Von Mises' distribution of angles, of concentration `kappa`."""

    @staticmethod
    def logpdf(x: Any, kappa: Any) -> Array:
        x, kappa = _arrays(x, kappa)
        return kappa * (_neap.cos(x) - 1) - math.log(2 * math.pi) - log(i0e(kappa))


class wrapcauchy(_Distribution):
    """Cauchy's distribution round the circle, of concentration `c`, from 0 to 2 pi."""

    @staticmethod
    def logpdf(x: Any, c: Any) -> Array:
        x, c = _arrays(x, c)
        outside = (x < 0) | (x >= 2 * math.pi)
        return _within(outside, x, lambda x: log(1 - c * c) - math.log(2 * math.pi) - log(1 + c * c - 2 * c * _neap.cos(x)))


class truncnorm(_Distribution):
    """The normal distribution between `a` and `b`, in units of scale from loc."""

    @staticmethod
    def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, b, loc, scale = _arrays(x, a, b, loc, scale)
        z = (x - loc) / scale
        logs = where((z < a) | (z > b), -_INF, norm.logpdf(x, loc, scale) - _log_mass(a, b))
        return where(a < b, logs, math.nan)

    @staticmethod
    def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, b, loc, scale = _arrays(x, a, b, loc, scale)
        z = (x - loc) / scale
        below, above = z <= a, z >= b
        known = below | above
        middle = where(known, (a + _neap.where(_neap.isfinite(b), b, a + 1)) / 2, z)
        middle = where(known & ~_neap.isfinite(middle), 0.0, middle)
        logs = where(below, -_INF, where(above, 0.0, _log_mass(a, middle) - _log_mass(a, b)))
        return where(a < b, logs, math.nan)

    @staticmethod
    def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return exp(truncnorm.logcdf(x, a, b, loc, scale))

    @staticmethod
    def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, b, loc, scale = _arrays(x, a, b, loc, scale)
        return truncnorm.logcdf(-x, -b, -a, -loc, scale)

    @staticmethod
    def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return exp(truncnorm.logsf(x, a, b, loc, scale))


def _log_mass(a: Array, b: Array) -> Array:
    """The logarithm of what the normal distribution has between a and b, in the tail in which its digits are."""
    right = a > 0
    low, high = where(right, -b, a), where(right, -a, b)
    low, high = log_ndtr(low), log_ndtr(high)
    return high + log1p(-exp(low - high))


class bernoulli(_Whole):
    """1 with probability `p`, else 0."""

    @staticmethod
    def logpmf(k: Any, p: Any, loc: Any = 0) -> Array:
        k, p, loc = _arrays(k, p, loc)
        z = k - loc
        outside = (z < 0) | (z > 1) | _not_whole(z)
        return _within(outside, z, lambda z: xlogy(z, p) + xlog1py(1 - z, -p))

    @staticmethod
    def cdf(k: Any, p: Any) -> Array:
        k, p = _arrays(k, p)
        return where(k < 0, 0.0, where(k >= 1, 1.0, 1 - p + 0 * k))

    @staticmethod
    def ppf(q: Any, p: Any) -> Array:
        q, p = _arrays(q, p)
        known = (p >= 0) & (p <= 1) & (q == q)
        return where(known, _quantile(q, (q > 1 - p).astype(q.dtype)), math.nan)


class binom(_Whole):
    """How many of `n` trials succeed, each with probability `p`."""

    @staticmethod
    def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
        k, n, p, loc = _arrays(k, n, p, loc)
        z = k - loc
        outside = (z < 0) | (z > n) | _not_whole(z)

        def of(z: Array) -> Array:
            ways = gammaln(n + 1) - gammaln(z + 1) - gammaln(n - z + 1)
            return ways + xlogy(z, p) + xlog1py(n - z, -p)

        return _within(outside, z, of, 0.0)


class betabinom(_Whole):
    """How many of `n` trials succeed whose probability is beta's, of shapes `a` and `b`."""

    @staticmethod
    def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Array:
        k, n, a, b, loc = _arrays(k, n, a, b, loc)
        z = floor(k - loc)
        outside = (z < 0) | (z > n)
        ways = lambda z: -log(n + 1) - betaln(n - z + 1, z + 1)
        return _within(outside, z, lambda z: ways(z) + betaln(z + a, n - z + b) - betaln(a, b), 0.0)


class geom(_Whole):
    """How many trials it takes to succeed once, each with probability `p`."""

    @staticmethod
    def logpmf(k: Any, p: Any, loc: Any = 0) -> Array:
        k, p, loc = _arrays(k, p, loc)
        z = k - loc
        return _within((z < 1) | _not_whole(z), z, lambda z: xlog1py(z - 1, -p) + log(p))


class nbinom(_Whole):
    """How many trials fail before `n` succeed, each with probability `p`."""

    @staticmethod
    def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
        k, n, p, loc = _arrays(k, n, p, loc)
        z = k - loc
        outside = (z < 0) | _not_whole(z)
        return _within(outside, z, lambda z: gammaln(z + n) - gammaln(z + 1) - gammaln(n) + xlogy(n, p) + xlog1py(z, -p), 0.0)


class poisson(_Whole):
    """How often what comes `mu` times on average does."""

    @staticmethod
    def logpmf(k: Any, mu: Any, loc: Any = 0) -> Array:
        k, mu, loc = _arrays(k, mu, loc)
        z = k - loc
        outside = (z < 0) | _not_whole(z)
        return _within(outside, z, lambda z: xlogy(z, mu) - mu - gammaln(z + 1), 0.0)

    @staticmethod
    def cdf(k: Any, mu: Any, loc: Any = 0) -> Array:
        k, mu, loc = _arrays(k, mu, loc)
        z = floor(k - loc)
        return _within(z < 0, z, lambda z: gammaincc(z + 1, mu), 0.0, 0.0)


class multinomial(_Whole):
    """How often each of the outcomes in the last axis comes in `n` trials, of probabilities `p`."""

    @staticmethod
    def logpmf(x: Any, n: Any, p: Any) -> Array:
        counts = [_neap._as_array(v) for v in (x, n)]
        if all(c.dtype.kind in "iub" for c in counts):  # floats hold fewer
            counts = [c.astype("int64") for c in counts]
        x, n, p = _arrays(x, n, p)
        logs = gammaln(n + 1) + _neap.sum(xlogy(x, p) - gammaln(x + 1), -1)
        return where(_neap.sum(counts[0], -1) == counts[1], logs, -_INF)


class dirichlet(_Distribution):
    """Dirichlet's distribution: x [k, ...] adds up to 1 along its first axis, or has k - 1 and lacks the last; alpha [k]."""

    @staticmethod
    def logpdf(x: Any, alpha: Any) -> Array:
        x, alpha = _arrays(x, alpha)
        k = alpha.shape[0] if alpha.ndim == 1 else 0
        if alpha.ndim != 1 or x.ndim == 0 or x.shape[0] not in (k, k - 1):
            got = f"{tuple(x.shape)} and alpha {tuple(alpha.shape)}"
            raise _neap.ShapeError(_neap._message("dirichlet", got, "[k] or [k - 1] first, alpha [k]"))
        if x.shape[0] != k:
            x = _neap.concatenate([x, 1 - _neap.sum(x, 0, keepdims=True)], 0)
        inside = _neap.all(x > 0, 0) & (_neap.abs(_neap.sum(x, 0) - 1) < 1e-4)
        powers = alpha.reshape((k,) + (1,) * (x.ndim - 1)) - 1
        norming = gammaln(_neap.sum(alpha)) - _neap.sum(gammaln(alpha))
        return where(inside, norming + _neap.sum(xlogy(powers, where(x > 0, x, 1.0)), 0), -_INF)


class multivariate_normal(_Distribution):
    """The normal distribution of vectors in the last axis: mean [..., k], cov [..., k, k], or a number: that of each. Where
    mean is a number as well, so is each element of x."""

    @staticmethod
    def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Array:
        if allow_singular is not None:
            raise _neap.OptionError(_neap._message("multivariate_normal", "allow_singular", "None: it is not to be had"))
        x, mean, cov = _arrays(x, mean, cov)
        d = x - mean
        if cov.ndim == 0 and mean.ndim == 0:
            return norm.logpdf(x, mean, _neap.sqrt(cov))
        if cov.ndim == 0:
            return -0.5 * (_neap.sum(d * d / cov, -1) + d.shape[-1] * log(2 * math.pi * cov))
        k = cov.shape[-1]
        if d.ndim == 0 or d.shape[-1] != k or cov.ndim < 2 or cov.shape[-2] != k:
            got = f"x - mean {tuple(d.shape)} and cov {tuple(cov.shape)}"
            raise _neap.ShapeError(_neap._message("multivariate_normal", got, "[..., k] and [..., k, k]"))
        lower = cholesky(cov, lower=True)
        if cov.ndim == 2:  # one factor, of all vectors at once
            flat = d.reshape(math.prod(d.shape[:-1]), k)
            z = solve_triangular(lower, flat.T, lower=True)
            squares = _neap.sum(z * z, 0).reshape(d.shape[:-1])
        else:
            batch = broadcast_shapes(d.shape[:-1], cov.shape[:-2])
            lower_all = _neap.broadcast_to(lower, (*batch, k, k))
            z = solve_triangular(lower_all, _neap.broadcast_to(d, (*batch, k))[..., None], lower=True)
            squares = _neap.sum(z * z, (-2, -1))
        logs = _neap.sum(log(_neap.diagonal(lower, axis1=-2, axis2=-1)), -1)
        return -0.5 * squares - logs - 0.5 * k * math.log(2 * math.pi)


def sem(a: Any, axis: int | None = 0, ddof: int = 1, *, keepdims: bool = False) -> Array:
    """The standard error of the mean along an axis, with so many degrees of freedom lost; None: of all elements."""
    (x,) = _arrays(a)
    if axis is not None and not (isinstance(axis, int) and -x.ndim <= axis < x.ndim):
        raise _neap.ShapeError(_neap._message("sem", f"axis {axis} of {x.ndim} axes", f"{-x.ndim} to {x.ndim - 1}"))
    n = math.prod(x.shape) if axis is None else x.shape[axis]
    return _neap.std(x, axis, ddof=ddof, keepdims=keepdims) / math.sqrt(n)


__all__ = [
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "gennorm", "geom", "gumbel_l",
    "gumbel_r", "laplace", "logistic", "multinomial", "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "sem", "t",
    "truncnorm", "uniform", "vonmises", "wrapcauchy",
]  # fmt: skip
