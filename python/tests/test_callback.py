"""Functions of Python in compiled code: prints, callbacks, checks."""

import gc
import threading
import weakref

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


@pytest.mark.parametrize("export", [numpy.asarray, memoryview, numpy.from_dlpack, lambda a: numpy.asarray(a)[::2]])
def test_memory_that_a_function_hands_on(export):
    kept = []

    def f(x):
        np.debug.callback(lambda a, b: kept.append((export(a), export(b))), x, x * 2)

        def body(i, c):
            np.debug.callback(lambda a: kept.append((export(a), export(a + 1))), c)
            return c + 1

        return np.fori_loop(0, 2, body, x)

    g = np.jit(f)
    for i in range(3):
        g(np.full((1000,), 10 * i, np.float32))
    rubbish = [np.full((1000,), 77, np.float32) for _ in range(8)]
    want = [w for i in (0, 10, 20) for w in ((i, 2 * i), (i, i + 1), (i + 1, i + 2))]
    assert [(a[0], b[0]) for a, b in kept] == want
    assert all(set(numpy.asarray(a).tolist()) == {w} for pair, wants in zip(kept, want) for a, w in zip(pair, wants))
    del rubbish


def test_arrays_in_other_threads():
    sums, started = [], []

    def later(a):
        go = threading.Event()
        thread = threading.Thread(target=lambda: (go.wait(), sums.append(np.sum(a).item())))
        thread.start()
        started.append((go, thread))

    f = np.jit(lambda x: np.debug.callback(later, x * 2) or x + 1)
    for i in range(3):
        f(np.full((1000,), i, np.float32))
    for go, thread in started:
        go.set()
        thread.join()
    assert sums == [0, 2000, 4000]


def test_what_a_callback_returns_is_left():
    np.jit(lambda x: np.debug.callback(lambda a: numpy.asarray(a) * 2, x) or x)(np.ones(3))
    np.debug.callback(lambda a: {1: object(), "a": 2}, np.ones(3))


def test_arguments_that_are_no_arrays(capfd):
    seen = []
    f = np.jit(
        lambda x: np.debug.callback(lambda *a, **k: seen.append((a, k)), "name", x, {"y": x + 1, "b": b"z"}, c=None) or x
    )
    f(1.0)
    f(2.0)
    assert [(a[0], a[1].item(), a[2]["y"].item(), a[2]["b"], k) for a, k in seen] == [
        ("name", 1, 2, b"z", {"c": None}),
        ("name", 2, 3, b"z", {"c": None}),
    ]
    spec = np.spec((), np.float32)
    assert np.jit(lambda x: np.pure_callback(lambda n, a: a + len(n), spec, "four", x))(1.0).item() == 5
    np.jit(lambda x: np.debug.print("{} {n!r} {x} {}", "text", [1, x], n="a", x=x) or x)(np.float32(2))
    assert capfd.readouterr().out == "text 'a' 2.0 [1, Array(2.0, dtype=float32)]\n"
    with pytest.raises(np.CheckError, match="bad: loss is -1"):
        np.jit(lambda x: np.check(x > 0, "{}: {n} is {}", "bad", x, n="loss") or x)(-1.0)
    np.debug.callback(lambda callback, f, fmt: seen.append(callback), callback=np.array(7), f=1, fmt="a")
    assert seen[-1].item() == 7
    np.debug.print("{fmt}", fmt=3)
    assert capfd.readouterr().out == "3\n"


def test_numbers_are_printed_as_they_are(capfd):
    np.debug.print("{} {} {} {:.3f} {:d} {}", 3000000000, 0.1, True, 3.14159, 7, numpy.float64(0.1))
    assert capfd.readouterr().out == "3000000000 0.1 True 3.142 7 0.1\n"
    np.jit(lambda x: np.debug.print("{} {:>8}|{:.9f} {}", x, x, x, x * np.array(1j, np.complex64)) or x)(np.float32(0.1))
    assert capfd.readouterr().out == "0.1      0.1|0.100000001 0.1j\n"
    np.debug.print("{} {} {}", np.array(0.1, np.float16), np.array(1e30, np.float32), np.array(float("nan")))
    assert capfd.readouterr().out == "0.1 1e+30 nan\n"


def test_attributes_and_indices_in_formats(capfd):
    f = lambda x: np.debug.print("{x.shape} {x.dtype} {x[1]:.2f} {0:>{w}}", x[0], x=x, w=4) or x
    np.jit(f)(np.arange(3.0))
    assert capfd.readouterr().out == "(3,) float32 1.00  0.0\n"
    np.vmap(f)(np.ones((2, 3)))
    assert capfd.readouterr().out == 2 * "(3,) float32 1.00  1.0\n"
    for wrong in ("{0.foo}", "{x}", "{0:.2f}"):
        with pytest.raises(np.UserError, match="print: .*test_callback.py"):
            np.jit(lambda x, w=wrong: np.debug.print(w, x) or x)(np.ones(3))


# One call, for a function that is not given what differs between examples.
def test_examples_that_share_arguments():
    source, seen = iter(range(10)), []

    def f(x):
        np.debug.callback(seen.append, 7)
        return x + np.experimental.io_callback(lambda: np.float32(next(source)), np.spec((), np.float32))

    assert np.jit(np.vmap(f))(np.zeros(3)).tolist() == [0, 0, 0]
    assert len(seen) == 1 and next(source) == 1


# As docs/python.md has it.
def test_a_cycle_through_a_callback():
    class Model:
        def __init__(self):
            me = weakref.ref(self)
            self.seen = []
            self.f = np.jit(lambda x: np.debug.callback(lambda a: me().seen.append(a.item()), x) or x)

    model = Model()
    model.f(1.0)
    assert model.seen == [1]
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
