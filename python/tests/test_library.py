"""The functions of special, linalg, solvers, lax, images, signals, segments and attention under JAX's names.

The programs that make the golden values (tools/golden_more.py and others) are written for JAX; here they run with neap in its
place, and give what JAX gave."""

import contextlib
import importlib.util
import inspect
import json
import math
import pathlib
import sys
import types

import neap as np
import neap.experimental.ode
import neap.numpy
import numpy
import pytest
from neap import lax
from neap.experimental.ode import odeint
from neap.scipy import linalg, signal, special
from neap.scipy.optimize import OptimizeResults, minimize
from neap.scipy.sparse.linalg import bicgstab, cg, gmres

ROOT = pathlib.Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden"
needs_checkout = pytest.mark.skipif(not GOLDEN.is_dir(), reason="tests without a checkout")
DTYPES = {
    "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128", "i8": "int8", "i16": "int16", "i32": "int32",
    "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "bool": "bool",
}  # fmt: skip


def close(x, expected, tolerance=1e-5):
    assert np.allclose(x, np.array(expected), rtol=tolerance, atol=tolerance), (x, expected)


def line() -> int:
    """The line of the caller."""
    return inspect.currentframe().f_back.f_lineno


def loaded(entry):
    flat = numpy.array([float(v) if isinstance(v, str) else v for v in entry["values"]])
    if entry["dtype"][0] == "c":
        flat = flat.reshape(-1, 2) @ numpy.array([1, 1j])
    return flat.reshape(entry["shape"]).astype(DTYPES[entry["dtype"]])


def same(answer, expected, tolerance, what):
    got = numpy.asarray(answer)
    assert got.shape == expected.shape, what
    assert numpy.allclose(got.astype(expected.dtype), expected, tolerance, tolerance, equal_nan=True), (what, got, expected)


