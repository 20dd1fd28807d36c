"""Distributions of vectors."""

from __future__ import annotations

import math
from typing import Any

from ... import _neap
from ..._array_api import broadcast_shapes
from ..._neap import Array, log, where
from ..linalg import cholesky, solve_triangular
from ..special import gammaln, xlogy
from ._common import INF, Distribution, Whole, arrays
from ._continuous import norm


class multinomial(Whole):
    """How often each of the outcomes in the last axis comes in `n` trials, of probabilities `p`."""

    @staticmethod
    def logpmf(x: Any, n: Any, p: Any) -> Array:
        counts = [_neap._as_array(v) for v in (x, n)]
        if all(c.dtype.kind in "iub" for c in counts):  # floats hold fewer
            counts = [c.astype("int64") for c in counts]
        x, n, p = arrays(x, n, p)
        logs = gammaln(n + 1) + _neap.sum(xlogy(x, p) - gammaln(x + 1), -1)
        return where(_neap.sum(counts[0], -1) == counts[1], logs, -INF)


class dirichlet(Distribution):
    """Dirichlet's distribution: x [k, ...] adds up to 1 along its first axis, or has k - 1 and lacks the last; alpha [k]."""

    @staticmethod
    def logpdf(x: Any, alpha: Any) -> Array:
        x, alpha = arrays(x, alpha)
        k = alpha.shape[0] if alpha.ndim == 1 else 0
        if alpha.ndim != 1 or x.ndim == 0 or x.shape[0] not in (k, k - 1):
            got = f"{tuple(x.shape)} and alpha {tuple(alpha.shape)}"
            raise _neap.ShapeError(_neap._message("dirichlet", got, "[k] or [k - 1] first, alpha [k]"))
        if x.shape[0] != k:
            x = _neap.concatenate([x, 1 - _neap.sum(x, 0, keepdims=True)], 0)
        inside = _neap.all(x > 0, 0) & (_neap.abs(_neap.sum(x, 0) - 1) < 1e-4)
        powers = alpha.reshape((k,) + (1,) * (x.ndim - 1)) - 1
        norming = gammaln(_neap.sum(alpha)) - _neap.sum(gammaln(alpha))
        return where(inside, norming + _neap.sum(xlogy(powers, where(x > 0, x, 1.0)), 0), -INF)


class multivariate_normal(Distribution):
    """The normal distribution of vectors in the last axis: mean [..., k], cov [..., k, k], or a number: that of each. Where
    mean is a number as well, so is each element of x."""

    @staticmethod
    def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Array:
        if allow_singular is not None:
            raise _neap.OptionError(_neap._message("multivariate_normal", "allow_singular", "None: it is not to be had"))
        x, mean, cov = arrays(x, mean, cov)
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
