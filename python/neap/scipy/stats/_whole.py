"""Distributions of whole numbers."""

from __future__ import annotations

import math
from typing import Any

from ..._neap import Array, floor, log, where
from ..special import betaln, gammaincc, gammaln, xlog1py, xlogy
from ._common import Whole, arrays, not_whole, quantile, within


class bernoulli(Whole):
    """1 with probability `p`, else 0."""

    @staticmethod
    def logpmf(k: Any, p: Any, loc: Any = 0) -> Array:
        k, p, loc = arrays(k, p, loc)
        z = k - loc
        outside = (z < 0) | (z > 1) | not_whole(z)
        return within(outside, z, lambda z: xlogy(z, p) + xlog1py(1 - z, -p))

    @staticmethod
    def cdf(k: Any, p: Any) -> Array:
        k, p = arrays(k, p)
        return where(k < 0, 0.0, where(k >= 1, 1.0, 1 - p + 0 * k))

    @staticmethod
    def ppf(q: Any, p: Any) -> Array:
        q, p = arrays(q, p)
        known = (p >= 0) & (p <= 1) & (q == q)
        return where(known, quantile(q, (q > 1 - p).astype(q.dtype)), math.nan)


class binom(Whole):
    """How many of `n` trials succeed, each with probability `p`."""

    @staticmethod
    def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
        k, n, p, loc = arrays(k, n, p, loc)
        z = k - loc
        outside = (z < 0) | (z > n) | not_whole(z)

        def of(z: Array) -> Array:
            ways = gammaln(n + 1) - gammaln(z + 1) - gammaln(n - z + 1)
            return ways + xlogy(z, p) + xlog1py(n - z, -p)

        return within(outside, z, of, 0.0)


class betabinom(Whole):
    """How many of `n` trials succeed whose probability is beta's, of shapes `a` and `b`."""

    @staticmethod
    def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Array:
        k, n, a, b, loc = arrays(k, n, a, b, loc)
        z = floor(k - loc)
        outside = (z < 0) | (z > n)
        ways = lambda z: -log(n + 1) - betaln(n - z + 1, z + 1)
        return within(outside, z, lambda z: ways(z) + betaln(z + a, n - z + b) - betaln(a, b), 0.0)


class geom(Whole):
    """How many trials it takes to succeed once, each with probability `p`."""

    @staticmethod
    def logpmf(k: Any, p: Any, loc: Any = 0) -> Array:
        k, p, loc = arrays(k, p, loc)
        z = k - loc
        return within((z < 1) | not_whole(z), z, lambda z: xlog1py(z - 1, -p) + log(p))


class nbinom(Whole):
    """How many trials fail before `n` succeed, each with probability `p`."""

    @staticmethod
    def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
        k, n, p, loc = arrays(k, n, p, loc)
        z = k - loc
        outside = (z < 0) | not_whole(z)
        return within(outside, z, lambda z: gammaln(z + n) - gammaln(z + 1) - gammaln(n) + xlogy(n, p) + xlog1py(z, -p), 0.0)


class poisson(Whole):
    """How often what comes `mu` times on average does."""

    @staticmethod
    def logpmf(k: Any, mu: Any, loc: Any = 0) -> Array:
        k, mu, loc = arrays(k, mu, loc)
        z = k - loc
        outside = (z < 0) | not_whole(z)
        return within(outside, z, lambda z: xlogy(z, mu) - mu - gammaln(z + 1), 0.0)

    @staticmethod
    def cdf(k: Any, mu: Any, loc: Any = 0) -> Array:
        k, mu, loc = arrays(k, mu, loc)
        z = floor(k - loc)
        return within(z < 0, z, lambda z: gammaincc(z + 1, mu), 0.0, 0.0)