def program(name, monkeypatch):
    """Returns the module tools/<name>.py, for which neap is jax."""
    jax = types.ModuleType("jax")
    vars(jax).update({k: v for k, v in vars(np).items() if not k.startswith("__")}, numpy=neap.numpy)
    jax.default_matmul_precision = lambda _: contextlib.nullcontext()
    monkeypatch.setitem(sys.modules, "jax", jax)
    for path in ("numpy", "scipy", "scipy.signal", "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.sparse.linalg",
                 "experimental", "experimental.ode", "lax", "nn", "random"):  # fmt: skip
        monkeypatch.setitem(sys.modules, f"jax.{path}", sys.modules[f"neap.{path}"])
    monkeypatch.setitem(sys.modules, "golden_common", types.SimpleNamespace(GOLDEN=GOLDEN, name_of=None))
    monkeypatch.setitem(sys.modules, "golden_numpy", types.SimpleNamespace(write_json=None))
    spec = importlib.util.spec_from_file_location(name, ROOT / f"tools/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# What is 64 bits wide in JAX by default, where it is told so.
WITH_X64 = {("grad odeint", "float64"), ("random.orthogonal", "float64"), ("matrix_rank", "int64"), ("lstsq", "int64")}


@needs_checkout
@pytest.mark.parametrize(
    ("name", "tolerance"), [("more", 2e-5), ("solvers", 1e-6), ("linalg", 1e-6), ("control", 2e-5), ("numpy", 2e-5)]
)
def test_programs_for_jax(name, tolerance, monkeypatch):
    module = program(f"golden_{name}", monkeypatch)
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    inputs = {k: np.asarray(loaded(v)) for k, v in golden["inputs"].items()}
    checked = 0
    for call, answers in module.calls(inputs):
        answers = answers if isinstance(answers, list | tuple) else [answers]
        expected = [loaded(v) for v in golden["calls"][call]]
        assert len(answers) == len(expected), call
        for i, (got, wanted) in enumerate(zip(answers, expected, strict=True)):
            if call != "random.orthogonal":  # of float64, which is another number
                same(got, wanted, tolerance, f"{call} {i}")
            kind = numpy.asarray(got).dtype
            assert kind == wanted.dtype or (call, wanted.dtype.name) in WITH_X64, (call, i, kind)
        checked += 1
    assert checked == len(golden["calls"]) > 10


@needs_checkout
def test_special_functions():
    golden = json.loads((GOLDEN / "special.json").read_text())
    inputs = {k: np.asarray(loaded(v), dtype=np.float64) for k, v in golden["inputs"].items()}
    for call, expected in golden["calls"].items():
        name, *arguments = call.split()
        answer, wanted = numpy.asarray(getattr(special, name)(*(inputs[a] for a in arguments))), loaded(expected[0])
        known = numpy.isfinite(wanted)  # special.h says what differs from SciPy at the edges
        assert numpy.allclose(answer[known], wanted[known], 1e-9, 1e-300), call


@needs_checkout
def test_general_forms():
    calls = json.loads((GOLDEN / "lax.json").read_text())
    for call in calls:
        op, expected = call["op"], loaded(call["answer"])
        if op == "conv_general_dilated":
            dims = lax.ConvDimensionNumbers(call["lhs"], call["rhs"], call["out"])
            answer = lax.conv_general_dilated(
                loaded(call["x"]), loaded(call["w"]), call["stride"], call["padding"], call["inner"], call["dilation"], dims,
                call["groups"], call["batch_groups"],
            )  # fmt: skip
        elif op == "gather":
            dims = lax.GatherDimensionNumbers(
                call["offset"], call["dropped"], call["map"], call["operand_batch"], call["index_batch"]
            )
            answer = lax.gather(loaded(call["x"]), loaded(call["index"]), dims, call["sizes"], mode=call["mode"])
        else:
            dims = lax.ScatterDimensionNumbers(
                call["offset"], call["dropped"], call["map"], call["operand_batch"], call["index_batch"]
            )
            answer = getattr(lax, op)(
                loaded(call["x"]), loaded(call["index"]), loaded(call["updates"]), dims, mode=call["mode"]
            )
        same(answer, expected, 1e-6, call)
    assert len(calls) > 100


def test_special_values():
    close(special.gamma(np.array([5.0, 0.5])), [24.0, math.sqrt(math.pi)])
    close(special.factorial(4), 24.0)
    close(special.zeta(2.0, 1.0), math.pi**2 / 6)
    close(special.polygamma(1, 1.0), math.pi**2 / 6)
    close(special.beta(2.0, 3.0), 1 / 12)
    close(special.betainc(2.0, 1.0, 0.5), 0.25)
    close(special.gammainc(1.0, 2.0) + special.gammaincc(1.0, 2.0), 1.0)
    close(special.ndtri(0.975), 1.959964)
    close(special.multigammaln(3.0, 1), math.log(2))
    close(special.log_ndtr(-40.0), -804.6084420137538)
    close(np.grad(special.gammainc, 1)(2.0, 1.5), 1.5 * math.exp(-1.5))
    assert np.i0(0.0) == 1 and special.spence(1.0) == 0
    assert lax.igamma is special.gammainc
    with pytest.raises(TypeError, match="exact"):
        special.factorial(4, exact=True)


def test_eigenvalues():
    turn = np.array([[0.0, -2.0], [2.0, 0.0]])
    values, vectors = np.linalg.eig(turn)
    assert sorted(values.imag.tolist()) == pytest.approx([-2.0, 2.0])
    close(turn @ vectors, vectors * values)
    assert np.linalg.eigvals(turn).dtype == np.complex64
    t, z = linalg.schur(turn, output="complex")
    close(z @ t @ np.conj(z).T, turn.astype(np.complex64))
    assert np.linalg.schur(turn).T.shape == (2, 2)
    with pytest.raises(NotImplementedError, match="complex"):
        linalg.schur(turn)
    root = linalg.sqrtm(np.array([[4.0, 1.0], [0.0, 9.0]]))
    close(root @ root, [[4.0, 1.0], [0.0, 9.0]])


def test_one_triangle():
    a, nan = np.array([[4.0, 2.0], [2.0, 5.0]]), math.nan
    low, high = np.array([[4.0, nan], [2.0, 5.0]]), np.array([[4.0, 2.0], [nan, 5.0]])
    close(np.linalg.cholesky(low, symmetrize_input=False), [[2.0, 0.0], [1.0, 2.0]])
    close(np.linalg.cholesky(high, upper=True, symmetrize_input=False), [[2.0, 1.0], [0.0, 2.0]])
    values = np.linalg.eigvalsh(a)
    close(np.linalg.eigh(low, symmetrize_input=False).eigenvalues, values)
    close(np.linalg.eigvalsh(high, "U", symmetrize_input=False), values)
    with pytest.raises(np.OptionError, match=r'UPLO "X".*test_library.py'):
        np.linalg.eigh(a, UPLO="X")
    hermitian = np.array([[2.0, 1j], [-1j, 2.0]])
    close(np.linalg.eigvalsh(hermitian), [1.0, 3.0])


def test_scipy_linalg():
    a, b = np.array([[4.0, 2.0], [2.0, 5.0]]), np.array([1.0, 2.0])
    x = np.linalg.solve(a, b)
    close(linalg.solve(a, b, assume_a="pos"), x)
    close(linalg.cho_solve(linalg.cho_factor(a), b), x)
    close(linalg.cho_solve(linalg.cho_factor(a, lower=True), b), x)
    m = np.array([[0.0, 2.0, 1.0], [1.0, 1.0, 0.0], [3.0, 0.0, 1.0]])
    c = np.array([3.0, 2.0, 4.0])
    close(m @ linalg.lu_solve(linalg.lu_factor(m), c), c)
    close(m.T @ linalg.lu_solve(linalg.lu_factor(m), c, trans=1), c)
    upper = np.triu(m + np.eye(3))
    for trans, of in ((0, upper), (1, upper.T), ("T", upper.T)):
        close(of @ linalg.solve_triangular(upper, c, trans), c)
    q, r = linalg.qr(m, mode="economic")
    close(q @ r, m)
    u, s, vh = linalg.svd(m)
    close((u * s) @ vh, m)
    close(linalg.eigh(a, eigvals_only=True), linalg.eigh(a)[0])
    assert linalg.block_diag(a, 7.0).tolist() == [[4.0, 2.0, 0.0], [2.0, 5.0, 0.0], [0.0, 0.0, 7.0]]
    d = np.array([2.0, 2.0, 2.0])
    off = np.array([-1.0, -1.0, -1.0])
    x = np.linalg.tridiagonal_solve(off, d, off, c[:, None])
    full = 2 * np.eye(3) - np.eye(3, k=1) - np.eye(3, k=-1)
    close(full @ x[:, 0], c)


A = np.array([[4.0, 1.0], [1.0, 3.0]])
B = np.array([1.0, 2.0])


def test_krylov_solvers():
    expected = [1 / 11, 7 / 11]
    for solver in (cg, bicgstab, gmres):
        x, info = solver(A, B)
        close(x, expected)
        assert info is None
        close(solver(lambda t: {"x": A @ t["x"]}, {"x": B}, x0={"x": B}, M=lambda t: t)[0]["x"], expected)
        close(np.jit(lambda a, s=solver: s(a, B, tol=1e-6, maxiter=20)[0])(A), expected)
        gradient = np.grad(lambda a, s=solver: np.sum(s(a, B, tol=1e-7)[0]))(A)
        close(gradient, np.grad(lambda a: np.sum(np.linalg.solve(a, B)))(A), 1e-4)
    close(np.vmap(lambda b: cg(A, b)[0])(np.stack([B, 2 * B])), [expected, [2 / 11, 14 / 11]])


def test_custom_linear_solve():
    def direct(matvec, b):
        return np.linalg.solve(np.jacfwd(matvec)(b), b)

    def solve(a, b, **options):
        return lax.custom_linear_solve(lambda x: a @ x, b, direct, **options)

    skew = np.array([[4.0, 1.0], [2.0, 3.0]])
    close(solve(skew, B), [0.1, 0.6])
    wanted = np.grad(lambda a: np.sum(np.linalg.solve(a, B)))(skew)
    close(np.grad(lambda a: np.sum(solve(a, B, transpose_solve=direct)))(skew), wanted)
    close(np.jvp(lambda a: solve(a, B), (skew,), (skew,))[1], [-0.1, -0.6])
    with pytest.raises(np.UserError, match=r"transpose_solve.*test_library.py"):
        np.grad(lambda a: np.sum(solve(a, B)))(skew)
    kept = []
    lax.custom_linear_solve(lambda x: 2 * x, B, lambda f, b: kept.append(f) or b / 2)
    with pytest.raises(np.UserError, match="after the solver has returned"):
        kept[0](B)


def test_custom_root():
    def newton(f, x):
        return np.fori_loop(0, 30, lambda _, y: y - f(y) / np.grad(f)(y), x)

    def root(a):
        return lax.custom_root(lambda x: x**2 - a, 1.0, newton, lambda g, y: y / g(1.0))

    close(root(9.0), 3.0)
    close(np.grad(root)(9.0), 1 / 6)
    close(np.grad(np.grad(root))(9.0), -1 / 108)


def test_minimize():
    def rosenbrock(x, b=100.0):
        return (1 - x[0]) ** 2 + b * (x[1] - x[0] ** 2) ** 2

    found = minimize(rosenbrock, np.array([-1.2, 1.0], dtype=np.float64), method="BFGS")
    assert isinstance(found, OptimizeResults) and bool(found.success) and int(found.status) == 0
    close(found.x, [1.0, 1.0], 1e-4)
    assert found.hess_inv.shape == (2, 2) and int(found.nfev) == int(found.njev) > int(found.nit) > 5
    few = minimize(rosenbrock, np.array([-1.2, 1.0]), (1.0,), method="L-BFGS", options={"maxiter": 2})
    assert not bool(few.success) and int(few.status) == 1 and int(few.nit) == 2 and few.hess_inv is None
    start = {"a": np.zeros(3), "b": np.array(1.0)}
    tree = np.jit(lambda s: minimize(lambda p: np.sum((p["a"] - s) ** 2) + p["b"] ** 2, start))(2.0)
    close(tree.x["a"], [2.0, 2.0, 2.0])
    close(tree.jac["b"], 0.0)
    with pytest.raises(np.OptionError, match=r"method.*test_library.py"):
        minimize(rosenbrock, B, method="Newton")
    with pytest.raises(np.OptionError, match=r"maxfun.*test_library.py"):
        minimize(rosenbrock, B, method="L-BFGS", options={"maxfun": 3})
    with pytest.raises(np.ShapeError, match=r"test_library.py"):
        minimize(lambda x: x, B)


def test_a_derivative_of_a_minimum():
    def least(c):
        f = lambda x: np.sum(np.cosh(x - c)) + np.sum(x**2) / 2  # noqa: E731
        solve = lambda g, x: minimize(f, x, tol=1e-6).x  # noqa: E731
        return lax.custom_root(np.grad(f), np.zeros(2), solve, lambda g, y: np.linalg.solve(np.jacfwd(g)(y), y))

    c = np.array([0.5, -1.0])
    x = least(c)
    close(np.sinh(x - c) + x, [0.0, 0.0], 1e-4)
    curve = np.cosh(x - c)
    close(np.diagonal(np.jacrev(least)(c)), (curve / (curve + 1)).tolist(), 1e-4)


def test_odeint():
    t = np.linspace(0.0, 1.0, 5)
    decay = lambda y, t, k: -k * y  # noqa: E731
    close(odeint(decay, 1.0, t, 2.0), np.exp(-2 * t).tolist())
    y = odeint(lambda y, t: {"x": y["v"], "v": -y["x"]}, {"x": np.array(1.0), "v": np.array(0.0)}, t, rtol=1e-6, atol=1e-6)
    close(y["x"], np.cos(t).tolist())
    final = lambda k: odeint(decay, 1.0, t, k)[-1]  # noqa: E731
    close(np.grad(final)(2.0), -math.exp(-2))
    close(np.jit(np.grad(final))(2.0), -math.exp(-2))
    assert np.all(np.isnan(odeint(decay, 1.0, t, 2.0, mxstep=1)[1:]))
    with pytest.raises(np.UserError, match=r"odeint: func gives .*test_library.py"):
        odeint(lambda y, t: (y, y), 1.0, t)


def test_functions_that_do_not_fit():
    for wrong, error in ((lambda v: v[:1], np.ShapeError), (lambda v: (v, v), np.UserError)):
        with pytest.raises(error) as e:
            here = line() + 1
            cg(wrong, B)
        assert f"[test_library.py:{here}]" in str(e.value)

    class Mine(Exception):
        pass

    def fails(*_):
        raise Mine

    for call in (lambda: cg(fails, B), lambda: lax.custom_linear_solve(lambda x: x, B, fails), lambda: minimize(fails, B),
                 lambda: odeint(fails, B, B), lambda: lax.reduce(B, 0.0, fails, (0,))):  # fmt: skip
        with pytest.raises(Mine):
            call()


def test_dimension_numbers():
    x, w = np.arange(12.0).reshape(1, 3, 4, 1), np.ones((2, 2, 1, 1))
    last = lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    first = lax.conv_general_dilated(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), (1, 1), "VALID")
    assert last.shape == (1, 2, 3, 1)
    assert np.array_equal(last[..., 0], first[:, 0])
    assert lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")).shape == (1, 2, 2, 1)
    assert lax.padtype_to_pads((4,), (2,), (1,), "SAME_LOWER") == [(1, 0)]
    with pytest.raises(np.OptionError, match=r"NCX.*test_library.py"):
        lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NCXX", "OIYX", "NCYX"))
    dims = lax.GatherDimensionNumbers(offset_dims=(0,), collapsed_slice_dims=(), start_index_map=(0,))
    with pytest.raises(np.OptionError, match="mode|GatherScatterMode"):
        lax.gather(B, np.array([0]), dims, (1,), mode="nearest")
    assert math.isnan(lax.gather(B, np.array([4]), dims, (1,))[0])
    assert lax.gather(B, np.array([4]), dims, (1,), mode=lax.GatherScatterMode.CLIP).tolist() == [2.0]


