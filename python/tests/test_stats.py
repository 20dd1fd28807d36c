"""neap.scipy.stats beside SciPy in f64, its gradients, and what it refuses."""

import json
from pathlib import Path

import neap as np
import numpy
import pytest
from neap.scipy import stats

GOLDEN = Path(__file__).resolve().parents[2] / "tests/golden/stats.json"


def loaded(entry):
    values = [float(v) if isinstance(v, str) else v for v in entry["values"]]
    return numpy.array(values, "float64").reshape(entry["shape"])


@pytest.mark.skipif(not GOLDEN.is_file(), reason="tests without a checkout")
def test_agrees_with_scipy():
    golden = json.loads(GOLDEN.read_text())
    inputs = {k: np.asarray(loaded(v)) for k, v in golden["inputs"].items()}
    for call, expected in golden["calls"].items():
        name, *arguments = call.split()
        where = getattr(stats, name)
        f, names = (where, arguments) if name == "sem" else (getattr(where, arguments[0]), arguments[1:])
        answer, wanted = numpy.asarray(f(*(inputs[a] for a in names))), loaded(expected[0])
        assert answer.shape == wanted.shape and answer.dtype == numpy.float64, call
        tiny = 1e-15 if "log" in arguments[0] else 1e-300  # SciPy takes log(1 - cdf), too
        numpy.testing.assert_allclose(answer, wanted, 1e-8, tiny, err_msg=call)
    assert len(golden["calls"]) > 100


@pytest.mark.parametrize(
    ("f", "arguments"),
    [(stats.gamma.logpdf, (2.5,)), (stats.beta.logpdf, (2.5, 0.75)), (stats.pareto.logpdf, (0.75,)), (stats.expon.logpdf, ()),
     (stats.truncnorm.logpdf, (-1.5, 2.0)), (stats.wrapcauchy.logpdf, (0.4,)), (stats.poisson.logpmf, (3.5,)),
     (stats.binom.logpmf, (10.0, 0.3)), (stats.uniform.logpdf, (0.0, 2.0)), (stats.gamma.logcdf, (2.5,)),
     (stats.beta.logsf, (2.5, 0.75)), (stats.beta.cdf, (2.5, 0.75)), (stats.chi2.cdf, (4.0,)), (stats.pareto.logcdf, (0.75,)),
     (stats.gamma.logsf, (2.5,))],
)  # fmt: skip
def test_gradients_are_0_and_not_nan_where_nothing_lives(f, arguments):
    for x in (-3.0, 100.0):
        if not np.isfinite(f(x, *arguments)) or x < 0:
            grads = np.grad(f, tuple(range(len(arguments) + 1)))(x, *arguments)
            assert all(float(g) == 0 for g in grads), (x, grads)


def test_what_is_not_a_number_stays_so():
    for name in stats.__all__:
        where = getattr(stats, name)
        for function in ("logpdf", "pdf", "logpmf", "pmf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf"):
            f = getattr(where, function, None)
            if f is None or name in ("sem", "dirichlet", "multivariate_normal", "multinomial"):
                continue
            parameters = {"gamma": (2.5,), "chi2": (4.0,), "beta": (2.5, 0.75), "t": (4.0,), "pareto": (0.75,), "gennorm": (2.5,),
                          "vonmises": (2.5,), "wrapcauchy": (0.4,), "truncnorm": (-1.5, 2.0), "bernoulli": (0.3,),
                          "binom": (10.0, 0.3), "betabinom": (10.0, 2.5, 0.75), "geom": (0.3,), "nbinom": (10.0, 0.3),
                          "poisson": (3.5,)}.get(name, ())  # fmt: skip
            assert bool(np.isnan(f(np.nan, *parameters))), (name, function)


