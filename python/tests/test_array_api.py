"""The array API standard (its own suite: array_api/README.md), and the functions of jax.numpy that are written in Python."""

import pathlib
import warnings

import neap as np
import neap.numpy as jnp
import numpy
import pytest

A = numpy.random.default_rng(0).normal(size=(4, 6)).astype("float32")
X = np.array(A)
HOLES = A.copy()
HOLES[1, 2] = HOLES[2] = numpy.nan


def same(got, expected, tolerance=1e-5):
    got, expected = numpy.asarray(got), numpy.asarray(expected)
    assert got.shape == expected.shape
    assert numpy.allclose(got, expected, tolerance, tolerance, equal_nan=True), (got, expected)


def test_namespace():
    assert X.__array_namespace__() is np and X.__array_namespace__(api_version="2023.12") is np
    with pytest.raises(ValueError, match="2030.12"):
        X.__array_namespace__(api_version="2030.12")
    assert np.__array_api_version__ == "2025.12"
    info = np.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] and info.default_dtypes()["real floating"] == np.float32
    assert list(info.dtypes(kind="complex floating")) == ["complex64", "complex128"] and "bfloat16" not in info.dtypes()
    with pytest.raises(ValueError, match='kind "string"'):
        info.dtypes(kind="string")
    assert info.default_device() in info.devices()


def test_exceptions_are_few():
    file = pathlib.Path(__file__).parent / "array_api" / "exceptions.txt"
    names = [line for line in file.read_text().splitlines() if line and line[0] != "#"]
    assert len(set(names)) == len(names) < 20 and all(n.startswith("array_api_tests/test_") for n in names)


def test_devices_of_arrays():
    assert str(X.device) == "cpu" and X.to_device(X.device).tolist() == X.tolist()
    assert np.zeros(3, device="cpu").device == np.device("cpu") == np.full_like(X, 1, device="cpu").device
    with pytest.raises(ValueError, match="streams"):
        X.to_device("cpu", stream=1)
    with pytest.raises(np.TracerError, match="device_of"):
        np.jit(lambda v: v.device)(X)


def test_copies_and_bools_and_places():
    assert np.asarray(X, copy=False).tolist() == np.asarray(X, copy=True).tolist() == X.tolist()
    for other in (lambda: np.asarray(A, copy=False), lambda: np.asarray(X, dtype="float64", copy=False)):
        with pytest.raises(ValueError, match="copy=False"):
            other()
    assert X[np.zeros((4, 0), bool)].shape == (0,)
    assert X[True].shape == (1, 4, 6) and X[np.array(False)].shape == (0, 4, 6)
    with pytest.raises(np.TracerError, match="bool"):
        np.jit(lambda v: v[v[0, 0] > 0])(X)
    order = numpy.argsort(A[0])
    same(np.searchsorted(X[0], X[1], sorter=order), numpy.searchsorted(A[0], A[1], sorter=order))
    assert isinstance(np.meshgrid(X[0], X[1]), tuple) and np.eye(2, k=10**30).tolist() == [[0, 0], [0, 0]]
    assert np.repeat(X[0], np.array([2])).shape == (12,)


def test_unique():
    x = np.array([[3.0, 1.0], [np.nan, 3.0], [np.nan, 1.0]])
    values, indices, inverse, counts = np.unique_all(x)
    assert values.shape == (4,) and indices[:2].tolist() == [1, 0] and counts.tolist() == [2, 2, 1, 1]
    assert inverse.tolist() == [[1, 0], [2, 1], [3, 0]]
    assert np.unique_counts(np.array([1, 0, 1])).counts.tolist() == [1, 2]
    assert np.unique_values(np.array([2 + 1j, 2 - 1j, 2 + 1j])).tolist() == [2 - 1j, 2 + 1j]
    assert np.unique_inverse(np.zeros((0, 2))).inverse_indices.shape == (0, 2)
    with pytest.raises(np.TracerError, match="unique_all: a traced array"):
        np.jit(np.unique_all)(x)