def test_reduce_of_trees():
    def best(a, b):
        first = a["v"] >= b["v"]
        return {"v": np.where(first, a["v"], b["v"]), "i": np.where(first, a["i"], b["i"])}

    x = {"v": np.array([[3.0, 9.0, 2.0], [5.0, 1.0, 7.0]]), "i": lax.broadcasted_iota(np.int32, (2, 3), 1)}
    out = np.jit(lambda x: lax.reduce(x, {"v": -math.inf, "i": 0}, best, (1,)))(x)
    assert out["v"].tolist() == [9.0, 7.0] and out["i"].tolist() == [1, 2]
    windows = lax.reduce_window(x["v"], 0.0, lax.add, (1, 2), (1, 1), "VALID")
    assert windows.tolist() == [[12.0, 11.0], [6.0, 8.0]]
    assert lax.reduce(B, 0.0, lax.add, ()).tolist() == B.tolist()
    with pytest.raises(np.UserError, match=r"computation gives.*test_library.py"):
        lax.reduce(B, 0.0, lambda a, b: (a, b), (0,))


def test_elementary_lax():
    i = np.array([7, -7, 5], np.int32)
    assert lax.div(i, np.array([2, 2, 0], np.int32)).tolist() == [3, -3, -1]
    assert lax.rem(i, np.array([2, 2, 0], np.int32)).tolist() == [1, -1, 5]
    assert lax.shift_right_logical(i, np.array([1, 28, 40], np.int32)).tolist() == [3, 15, 0]
    assert lax.shift_right_arithmetic(np.array([255, 7, 128], np.uint8), np.array([1, 1, 9], np.uint8)).tolist() == [255, 3, 255]
    assert lax.round(np.array([0.5, 1.5, -2.5, 0.49999997])).tolist() == [1.0, 2.0, -3.0, 0.0]
    assert lax.round(np.array([0.5, 1.5]), lax.RoundingMethod.TO_NEAREST_EVEN).tolist() == [0.0, 2.0]
    assert lax.integer_pow(np.array([2.0]), -2).tolist() == [0.25]
    assert lax.select_n(np.array([True, False]), B, -B).tolist() == [-B[0].item(), B[1].item()]
    assert lax.select_n(np.array([2, 0, 1]), *(np.full((3,), v) for v in (0, 10, 20))).tolist() == [20, 0, 10]
    assert lax.population_count(np.array([7], np.uint8)).dtype == np.uint8
    z = np.array([1 + 2j], np.complex64)
    assert lax.bitcast_convert_type(z, np.complex64).tolist() == z.tolist()


