"""Distributions of real numbers."""

from __future__ import annotations

import math
from typing import Any

from ... import _neap
from ..._neap import Array, exp, expm1, log, log1p, where
from ..._neap.nn import log_sigmoid
from ..special import betainc, betaln, gammainc, gammaincc, gammaln, i0e, log_ndtr, ndtr, ndtri, xlog1py, xlogy
from ._common import INF, Distribution, WithTails, arrays, quantile, within


class norm(Distribution):
    """The normal distribution."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        z = (x - loc) / scale
        return -0.5 * z * z - log(scale) - 0.5 * math.log(2 * math.pi)

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return ndtr((x - loc) / scale)

    @staticmethod
    def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return log_ndtr((x - loc) / scale)

    @staticmethod
    def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return ndtr((loc - x) / scale)

    @staticmethod
    def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return log_ndtr((loc - x) / scale)

    @staticmethod
    def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, loc, scale = arrays(q, loc, scale)
        return ndtri(q) * scale + loc

    @staticmethod
    def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, loc, scale = arrays(q, loc, scale)
        return loc - ndtri(q) * scale


class expon(Distribution):
    """The exponential distribution of mean `scale`."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        z = (x - loc) / scale
        return within(z < 0, z, lambda z: -z - log(scale))

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return -expm1(expon.logsf(x, loc, scale))

    @staticmethod
    def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        z = (x - loc) / scale
        return within(z <= 0, z, lambda z: log(-expm1(-z)))

    @staticmethod
    def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return exp(expon.logsf(x, loc, scale))

    @staticmethod
    def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        z = (x - loc) / scale
        return where(z < 0, 0.0, -z)

    @staticmethod
    def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, loc, scale = arrays(q, loc, scale)
        return quantile(q, loc - log1p(-q) * scale)


class uniform(Distribution):
    """The uniform distribution from loc to loc + scale."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        z = (x - loc) / scale
        outside = (z < 0) | (z > 1)
        return where(outside, -INF, 0 * where(outside, 0.0, z) - log(scale))

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return _neap.clip((x - loc) / scale, 0, 1)

    @staticmethod
    def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, loc, scale = arrays(q, loc, scale)
        return quantile(q, q * scale + loc)


class laplace(Distribution):
    """The Laplace distribution."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return -_neap.abs((x - loc) / scale) - log(2 * scale)

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        z = (x - loc) / scale
        tail = 0.5 * exp(-_neap.abs(z))
        return where(z <= 0, tail, 1 - tail)


class logistic(Distribution):
    """The logistic distribution."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        z = _neap.abs((x - loc) / scale)
        return -z - 2 * log1p(exp(-z)) - log(scale)

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return _neap.sigmoid((x - loc) / scale)

    @staticmethod
    def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return log_sigmoid((x - loc) / scale)

    @staticmethod
    def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return log_sigmoid((loc - x) / scale)

    @staticmethod
    def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return _neap.sigmoid((loc - x) / scale)

    @staticmethod
    def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return _neap.logit(x) * scale + loc

    @staticmethod
    def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return loc - _neap.logit(x) * scale


class cauchy(WithTails):
    """The Cauchy distribution."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        z = (x - loc) / scale
        return -log1p(z * z) - log(math.pi * scale)

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return _neap.arctan2(scale, loc - x) / math.pi  # 1/2 + atan((x - loc) / scale) / pi, without losing what is small

    @staticmethod
    def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return _neap.arctan2(scale, x - loc) / math.pi

    @staticmethod
    def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, loc, scale = arrays(q, loc, scale)
        return quantile(q, _cauchy_quantile(q) * scale + loc)

    @staticmethod
    def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, loc, scale = arrays(q, loc, scale)
        return quantile(q, loc - _cauchy_quantile(q) * scale)


def _cauchy_quantile(q: Array) -> Array:
    """tan(pi (q - 1/2)), with all digits at both ends."""
    low = q < 0.5
    half = 1 / _neap.tan(math.pi * where(low, q, 1 - q))
    return where(low, -half, half)


class gumbel_r(Distribution):
    """The distribution of the largest of many numbers."""

    @staticmethod
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        z = (x - loc) / scale
        return -z - exp(-z) - log(scale)

    @staticmethod
    def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        return -exp((loc - x) / scale)

    @staticmethod
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return exp(gumbel_r.logcdf(x, loc, scale))

    @staticmethod
    def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return -expm1(gumbel_r.logcdf(x, loc, scale))

    @staticmethod
    def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, loc, scale = arrays(x, loc, scale)
        z = (x - loc) / scale
        far = z > 20  # where 1 - exp(-exp(-z)) is exp(-z), to all digits but of f64 half of one
        return where(far, -z - 0.5 * exp(-where(far, z, 20.0)), log(-expm1(-exp(-where(far, 20.0, z)))))

    @staticmethod
    def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Array:
        p, loc, scale = arrays(p, loc, scale)
        return loc - log(-log(p)) * scale


class gumbel_l(Distribution):
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
        p, loc, scale = arrays(p, loc, scale)
        return log(-log1p(-p)) * scale + loc


def _mirrored(x: Any, loc: Any, scale: Any) -> tuple[Array, Array, Array]:
    x, loc, scale = arrays(x, loc, scale)
    return -x, -loc, scale