def test_cumulative_and_products():
    assert np.cumulative_sum(np.array([1, 2, 3]), include_initial=True).tolist() == [0, 1, 3, 6]
    same(np.cumulative_prod(X, axis=1, include_initial=True)[:, 1:], numpy.cumprod(A, 1))
    with pytest.raises(ValueError, match="axis"):
        np.cumulative_sum(X)
    assert np.vecdot(np.array([1j, 2.0]), np.array([1j, 1.0])).item() == 3
    with pytest.raises(np.ShapeError, match="vecdot: 6 and 4 elements along axis -1"):
        np.vecdot(X, X.T)
    assert np.broadcast_shapes((3, 1), (2,), 1) == (3, 2)
    with pytest.raises(np.ShapeError, match="broadcast_shapes"):
        np.broadcast_shapes((3,), (2,))
    same(np.linalg.trace(np.ones((2, 3, 3))), [3, 3])
    rank = np.linalg.matrix_rank(np.stack((np.eye(2), np.array([[1.0, 0.0], [0.0, 0.1]]))), rtol=np.array([0.5, 0.5]))
    assert rank.tolist() == [2, 1]
    same(np.linalg.pinv(X, rtol=np.array(1e-4)), numpy.linalg.pinv(A), 1e-4)
    same(np.diff(X, prepend=0, append=X), numpy.diff(A, prepend=0, append=A))