def test_lax_moves_and_reductions():
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    assert lax.pad(np.array([1.0, 2.0, 3.0]), 9.0, ((1, -1, 1),)).tolist() == [9.0, 1.0, 9.0, 2.0, 9.0]
    assert lax.broadcast_in_dim(np.array([1, 2]), (2, 3), (0,)).tolist() == [[1, 1, 1], [2, 2, 2]]
    assert lax.broadcast(np.array([1, 2]), (2,)).tolist() == [[1, 2], [1, 2]]
    assert lax.reshape(x, (6,), (1, 0)).tolist() == [0, 3, 1, 4, 2, 5]
    assert lax.rev(x, (1,)).tolist() == [[2, 1, 0], [5, 4, 3]]
    assert [part.tolist() for part in lax.split(x, [1, 2], 1)] == [[[0], [3]], [[1, 2], [4, 5]]]
    assert lax.concatenate([x, x], 1).shape == (2, 6)
    total = lax.reduce_sum(np.full((4,), 100, np.int8), (0,))
    assert total.dtype == np.int8 and total.item() == -112
    assert lax.reduce_max(x, (0, 1)).item() == 5 and lax.reduce_min(x, ()).shape == (2, 3)
    assert [f(np.array([6, 3, 7]), (0,)).item() for f in (lax.reduce_and, lax.reduce_or, lax.reduce_xor)] == [2, 7, 2]
    assert lax.reduce_xor(np.array([True, True, True]), (0,)).item() is True
    assert lax.argmax(x, 1, np.uint8).dtype == np.uint8
    keys, values = lax.sort_key_val(np.array([3, 1, 2]), np.array([30.0, 10.0, 20.0]))
    assert keys.tolist() == [1, 2, 3] and values.tolist() == [10.0, 20.0, 30.0]
    by_two = lax.sort((np.array([1, 0, 1]), np.array([2, 5, 1]), np.array([7, 8, 9])), num_keys=2)
    assert [part.tolist() for part in by_two] == [[0, 1, 1], [5, 1, 2], [8, 9, 7]]
    assert lax.sort(np.array([1 + 2j, 1 + 1j, 0j])).tolist() == [0j, 1 + 1j, 1 + 2j]
    assert lax.top_k(x, 1, axis=0)[0].tolist() == [[3, 4, 5]]
    assert lax.approx_min_k(np.array([3.0, 1.0, 2.0]), 2)[1].tolist() == [1, 2]
    assert lax.dot_general(x, x, (((1,), (1,)), ((), ())), preferred_element_type=np.int32).tolist() == [[5, 14], [14, 50]]
    assert lax.fft(np.arange(4.0), "RFFT", (4,)).shape == (3,)
    with pytest.raises(np.OptionError, match=r"fft.*DCT.*test_library.py"):
        lax.fft(np.arange(4.0), "DCT", (4,))
    dims = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(), start_index_map=(0,))
    windows = lax.gather(np.array([1.0, 2.0, 3.0]), np.array([[1], [2], [-1]]), dims, (2,), fill_value=-5.0)
    assert windows.tolist() == [[2.0, 3.0], [-5.0, -5.0], [-5.0, -5.0]]


