"""jit: signatures, plans, budgets, donation, threads, memory."""

import gc
import json
import threading

import neap as np
import numpy
import pytest


def test_a_signature_is_traced_once():
    traces = []

    @np.jit
    def f(x, y=1.0):
        traces.append(x.shape)
        return {"sum": x + y}

    assert f(np.ones(2))["sum"].tolist() == [2.0, 2.0]
    assert f(np.zeros(2))["sum"].tolist() == [1.0, 1.0]
    assert len(traces) == 1
    f(np.ones(3))
    f(np.ones(3), y=2.0)
    assert len(traces) == 3
    f(np.ones(3), y=5)
    assert len(traces) == 4  # an int is another dtype


def test_numbers_are_inputs():
    f = np.jit(lambda x, n: x * n)
    assert f(np.ones(2), 3.0).tolist() == [3.0, 3.0]
    assert f(np.ones(2), 4.0).tolist() == [4.0, 4.0]
    assert f(True, 2).dtype == np.int32


def test_static_arguments():
    traces = []

    @np.jit(static_argnames=("mode",), static_argnums=1)
    def f(x, n, *, mode="sum"):
        traces.append((n, mode))
        return np.sum(x) * n if mode == "sum" else np.prod(x)

    assert f(np.ones(3), 2, mode="sum").item() == 6.0
    assert f(np.ones(3), 2, mode="sum").item() == 6.0
    assert f(np.ones(3), 3, mode="sum").item() == 9.0
    assert f(np.ones(3), 3, mode="prod").item() == 1.0
    assert f(np.ones(3), 3.0, mode="sum").item() == 9.0
    assert len(traces) == 4
    with pytest.raises(TypeError, match="no hash"):
        f(np.ones(3), [1])
    by_position = np.jit(lambda x, flag: x if flag else -x, static_argnames="flag")
    assert by_position(np.array(1.0), False).item() == -1.0


def test_results_are_trees():
    f = np.jit(lambda x: [x, (x + 1, None), {"c": 2.0}])
    a, (b, none), c = f(np.array(1.0))
    assert (a.item(), b.item(), none, c["c"].item()) == (1.0, 2.0, None, 2.0)
    assert np.jit(lambda: 3)().item() == 3


def test_methods():
    class Model:
        scale = 2.0

        @np.jit
        def apply(self, x):
            return x * 2

    np.register_pytree_node(Model, lambda m: ((), None), lambda aux, children: Model())
    assert Model().apply(np.array(2.0)).item() == 4.0


def test_a_plan_says_the_peak():
    def attention(q, k, v):
        return np.nn.softmax(q @ k.T) @ v

    x = np.spec((1024, 64))
    plan = np.jit(attention).plan(x, x, x)
    assert plan.lower_bound_bytes <= plan.peak_bytes <= plan.naive_peak_bytes
    assert "test_jit.py" in str(plan)
    assert "peak" in repr(plan)
    assert plan.to_json().startswith("{")
    assert "<html" in plan.to_html() and "<iframe" in plan._repr_html_()
    assert isinstance(plan.strategies, list) and isinstance(plan.decision("no such decision"), str)


def test_budgets():
    def attention(q, k, v):
        return np.nn.softmax(q @ k.T) @ v

    x = np.spec((1024, 64))
    least = 4 * 1024 * 64 * 4
    assert np.jit(attention, memory_budget=2 * least).plan(x, x, x).peak_bytes <= 2 * least
    assert np.jit(attention, memory_budget="2MiB").plan(x, x, x).peak_bytes <= 2 << 20
    with pytest.raises(np.BudgetError, match="test_jit.py") as e:
        np.jit(attention, memory_budget=least - 1).plan(x, x, x)
    assert e.value.smallest_peak_bytes >= least
    curve = np.jit(attention).tradeoff(x, x, x)
    peaks = [point.peak_bytes for point in curve]
    assert peaks == sorted(peaks, reverse=True) and len(curve) >= 1
    assert curve._repr_html_().startswith("<svg") and curve[0].how and "ms" in repr(curve)


def test_limits_of_another_device(tmp_path):
    path = tmp_path / "small.json"
    path.write_text('{"name": "small", "gpu": true, "memory": 8388608}')
    limits = np.read_limits(path)
    assert (limits.name, limits.gpu, limits.memory) == ("small", True, 8 << 20) and "small" in repr(limits)

    def outer(x):
        return np.sum(x[:, None] * x[None], axis=0)

    x = np.spec((4096,))
    f = np.jit(outer, limits=limits)
    assert 4 * 4096 * 2 <= f.plan(x).peak_bytes <= 8 << 20
    with pytest.raises(np.UserError, match="leave the option `limits` out"):
        f(np.ones(4096))
    with pytest.raises(np.BudgetError, match="small"):
        np.jit(lambda x: np.cumsum(np.sort(x)), limits=limits, name="small").plan(np.spec((4 << 20,)))
    every = np.Limits(name="n", gpu=True, memory=1, largest_allocation=2, largest_buffer=3, alignment=128,
                      wide_atomics=False, half_products=True, bf16_products=False, count_tables=4, host_memory=False)  # fmt: skip
    assert (every.name, every.gpu, every.memory, every.largest_allocation, every.largest_buffer, every.alignment) == (
        "n", True, 1, 2, 3, 128)  # fmt: skip
    assert (every.wide_atomics, every.half_products, every.bf16_products, every.count_tables, every.host_memory) == (
        False, True, False, 4, False)  # fmt: skip
    with pytest.raises(np.UserError, match="test_jit.py"):
        np.jit(outer, limits=np.Limits(memory=1 << 10)).plan(x)
    assert np.limits("cpu").host_memory
    with pytest.raises(np.UserError, match="test_jit.py"):
        np.read_limits(tmp_path / "none.json")


