"""Functions of Python in compiled code: prints, callbacks, checks."""

import numpy
import pytest

import neap as np


def test_print(capfd):
    @np.jit
    def f(x, i):
        np.debug.print("x {:.2f} in step {step}: {y}", x, step=i, y=x + np.ones(2))
        return x * 2

    f(np.float32(1.5), 3)
    assert capfd.readouterr().out.startswith("x 1.50 in step 3: ")
    np.debug.print("eager {}", np.array(True))
    assert capfd.readouterr().out == "eager True\n"
    with pytest.raises(np.UserError, match="test_callback.py"):
        np.jit(lambda x: np.debug.print("{} {}", x))(1.0)
    with pytest.raises(np.UserError):
        np.debug.print("{:d}", np.float32(1))


def test_callback_in_loops_vmap_and_grad():
    seen = []

    def f(x):
        def body(i, c):
            np.debug.callback(lambda a, k: seen.append((a.item(), k["i"].item())), c, {"i": i})
            return c * x

        return np.fori_loop(0, 3, body, x)

    assert np.jit(f)(2.0).item() == 16
    assert seen == [(2, 0), (4, 1), (8, 2)]
    seen.clear()
    assert np.jit(np.grad(f))(2.0).item() == 32
    assert seen == [(2, 0), (4, 1), (8, 2)]
    seen.clear()
    np.vmap(f)(np.array([1.0, 2.0]))
    assert seen == [(1, 0), (2, 0), (1, 1), (4, 1), (1, 2), (8, 2)]


def test_pure_callback_of_trees():
    def host(x, scale):
        assert isinstance(x, np.Array) and x.shape == (3,)
        return {"sorted": numpy.sort(numpy.asarray(x)), "norm": np.asarray(numpy.linalg.norm(x) * scale, np.float32)}

    specs = {"sorted": np.spec((3,), np.float32), "norm": np.spec((), np.float32)}
    x = np.array([3.0, 0.0, 4.0])
    out = np.jit(lambda a: np.pure_callback(host, specs, a, scale=2))(x)
    assert out["sorted"].tolist() == [0, 3, 4] and out["norm"].item() == 10
    rows = np.vmap(lambda a: np.pure_callback(host, specs, a, scale=1))(np.stack([x, 2 * x]))
    assert rows["norm"].tolist() == [5, 10]
    with pytest.raises(np.UserError, match="custom_jvp"):
        np.grad(lambda a: np.pure_callback(host, specs, a, scale=1)["norm"])(x)
    with pytest.raises(np.DTypeError):
        np.jit(lambda a: np.pure_callback(lambda b: numpy.zeros(3), np.spec((3,), np.float32), a))(x)
    with pytest.raises(np.UserError, match="structure"):
        np.jit(lambda a: np.pure_callback(lambda b: (b, b), a, a))(x)


def test_io_callback_in_order():
    source = iter(range(10))

    def draw():
        return np.float32(next(source))

    f = np.jit(lambda: np.stack([np.experimental.io_callback(draw, np.spec((), np.float32)) for _ in range(3)]))
    assert f().tolist() == [0, 1, 2]
    assert f().tolist() == [3, 4, 5]


def test_check():
    @np.jit
    def f(x):
        np.check(x > 0, "x must be positive, but is {}", np.min(x))
        return np.sqrt(x)

    assert f(np.array([4.0])).item() == 2
    with pytest.raises(np.CheckError, match=r"x must be positive, but is -1.*test_callback.py"):
        f(np.array([4.0, -1.0]))
    with pytest.raises(np.CheckError):
        np.vmap(lambda x: np.check(x > 0, "one"))(np.array([1.0, -1.0]))
    np.vmap(lambda x: np.cond(x > 0, lambda: np.check(x > 0, "never") or x, lambda: x))(np.array([1.0, -1.0]))
    with pytest.raises(np.DTypeError):
        np.check(np.array(1.0), "no bool")


def test_exceptions_pass_through():
    def fail(x):
        raise KeyError("mine")

    f = np.jit(lambda x: np.debug.callback(fail, x) or x + 1)
    with pytest.raises(KeyError, match="mine"):
        f(1.0)
    kept = []
    g = np.jit(lambda x: np.debug.callback(kept.append, x * 2) or x)
    for i in range(3):
        g(np.full((4,), i, np.float32))
    assert [a[0].item() for a in kept] == [0, 2, 4]