def test_complex_cholesky_has_a_real_diagonal():
    x = np.random.normal(np.random.key(0), (2, 40, 40))
    x = np.complex(x[0], x[1])
    low = np.linalg.cholesky(x @ np.conj(x).T)
    assert np.imag(np.diagonal(low)).tolist() == [0.0] * 40
    close(low @ np.conj(low).T, x @ np.conj(x).T, 1e-3)
    assert np.all(np.isnan(np.imag(np.diagonal(np.linalg.cholesky(-x @ np.conj(x).T))))).item()


def test_left_eigenvectors():
    a = np.array([[1.0, 2.0], [0.5, -1.0]])
    w, left, right = lax.linalg.eig(a)
    close(np.conj(left).T @ a, np.expand_dims(w, 1) * np.conj(left).T)
    close(a @ right, right * w)
    assert len(lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)) == 1
    z = np.array([[2j, 0], [1, 1j]])
    x = lax.linalg.triangular_solve(z, np.array([[1.0 + 0j], [2.0]]), left_side=True, lower=True, conjugate_a=True)
    close(np.conj(z) @ x, np.array([[1.0 + 0j], [2.0]]))


def test_images_and_signals():
    ramp = np.arange(4.0)
    assert np.image.resize(ramp, (8,), "nearest").tolist() == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    close(np.image.resize(ramp, (2,), np.image.ResizeMethod.LINEAR), [5 / 7, 16 / 7])
    close(np.image.scale_and_translate(ramp, (4,), (0,), np.ones(1), np.ones(1), "bilinear"), [0.0, 0.0, 1.0, 2.0])
    with pytest.raises(np.OptionError, match=r"method.*test_library.py"):
        np.image.resize(ramp, (2,), "area")
    x, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 1.0], [2.0, 0.0]])
    expected = [[0.0, 1.0, 2.0], [2.0, 7.0, 4.0], [6.0, 8.0, 0.0]]
    for f in (signal.convolve, signal.convolve2d, signal.fftconvolve):
        close(f(x, y), expected)
    close(signal.convolve(x, y, method="fft"), expected)
    for mode in ("full", "same", "valid"):
        close(signal.correlate(x, y, mode, method="fft"), signal.correlate(x, y, mode).tolist())
    with pytest.raises(NotImplementedError):
        signal.convolve2d(x, y, boundary="wrap")


