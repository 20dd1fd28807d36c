"""Distributions: jax.scipy.stats. Each has the density (`pdf`, of whole numbers `pmf`), its logarithm, and where there is a
good formula the distribution function (`cdf`), one minus it (`sf`), their logarithms and inverses (`ppf`, `isf`). Arguments
are arrays or numbers that broadcast; `loc` is taken away first, then what is left is divided by `scale`. Outside of where a
distribution lives its density is 0, as that of numbers between whole ones is, and so are the gradients; what is NaN stays so.
Results have the dtype of the arrays (of integers: float32, of 64 bits float64). Formulas: SciPy's documentation."""

from __future__ import annotations

import math
from typing import Any

from ... import _neap
from ..._neap import Array
from ._common import arrays as _arrays
from ._continuous import (
    beta, cauchy, chi2, expon, gamma, gennorm, gumbel_l, gumbel_r, laplace, logistic, norm,
    pareto, t, truncnorm, uniform, vonmises, wrapcauchy,
)  # fmt: skip
from ._vectors import dirichlet, multinomial, multivariate_normal
from ._whole import bernoulli, betabinom, binom, geom, nbinom, poisson


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