def test_powers_quotients_complex():
    assert np.power(np.array([2, -3, 5]), np.array([10, 3, -1])).tolist() == [1024, -27, 0]
    assert (2 ** np.array([3, 8], dtype="uint8")).tolist() == [8, 0] and np.bitwise_count(np.array([7])).dtype == np.uint8
    assert (np.array([np.inf]) // 2).tolist() == [np.inf] and numpy.signbit(numpy.asarray(np.array([-0.0]) // 2))[0]
    z = numpy.array([complex(a, b) for a in (-1e9, -3, -0.5, -0.0, 0.0, 0.7, 2) for b in (-1e5, -2, -0.3, -0.0, 0.0, 3)])
    for name in ("arcsin", "arccos", "arcsinh", "arccosh", "arctanh"):
        same(getattr(np, name)(np.array(z)), getattr(numpy, name)(z), 1e-12)
    assert str(np.exp(np.array(complex(-np.inf, np.nan))).item()) == "0j"


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_quantiles_without_nan(axis):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        same(np.nanmedian(np.array(HOLES), axis, keepdims=True), numpy.nanmedian(HOLES, axis, keepdims=True))
        same(np.nanquantile(np.array(HOLES), np.array([0.2, 0.7]), axis), numpy.nanquantile(HOLES, [0.2, 0.7], axis))


# (function, arguments): NumPy is asked the same.
AS_NUMPY = {
    "kaiser": (7, 5.0),
    "poly": ([[1.0, 2.0], [3.0, 4.0]],),
    "trapezoid": (A, numpy.array([0.0, 1, 3, 4, 7, 8])),
    "cov": (A[0], A[1]),
    "corrcoef": (A,),
    "linspace": (numpy.array([0.0, 1]), numpy.array([5.0, 8]), 4),
    "logspace": (numpy.array([0.0, 1]), 2.0, 4),
    "geomspace": (numpy.array([1.0, -2]), numpy.array([8.0, -9]), 4),
    "polyval": (numpy.array([[1.0, 2], [3, 4], [5, 6]]), 2.0),
    "rollaxis": (A, 1),
    "resize": (A, (2, 5)),
    "extract": (A > 0, A),
    "compress": ([1, 0, 1, 0], A, 0),
    "setxor1d": ([1, 2, 3], [2, 5]),
    "trim_zeros": (numpy.array([0, 1, 0, 2, 0]),),
    "sort_complex": (numpy.array([2 + 1j, 1 - 1j, 1 - 2j]),),
    "diagflat": (A[:2, :2], 1),
    "fabs": (A,),
    "flatnonzero": (A > 0,),
}


@pytest.mark.parametrize("name", AS_NUMPY)
def test_as_numpy(name):
    assert getattr(jnp, name) is getattr(np, name)
    arguments = [np.array(a) if isinstance(a, numpy.ndarray | list) else a for a in AS_NUMPY[name]]
    theirs = getattr(numpy, {"trapezoid": "trapz"}.get(name, name) if numpy.__version__ < "2" else name)
    same(getattr(np, name)(*arguments), theirs(*AS_NUMPY[name]), 1e-4)


def test_lists_as_numpy():
    for got, expected in zip(np.gradient(X), numpy.gradient(A), strict=True):
        same(got, expected)
    places = numpy.array([0.0, 1, 3, 4, 7, 8])
    same(np.gradient(X, np.array(places), axis=1), numpy.gradient(A, places, axis=1))
    with pytest.raises(np.ShapeError, match="gradient: 1 elements along axis 0"):
        np.gradient(np.ones(1))
    for got, expected in zip(np.polydiv(np.array([1.0, 5, 6, 7]), np.array([1.0, 2])), numpy.polydiv([1, 5, 6, 7], [1, 2])):
        same(got, expected)
    for got, expected in zip(np.histogram2d(X[0], X[1], 4), numpy.histogram2d(A[0], A[1], 4), strict=True):
        same(got, expected)
    same(np.histogram(np.array([5, 5]), 3)[0], [0, 2, 0])
    for options in ({"bins": 4}, {"bins": 3, "range": (-1, 2)}, {"bins": [-1, 0, 2]}, {"weights": A}, {"bins": 5, "density": True}):
        ours = {k: np.array(v) if k == "weights" or isinstance(v, list) else v for k, v in options.items()}
        for got, expected in zip(np.histogram(X, **ours), numpy.histogram(A, **options), strict=True):
            same(got, expected, 1e-5)
        traced = np.jit(lambda x, o=ours: np.histogram(x, **o)[0])(X)
        same(traced, numpy.histogram(A, **options)[0], 1e-5)
    roots = np.roots(np.array([0.0, 1, -6, 11, -6, 0]))
    same(numpy.sort(numpy.asarray(roots).real), [0, 1, 2, 3], 1e-3)
    same(np.sort(np.partition(X, 2)[:, :3]), numpy.sort(numpy.partition(A, 2)[:, :3]))
    assert np.block([[np.eye(2), np.zeros((2, 1))], [np.ones(3)]]).tolist() == [[1, 0, 0], [0, 1, 0], [1, 1, 1]]


def test_places_and_grids():
    same(np.mgrid[0:3, 0:2], numpy.mgrid[0:3, 0:2])
    same(np.ogrid[0:3, 0:2][1], numpy.ogrid[0:3, 0:2][1])
    same(np.mgrid[0:1:5j], numpy.mgrid[0:1:5j])
    same(np.r_[0:3, np.array([7, 8]), 9], numpy.r_[0:3, [7, 8], 9])
    same(np.c_[np.array([1, 2]), np.array([3, 4])], numpy.c_[[1, 2], [3, 4]])
    same(X[np.ix_(np.array([0, 2]), np.array([1, 3]))], A[numpy.ix_([0, 2], [1, 3])])
    assert np.fill_diagonal(np.zeros((2, 2)), np.array([1, 2])).tolist() == [[1, 0], [0, 2]]
    assert np.put(np.zeros((2, 2)), np.array([0, -1]), np.array([5, 6])).tolist() == [[5, 0], [0, 6]]
    assert np.place(np.zeros(4), np.array([1, 0, 1, 1]), np.array([5, 6])).tolist() == [5, 0, 6, 5]
    assert np.choose(np.array([0, 1]), [np.array([1, 2]), np.array([3, 4])]).tolist() == [1, 4]
    assert np.piecewise(np.array([-2.0, 0.5]), [np.array([True, False])], [-1.0, lambda x: x * 2]).tolist() == [-1.0, 1.0]
    with pytest.raises(TypeError, match="arrays do not change"):
        np.put(X, 0, 1, inplace=True)


def test_functions_of_functions():
    same(np.apply_along_axis(lambda v: np.sort(v)[:2], 0, X), numpy.sort(A, 0)[:2])
    same(np.apply_over_axes(lambda x, axis: np.sum(x, axis), X, [0, 1]), numpy.sum(A, keepdims=True))
    same(np.vectorize(lambda x, y: np.where(x > y, x - y, x + y))(X, X[0]), numpy.where(A > A[0], A - A[0], A + A[0]))
    same(np.fromfunction(lambda i, j: i + j, (2, 3)), numpy.fromfunction(lambda i, j: i + j, (2, 3)))
    same(np.matvec(np.ones((2, 3, 4)), np.ones(4)), numpy.full((2, 3), 4))


def test_in_traces():
    def f(x):
        box = np.arange(3.0)
        return np.gradient(x), np.cov(x, x), np.trapezoid(x, x), np.nanmedian(x), np.histogram2d(x, x, (box, box))[0]

    for got, expected in zip(np.jit(f)(X[0]), f(X[0]), strict=True):
        same(got, expected)
    assert np.grad(np.nanmedian)(np.array([1.0, np.nan, 2.0, 5.0])).tolist() == [0, 0, 1, 0]
    assert np.jit(lambda x: np.extract(x > 0, x, size=6, fill_value=-1))(X[0]).shape == (6,)