def test_segments_and_attention():
    data, ids = np.array([1.0, 2.0, 3.0]), np.array([0, 2, 0])
    assert np.ops.segment_sum(data, ids).tolist() == [4.0, 0.0, 2.0]
    assert np.ops.segment_max(data, ids, num_segments=2).tolist() == [3.0, -math.inf]
    with pytest.raises(np.TracerError, match=r"num_segments.*test_library.py"):
        np.jit(lambda i: np.ops.segment_sum(data, i))(ids)
    q = np.random.normal(np.random.key(0), (5, 2, 4))
    out = np.nn.dot_product_attention(q, q, q, is_causal=True)
    close(out[0], q[0].tolist())
    scores = np.einsum("qhd,khd->hqk", q, q) / 2
    close(np.nn.dot_product_attention(q, q, q), np.einsum("hqk,khd->qhd", np.nn.softmax(scores), q).tolist())
    near = np.nn.dot_product_attention(q, q, q, local_window_size=0)
    close(near, q.tolist())


def test_sets_without_sizes():
    x, y = np.array([3, 1, 3, 2]), np.array([2, 5, 3])
    assert np.union1d(x, y).tolist() == [1, 2, 3, 5]
    assert np.intersect1d(x, y).tolist() == [2, 3]
    assert np.setdiff1d(x, y).tolist() == [1]
    assert np.argwhere(x > 1).tolist() == [[0], [2], [3]]
    with pytest.raises(np.TracerError, match="size"):
        np.jit(np.union1d)(x, y)
    assert np.insert(np.arange(4), slice(0, 4, 2), 9).tolist() == [9, 0, 1, 9, 2, 3]
    assert np.delete(np.arange(5), slice(None, None, 2)).tolist() == [1, 3]
    assert np.ravel_multi_index((np.array([1, 2]), np.array([0, 3])), (3, 4)).tolist() == [4, 11]
    with pytest.raises(np.IndexError, match=r"test_library.py"):
        np.ravel_multi_index((np.array([3]),), (3,))
    with pytest.raises(np.TracerError, match="clip"):
        np.jit(lambda i: np.ravel_multi_index((i,), (3,)))(np.array([1]))
    assert np.trace(np.eye(3)) == np.eye(3).trace() == 3
    assert np.ediff1d(np.array([1, 4, 9]), to_end=np.array([7]), to_begin=0).tolist() == [0, 3, 5, 7]
    with pytest.raises(TypeError, match="inplace"):
        np.put_along_axis(x, np.array([0]), 1, 0, inplace=True)