class gamma(WithTails):
    """The gamma distribution of shape `a`."""

    @staticmethod
    def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, loc, scale = arrays(x, a, loc, scale)
        z = (x - loc) / scale
        return within((z < 0) | (z == INF), z, lambda z: xlogy(a - 1, z) - z - gammaln(a) - log(scale))

    @staticmethod
    def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, loc, scale = arrays(x, a, loc, scale)
        z = (x - loc) / scale
        return within(z < 0, z, lambda z: gammainc(a, z), value=0.0)

    @staticmethod
    def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, loc, scale = arrays(x, a, loc, scale)
        z = (x - loc) / scale
        return within(z < 0, z, lambda z: gammaincc(a, z), value=1.0)


class chi2(WithTails):
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
    x, df, loc, scale = arrays(x, df, loc, scale)
    return x, df / 2, loc, 2 * scale


class beta(WithTails):
    """The beta distribution of shapes `a` and `b`."""

    @staticmethod
    def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, b, loc, scale = arrays(x, a, b, loc, scale)
        z = (x - loc) / scale
        outside = (z < 0) | (z > 1)
        return within(outside, z, lambda z: xlogy(a - 1, z) + xlog1py(b - 1, -z) - betaln(a, b) - log(scale), 0.5)

    @staticmethod
    def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, b, loc, scale = arrays(x, a, b, loc, scale)
        z = (x - loc) / scale
        return where(z >= 1, 1.0, within((z < 0) | (z >= 1), z, lambda z: betainc(a, b, z), 0.5, 0.0))

    @staticmethod
    def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, b, loc, scale = arrays(x, a, b, loc, scale)
        z = (loc + scale - x) / scale
        return where(z >= 1, 1.0, within((z < 0) | (z >= 1), z, lambda z: betainc(b, a, z), 0.5, 0.0))


class t(Distribution):
    """Student's distribution of `df` degrees of freedom."""

    @staticmethod
    def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, df, loc, scale = arrays(x, df, loc, scale)
        z = (x - loc) / scale
        norming = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * log(df * math.pi) - log(scale)
        return norming - (df + 1) / 2 * log1p(z * z / df)


class pareto(WithTails):
    """The Pareto distribution of shape `b`, from 1 on."""

    @staticmethod
    def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, b, loc, scale = arrays(x, b, loc, scale)
        z = (x - loc) / scale
        return within(z < 1, z, lambda z: log(b / scale) - (b + 1) * log(z))

    @staticmethod
    def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return -expm1(pareto.logsf(x, b, loc, scale))

    @staticmethod
    def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return exp(pareto.logsf(x, b, loc, scale))

    @staticmethod
    def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, b, loc, scale = arrays(x, b, loc, scale)
        z = (x - loc) / scale
        return within(z < 1, z, lambda z: -b * log(z), value=0.0)

    @staticmethod
    def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        q, b, loc, scale = arrays(q, b, loc, scale)
        return quantile(q, exp(-log1p(-q) / b) * scale + loc)


class gennorm(Distribution):
    """The generalized normal distribution of shape `beta`: 2 is normal, 1 Laplace's."""

    @staticmethod
    def logpdf(x: Any, beta: Any) -> Array:
        x, beta = arrays(x, beta)
        return log(beta) - math.log(2) - gammaln(1 / beta) - _neap.abs(x) ** beta

    @staticmethod
    def cdf(x: Any, beta: Any) -> Array:
        x, beta = arrays(x, beta)
        return 0.5 * (1 + _neap.sign(x) * gammainc(1 / beta, _neap.abs(x) ** beta))


class vonmises(Distribution):
    """Von Mises' distribution of angles, of concentration `kappa`."""

    @staticmethod
    def logpdf(x: Any, kappa: Any) -> Array:
        x, kappa = arrays(x, kappa)
        return kappa * (_neap.cos(x) - 1) - math.log(2 * math.pi) - log(i0e(kappa))


class wrapcauchy(Distribution):
    """Cauchy's distribution round the circle, of concentration `c`, from 0 to 2 pi."""

    @staticmethod
    def logpdf(x: Any, c: Any) -> Array:
        x, c = arrays(x, c)
        outside = (x < 0) | (x >= 2 * math.pi)
        return within(outside, x, lambda x: log(1 - c * c) - math.log(2 * math.pi) - log(1 + c * c - 2 * c * _neap.cos(x)))


class truncnorm(Distribution):
    """The normal distribution between `a` and `b`, in units of scale from loc."""

    @staticmethod
    def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, b, loc, scale = arrays(x, a, b, loc, scale)
        z = (x - loc) / scale
        logs = where((z < a) | (z > b), -INF, norm.logpdf(x, loc, scale) - _log_mass(a, b))
        return where(a < b, logs, math.nan)

    @staticmethod
    def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, b, loc, scale = arrays(x, a, b, loc, scale)
        z = (x - loc) / scale
        below, above = z <= a, z >= b
        known = below | above
        middle = where(known, (a + _neap.where(_neap.isfinite(b), b, a + 1)) / 2, z)
        middle = where(known & ~_neap.isfinite(middle), 0.0, middle)
        logs = where(below, -INF, where(above, 0.0, _log_mass(a, middle) - _log_mass(a, b)))
        return where(a < b, logs, math.nan)

    @staticmethod
    def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        return exp(truncnorm.logcdf(x, a, b, loc, scale))

    @staticmethod
    def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        x, a, b, loc, scale = arrays(x, a, b, loc, scale)
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