def test_quantiles_of_no_probability_are_none():
    for f in (stats.norm.ppf, stats.expon.ppf, stats.uniform.ppf, stats.logistic.isf, stats.cauchy.ppf, stats.gumbel_l.ppf,
              stats.gumbel_r.ppf, lambda q: stats.pareto.ppf(q, 0.75)):  # fmt: skip
        assert all(bool(np.isnan(f(q))) for q in (-0.5, 1.5))
    assert bool(np.isnan(stats.truncnorm.logpdf(1.0, 2.0, -1.0))) and bool(np.isnan(stats.truncnorm.cdf(1.0, 1.0, 1.0)))
    assert float(stats.gamma.logpdf(np.inf, 2.0)) == -np.inf
    assert float(stats.gumbel_r.logsf(np.array(110.0))) == -110


def test_gradients_agree_with_differences():
    for f, x, *arguments in ((stats.norm.logcdf, -1.3, 0.2, 1.5), (stats.t.logpdf, 0.7, 4.0), (stats.gumbel_l.logsf, 0.4),
                             (stats.cauchy.logsf, 1.4, 0.1, 2.0), (stats.vonmises.logpdf, 0.3, 2.5), (stats.logistic.logcdf, -0.4)):  # fmt: skip
        x, *arguments = (np.array(v, "float64") for v in (x, *arguments))
        step = 1e-6
        difference = (f(x + step, *arguments) - f(x - step, *arguments)) / (2 * step)
        numpy.testing.assert_allclose(float(np.grad(f)(x, *arguments)), float(difference), 1e-6)


def test_normal_vectors_in_batches():
    r = numpy.random.default_rng(0)
    a = r.standard_normal((5, 3, 3))
    cov, x = a @ a.transpose(0, 2, 1) + numpy.eye(3), r.standard_normal((5, 3))
    one_by_one = [float(stats.multivariate_normal.logpdf(x[i], 0.0, cov[i])) for i in range(5)]
    numpy.testing.assert_allclose(numpy.asarray(stats.multivariate_normal.logpdf(x, 0.0, cov)), one_by_one, 1e-9)
    numpy.testing.assert_allclose(
        float(stats.multivariate_normal.logpdf(x[0], numpy.zeros(3), 2.0)),
        float(stats.multivariate_normal.logpdf(x[0], 0.0, 2 * numpy.eye(3))), 1e-9,
    )  # fmt: skip
    numpy.testing.assert_allclose(float(stats.multivariate_normal.logpdf(0.3, 0.1, 2.0)), float(stats.norm.logpdf(0.3, 0.1, 2**0.5)), 1e-6)


def test_numbers_and_integers_are_taken():
    assert str(stats.norm.logpdf(0).dtype) == "float32"
    assert str(stats.poisson.pmf(np.arange(3), 2).dtype) == "float32"
    assert str(stats.norm.pdf(np.array(0.0, "bfloat16"), 0.0, 0.5).dtype) == "bfloat16"
    assert float(stats.multinomial.pmf(np.array([2**24, 1]), 2**24 + 1, np.array([0.9, 0.1], "float64"))) >= 0
    assert stats.multivariate_normal.logpdf(np.ones((2, 3)), 0.0, 2.0).shape == (2, 3)


def test_bad_input_is_told():
    for call in (lambda: stats.dirichlet.logpdf(np.ones(3), np.ones(5)), lambda: stats.sem(np.ones((2, 3)), 2),
                 lambda: stats.dirichlet.logpdf(np.ones(3), 1.0), lambda: stats.norm.logpdf(1j),
                 lambda: stats.multivariate_normal.logpdf(np.ones(3), 0.0, np.ones(3)),
                 lambda: stats.multivariate_normal.logpdf(np.ones(3), 0.0, np.eye(2)),
                 lambda: stats.multivariate_normal.logpdf(np.ones(3), 0.0, np.eye(3), allow_singular=True)):  # fmt: skip
        with pytest.raises(np.UserError, match="expected"):
            call()


def test_one_or_nothing():
    numpy.testing.assert_array_equal(numpy.asarray(stats.bernoulli.ppf(np.array([0.1, 0.7, 0.71, 1.0]), 0.3)), [0, 0, 1, 1])
    assert bool(np.isnan(stats.bernoulli.ppf(1.5, 0.3)))