def test_updates():
    x = np.array([1.0, 2.0, 4.0])
    twice = np.array([0, 0])
    assert x.at[twice].subtract(1.0).tolist() == [-1.0, 2.0, 4.0]
    assert x.at[twice].divide(2.0).tolist() == [0.25, 2.0, 4.0]
    assert x.at[1:].power(2).tolist() == [1.0, 4.0, 16.0]
    assert x.at[np.array([1, 1])].apply(np.square).tolist() == [1.0, 4.0, 4.0]
    assert x.at[np.array([7])].get().tolist() == [4.0]
    assert math.isnan(x.at[np.array([7])].get(mode="fill")[0])
    assert np.array([4, 6]).at[0].divide(8).tolist() == [0.5, 6.0]
    assert np.jit(lambda x: x.at[x > 1].divide(2))(np.array([1, 2, 3])).tolist() == [1.0, 1.0, 1.5]
    with pytest.raises(ZeroDivisionError):
        x.at[0].apply(lambda v: 1 / 0)
    assert np.zeros((1,) * 30)[(0,) * 30].shape == ()


def test_keys_and_lognormal():
    keys = np.random.key(np.array([3, 4]))
    assert keys.tolist() == [np.random.key(3).tolist(), np.random.key(4).tolist()]
    assert np.jit(np.random.key)(3).tolist() == np.random.key(3).tolist()
    assert np.random.key(np.array(3), impl="philox").shape == np.random.key(3, impl="philox").shape
    z = np.random.normal(keys[0], (4,))
    close(np.random.lognormal(keys[0], 0.5, (4,)), np.exp(0.5 * z).tolist())