def test_profiles(tmp_path):
    f = np.jit(lambda x: np.sort(np.sin(x)), name="sorted")
    x = np.arange(1000.0)
    with np.Profile() as profile:
        f(x).block_until_ready()
        assert len(profile.slices) >= 1
        for other in (np.Profile(), profile):
            with pytest.raises(np.UserError, match="test_jit.py"), other:
                pass
    slices = profile.slices
    f(x).block_until_ready()
    assert len(profile.slices) == len(slices)
    assert {s.plan for s in slices} == {"sorted"} and all(s.begin <= s.end and s.live_bytes >= 4000 for s in slices)
    with np.Profile(tmp_path / "trace.json"):
        f(x).block_until_ready()
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    with pytest.raises(np.UserError, match="test_jit.py"), np.Profile(tmp_path / "no" / "trace.json"):
        f(x)
    with pytest.raises(ZeroDivisionError), np.Profile(tmp_path / "no" / "trace.json"):
        1 / 0
    with np.Profile() as again:  # the one before has ended all the same
        f(x).block_until_ready()
    assert again.slices


def test_the_allocator_reaches_the_planned_peak():
    f = np.jit(lambda x: np.sum(np.sin(x)[:, None] * np.cos(x)[None], axis=0))
    x = np.arange(1000.0)
    f.compile(x)
    gc.collect()
    before = np.memory.live_bytes()
    np.memory.reset_peak()
    y = f(x)
    reached = np.memory.peak_bytes()
    assert reached - before + x.nbytes == pytest.approx(f.last_plan().peak_bytes, abs=64)
    assert y.shape == (1000,)


def test_memory_is_given_back():
    gc.collect()
    before = np.memory.live_bytes()
    x = np.zeros(1 << 20)
    assert np.memory.live_bytes() - before == 4 << 20
    del x
    assert np.memory.live_bytes() == before


def test_limits():
    live = np.memory.live_bytes()
    np.memory.set_limit(live + (1 << 20))
    try:
        with pytest.raises(MemoryError):
            np.zeros(1 << 22) + 1
    finally:
        np.memory.set_limit(None)
    assert np.memory.limit() is None


def test_donation():
    f = np.jit(lambda p, g: {"w": p["w"] - g}, donate_argnums=0)
    p = {"w": np.ones(1024)}
    q = f(p, np.ones(1024))
    assert q["w"][0].item() == 0.0
    with pytest.raises(np.UserError, match="donated"):
        p["w"] + 1
    for view in (numpy.asarray, memoryview, numpy.from_dlpack, lambda x: numpy.asarray(x)[1:]):
        shared = np.full((4,), 3, np.float32)
        kept = view(shared)
        with pytest.raises(np.UserError, match="shares its memory"):
            f({"w": shared}, np.ones(4))
        assert kept[0] == 3 and np.sum(shared).item() == 12
        del kept
        assert f({"w": shared}, np.ones(4))["w"].tolist() == [2, 2, 2, 2]
    by_name = np.jit(lambda p, g: p - g, donate_argnames="p")
    x = np.ones(1024)
    by_name(x, 1.0)
    assert not x.is_concrete


def test_strategies():
    f = np.jit(lambda x: np.sum(np.sin(x) * 2), pipeline="naive")
    f(np.ones(10))
    assert "naive" in f.last_plan().strategies
    with pytest.raises(np.UserError):
        np.jit(lambda x: x).last_plan()
    with pytest.raises(np.OptionError):
        np.jit(lambda x: x + 1, strategy="no such")(np.ones(2))
    assert np.jit(lambda x: x + 1, device="cpu")(np.ones(2)).tolist() == [2.0, 2.0]


def test_threads_share_a_function():
    f = np.jit(lambda x, n: np.sum(np.sin(x) * n))
    expected = {n: float(np.sum(np.sin(np.arange(float(n))) * n)) for n in range(1, 9)}
    wrong, errors = [], []

    def work(seed):
        try:
            for i in range(50):
                n = (seed + i) % 8 + 1
                if abs(float(f(np.arange(float(n)), n)) - expected[n]) > 1e-3:
                    wrong.append(n)
                np.grad(lambda x: np.sum(x * x))(np.arange(3.0))
        except Exception as e:  # shown below
            errors.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and not wrong


def test_captured_arrays():
    scale = np.array(3.0)
    f = np.jit(lambda x: x * scale)
    assert f(np.array(2.0)).item() == 6.0


def test_objects_are_released():
    import weakref

    class Holder:
        pass

    holder = Holder()
    alive = weakref.ref(holder)
    f = np.jit(lambda x, h=holder: x + 1)
    f(np.ones(2))
    del f, holder
    gc.collect()
    assert alive() is None


def test_save_writes_an_object_file(tmp_path):
    x = np.spec((4,))
    saved = np.jit(lambda a, b: a * b + 1).save(tmp_path / "step", x, x, arguments=["a", "b"], results=["y"])
    assert (tmp_path / "step.o").is_file()
    assert "const float* a" in (tmp_path / "step.h").read_text()
    assert saved.peak_bytes >= 3 * 64 and saved.plan.num_steps == 1


def test_jax_numpy_s_name():
    import neap.numpy as jnp

    assert jnp.sin(jnp.zeros(2)).tolist() == [0.0, 0.0]
    assert jnp.linalg.qr is np.linalg.qr and jnp.float32 is np.float32
    assert np.jit(lambda *, x: x + 1)(x=1.0).item() == 2.0
