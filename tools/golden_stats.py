"""Golden values for neap.scipy.stats, SciPy's in f64: tests/golden/stats.json, in the form of golden_numpy.py.
python/tests/test_stats.py makes the same calls, under the same names: the distribution, the function, then its arguments."""

import numpy as np
import scipy.stats
from golden_numpy import write_json

INPUTS = {
    "x": np.array([-30.0, -3.0, -1.0, -0.3, 0.0, 0.1, 0.5, 0.9, 1.0, 1.7, 2.0, 4.0, 6.0, 25.0]),
    "u": np.array([0.0, 1e-12, 1e-3, 0.2, 0.5, 0.7, 0.999, 1.0]),
    "k": np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 11.0]),
    "loc": np.array(0.25), "scale": np.array(1.5), "a": np.array(2.5), "b": np.array(0.75), "df": np.array(4.0), "n": np.array(10.0),
    "p": np.array(0.3), "mu": np.array(3.5), "c": np.array(0.4), "low": np.array(-1.5), "high": np.array(2.0), "inf": np.array(np.inf),
    "far": np.array(9.0), "counts": np.array([[2.0, 3.0, 5.0], [0.0, 10.0, 0.0], [1.0, 1.0, 1.0]]), "ps": np.array([0.2, 0.3, 0.5]),
    "simplex": np.array([[0.2, 0.1], [0.3, 0.6], [0.5, 0.3]]), "alpha": np.array([0.5, 2.0, 3.0]),
    "v": np.array([[0.1, -0.4, 2.0], [1.0, 0.3, -0.7]]), "mean": np.array([0.5, 0.0, -0.25]),
    "cov": np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]]), "table": np.arange(12.0).reshape(3, 4) ** 1.5,
}  # fmt: skip

ALL = "cdf logcdf sf logsf"
CALLS = {
    "norm": ("x", "loc scale", f"logpdf pdf {ALL}"), "expon": ("x", "loc scale", f"logpdf pdf {ALL}"),
    "uniform": ("x", "loc scale", "logpdf pdf cdf"), "laplace": ("x", "loc scale", "logpdf pdf cdf"),
    "logistic": ("x", "loc scale", f"logpdf pdf {ALL}"), "cauchy": ("x", "loc scale", f"logpdf pdf {ALL}"),
    "gumbel_r": ("x", "loc scale", f"logpdf pdf {ALL}"), "gumbel_l": ("x", "loc scale", f"logpdf pdf {ALL}"),
    "gamma": ("x", "a loc scale", f"logpdf pdf {ALL}"), "chi2": ("x", "df loc scale", f"logpdf pdf {ALL}"),
    "beta": ("x", "a b loc scale", f"logpdf pdf {ALL}"), "t": ("x", "df loc scale", "logpdf pdf"),
    "pareto": ("x", "b loc scale", f"logpdf pdf {ALL}"), "gennorm": ("x", "a", "logpdf pdf cdf"),
    "vonmises": ("x", "a", "logpdf pdf"), "wrapcauchy": ("x", "c", "logpdf pdf"),
    "truncnorm": ("x", "low high loc scale", f"logpdf pdf {ALL}"), "bernoulli": ("k", "p", "logpmf pmf cdf"),
    "binom": ("k", "n p", "logpmf pmf"), "betabinom": ("k", "n a b", "logpmf pmf"), "geom": ("k", "p", "logpmf pmf"),
    "nbinom": ("k", "n p", "logpmf pmf"), "poisson": ("k", "mu", "logpmf pmf cdf"), "multinomial": ("counts", "n ps", "logpmf pmf"),
    "dirichlet": ("simplex", "alpha", "logpdf pdf"), "multivariate_normal": ("v", "mean cov", "logpdf pdf"),
}  # fmt: skip
MORE = ["truncnorm logpdf x far inf", "truncnorm logcdf x low inf", "norm ppf u loc scale", "norm isf u loc scale", "expon ppf u loc scale",
        "uniform ppf u loc scale", "logistic ppf u loc scale", "logistic isf u loc scale", "cauchy ppf u loc scale",
        "cauchy isf u loc scale", "gumbel_r ppf u loc scale", "gumbel_l ppf u loc scale", "pareto ppf u b loc scale"]  # fmt: skip


def calls(_):
    names = [f"{name} {f} {x} {rest}" for name, (x, rest, functions) in CALLS.items() for f in functions.split()] + MORE
    for call in names:
        name, function, *arguments = call.split()
        with np.errstate(all="ignore"):
            yield call, np.asarray(getattr(getattr(scipy.stats, name), function)(*(INPUTS[a] for a in arguments)), np.float64)
    yield "sem table", np.asarray(scipy.stats.sem(INPUTS["table"]), np.float64)


def write():
    write_json("stats.json", INPUTS, calls)
