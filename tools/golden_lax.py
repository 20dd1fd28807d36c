"""Golden values for include/neap/lax.h: tests/golden/lax.json, a list of calls with their axes, arrays and answers.

Gathers, scatters and convolutions of random axes; tests/jit/golden_lax_test.cpp makes them from the file alone.
"""

import json

import numpy as np
from golden_common import GOLDEN
from golden_numpy import stored
from jax import lax

RNG = np.random.default_rng(31)
MODES = {"clip": "clip", "fill": "fill", "promise_in_bounds": "promise_in_bounds"}


def some(axes, count):
    return sorted(RNG.choice(axes, size=count, replace=False).tolist()) if count else []


def window_site(least):
    """Axes that gather and scatter share: shapes, sizes of windows, what is dropped, mapped, batched."""
    rank = int(RNG.integers(1, 5))
    shape = RNG.integers(1, 4, rank).tolist()
    batch = RNG.integers(1, 4, RNG.integers(0, 3)).tolist()
    operand_batch, index_batch = [], []
    if rank > 1 and batch and RNG.random() < 0.4:
        operand_batch, index_batch = some(range(rank), 1), [int(RNG.integers(len(batch)))]
        shape[operand_batch[0]] = batch[index_batch[0]]
    free = [a for a in range(rank) if a not in operand_batch]
    # Of updates whose index has no component XLA's CPU backend applies one alone.
    fewest = min(least, len(free))
    mapped = RNG.permutation(some(free, RNG.integers(fewest, len(free) + 1))).tolist()
    dropped = some(free, RNG.integers(0, len(free) + 1))
    sizes = [1 if a in dropped + operand_batch else int(RNG.integers(1, shape[a] + 1)) for a in range(rank)]
    index = RNG.integers(-2, 6, [*batch, len(mapped)]).astype(np.int32)
    return shape, batch, index, mapped, dropped, sizes, operand_batch, index_batch


def gather_call(mode):
    shape, batch, index, mapped, dropped, sizes, operand_batch, index_batch = window_site(0)
    if mode == "promise_in_bounds":
        index = np.stack([np.clip(index[..., j], 0, shape[a] - sizes[a]) for j, a in enumerate(mapped)], -1) if mapped else index  # fmt: skip
    window = [n for a, n in enumerate(sizes) if a not in dropped + operand_batch]
    offset = some(range(len(batch) + len(window)), len(window))
    x = RNG.integers(-9, 10, shape).astype(np.float32)
    dims = lax.GatherDimensionNumbers(tuple(offset), tuple(dropped), tuple(mapped), tuple(operand_batch), tuple(index_batch))  # fmt: skip
    answer = lax.gather(x, index, dims, tuple(sizes), mode=mode)
    return {"op": "gather", "mode": mode, "offset": offset, "dropped": dropped, "map": mapped, "sizes": sizes, "operand_batch": operand_batch, "index_batch": index_batch, "x": stored(x), "index": stored(index), "answer": stored(answer)}  # fmt: skip


def scatter_call(op, mode):
    shape, batch, index, mapped, dropped, sizes, operand_batch, index_batch = window_site(1)
    if mode == "promise_in_bounds":
        index = np.stack([np.clip(index[..., j], 0, shape[a] - sizes[a]) for j, a in enumerate(mapped)], -1) if mapped else index  # fmt: skip
    window = [n for a, n in enumerate(sizes) if a not in dropped + operand_batch]
    at = some(range(len(batch) + len(window)), len(window))
    left, inside = list(batch), list(window)
    of_updates = [(inside if a in at else left).pop(0) for a in range(len(batch) + len(window))]
    x = RNG.integers(-4, 5, shape).astype(np.float32)
    updates = RNG.integers(-4, 5, of_updates).astype(np.float32)
    if op == "scatter":  # which of several windows is last is nobody's promise: equal ones
        updates = np.full_like(updates, 9)
    dims = lax.ScatterDimensionNumbers(tuple(at), tuple(dropped), tuple(mapped), tuple(operand_batch), tuple(index_batch))  # fmt: skip
    answer = getattr(lax, op)(x, index, updates, dims, mode=mode)
    return {"op": op, "mode": mode, "offset": at, "dropped": dropped, "map": mapped, "operand_batch": operand_batch, "index_batch": index_batch, "x": stored(x), "index": stored(index), "updates": stored(updates), "answer": stored(answer)}  # fmt: skip


def convolution_call(spatial, groups, batch_groups):
    def turned():
        return RNG.permutation(spatial + 2).tolist()

    lhs, rhs, out = turned(), turned(), turned()
    features, per_group = 2 * groups, 2
    x_shape, w_shape = [0] * (spatial + 2), [0] * (spatial + 2)
    window = RNG.integers(1, 3, spatial).tolist()
    for axis, n in zip(lhs, [2 * batch_groups, features, *RNG.integers(2, 4, spatial).tolist()], strict=True):
        x_shape[axis] = n
    for axis, n in zip(rhs, [per_group * groups * batch_groups, features // groups, *window], strict=True):
        w_shape[axis] = n
    stride, dilation, inner = (RNG.integers(1, 3, spatial).tolist() for _ in range(3))
    padding = [(int(a), int(b)) for a, b in RNG.integers(0, 3, (spatial, 2))]
    x, w = RNG.integers(-9, 10, x_shape).astype(np.float32), RNG.integers(-9, 10, w_shape).astype(np.float32)
    answer = lax.conv_general_dilated(
        x, w, stride, padding, inner, dilation, lax.ConvDimensionNumbers(tuple(lhs), tuple(rhs), tuple(out)),
        groups, batch_groups, precision="highest")  # fmt: skip
    return {"op": "conv_general_dilated", "lhs": lhs, "rhs": rhs, "out": out, "stride": stride, "dilation": dilation, "inner": inner, "padding": padding, "groups": groups, "batch_groups": batch_groups, "x": stored(x), "w": stored(w), "answer": stored(answer)}  # fmt: skip


def write():
    calls = []
    for _ in range(12):
        calls += [gather_call(mode) for mode in MODES]
    for op in ("scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"):
        for _ in range(5):
            calls += [scatter_call(op, mode) for mode in MODES]
    for spatial in range(5):
        calls += [convolution_call(spatial, *groups) for groups in ((1, 1), (2, 1), (1, 2))]
    lines = ",\n".join(json.dumps(call, separators=(",", ":")) for call in calls)
    (GOLDEN / "lax.json").write_text(f"[\n{lines}\n]\n")
    print(len(calls), "calls")