def test_debug_nans():
    x = np.array([1.0, 4.0])
    assert issubclass(np.FloatingPointError, np.UserError) and issubclass(np.FloatingPointError, FloatingPointError)
    f = np.jit(lambda x: np.sqrt(x - 2.0) + 1.0)
    with np.debug_nans():
        with pytest.raises(FloatingPointError, match=r"debug_nans: sqrt gives NaN at \[0\].*test_library.py"):
            f(x)
        with pytest.raises(np.FloatingPointError) as e:
            here = line() + 1
            np.log(-x)
        assert f"[test_library.py:{here}]" in str(e.value)
        assert (x / (x - 1.0)).tolist()[0] == math.inf
    with np.debug_infs(), pytest.raises(np.FloatingPointError, match="debug_infs: divide"):
        x / (x - 1.0)
    with np.debug_nans(False):
        assert math.isnan(f(x)[0])
    assert math.isnan(f(x)[0])


def test_all_names():
    for module in (neap.numpy, lax, linalg, signal, special, np.image, np.ops, np.linalg, np.nn):
        for name in module.__all__:
            assert hasattr(module, name), (module.__name__, name)
    namespace: dict = {}
    exec("from neap.numpy import *\nfrom neap.scipy.special import *", namespace)
    assert namespace["gammainc"] is special.gammainc
