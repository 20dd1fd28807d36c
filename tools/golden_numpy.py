"""Golden values for include/neap/numpy.h: one file, tests/golden/numpy.json:

    {"inputs": {name: array}, "calls": {call: [array, ...]}}        array: {"dtype", "shape", "values"}

Numbers that JSON does not have are strings. tests/jit/golden_numpy_test.cpp makes the same calls, under the same names.
Functions of jax.numpy unless the name begins with nn, lax or special.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np
from golden_common import GOLDEN, name_of
from jax import lax, nn
from jax.scipy import special

INPUTS = {
    "x": np.array([0.0, -0.0, 0.3, -0.7, 1.0, -1.0, 2.5, -3.5, 0.001, 12.0, -20.0, 88.0, np.inf, -np.inf, np.nan], np.float32),
    "y": np.array([1.0, 2.0, -0.5, 0.25, 0.0, 3.0, -2.5, -3.5, 7.0, 0.5, 20.0, 1.0, np.inf, 1.0, 2.0], np.float32),
    "p": np.array([0.0, 0.125, 0.3, 0.5, 0.77, 0.999, 1.0], np.float32),
    "q": np.array([0.2, 0.0, 0.9, 0.5, 0.1, 1.0, 0.4], np.float32),
    "row": np.array([0.7, -1.2, 3.1, 0.05, 2.2], np.float32),
    "other": np.array([1.5, 0.3, -0.4, 2.0, -1.1], np.float32),
    "matrix": np.random.default_rng(1).standard_normal((4, 5)).astype(np.float32),
    "square": np.random.default_rng(2).standard_normal((4, 4)).astype(np.float32),
    "cube": np.random.default_rng(3).standard_normal((3, 4, 5)).astype(np.float32),
    "holes": np.array([[1, np.nan, 3], [4, 5, 6], [np.nan, np.nan, np.nan]], np.float32),
    "weights": np.array([0.5, 2.0, 1.0, 0.25, 3.0], np.float32),
    "ints": np.array([3, -1, 3, 7, 0, 2, 2, 9], np.int32),
    "bytes": np.array([[100, -100, 7], [127, 1, -3]], np.int8),
    "mask": np.array([[True, False, True], [False, False, True]]),
    "sorted": np.array([-2.0, 0.0, 0.0, 1.5, 1.5, 1.5, 4.0], np.float32),
    "wanted": np.array([-3.0, -2.0, 0.0, 1.0, 1.5, 4.0, 9.0, np.nan], np.float32),
    "long": np.random.default_rng(4).standard_normal(75).astype(np.float32),
    "signal": np.random.default_rng(5).standard_normal((2, 4, 9)).astype(np.float32),
    "taps": np.random.default_rng(6).standard_normal((6, 4, 3)).astype(np.float32),
    "grouped": np.random.default_rng(7).standard_normal((6, 2, 3)).astype(np.float32),
    "image": np.random.default_rng(8).standard_normal((2, 3, 7, 6)).astype(np.float32),
    "kernel": np.random.default_rng(9).standard_normal((4, 3, 3, 2)).astype(np.float32),
    "volume": np.random.default_rng(10).standard_normal((1, 2, 3, 4, 3)).astype(np.float32),
    "kernel3": np.random.default_rng(11).standard_normal((2, 2, 2, 2, 2)).astype(np.float32),
}  # fmt: skip


def conv(x, w, stride=None, padding="VALID", dilation=None, inner=None, groups=1):
    n = x.ndim - 2
    return lax.conv_general_dilated(x, w, stride or [1] * n, padding, inner, dilation, feature_group_count=groups,
                                    precision="highest")  # fmt: skip


def pool(x, join, start, window, stride, padding="VALID"):
    lead = (1,) * (x.ndim - len(window))
    if not isinstance(padding, str):
        padding = [(0, 0)] * len(lead) + padding
    return lax.reduce_window(x, start, join, lead + window, lead + stride, padding)


def calls(i):
    """Each call: its name, and what it answers."""
    x, y, p, q, row, other = i["x"], i["y"], i["p"], i["q"], i["row"], i["other"]
    matrix, square, cube, holes = i["matrix"], i["square"], i["cube"], i["holes"]
    yield "round 2", jnp.round(x, 2)
    yield "round -1", jnp.round(x, -1)
    for name in "sinc deg2rad rad2deg isposinf isneginf nan_to_num".split():
        yield name, getattr(jnp, name)(x)
    yield "nan_to_num values", jnp.nan_to_num(x, nan=7.0, posinf=8.0, neginf=-9.0)
    for name in "fmod float_power divmod fmax fmin heaviside logaddexp2 logical_xor isclose".split():
        yield name, getattr(jnp, name)(x, y)
    yield "isclose wide", jnp.isclose(x, y, rtol=0.5, atol=1.0, equal_nan=True)
    yield "allclose", jnp.allclose(row, row + 1e-7)
    yield "array_equal", jnp.array_equal(row, other)
    yield "modf", jnp.modf(x)
    yield "ldexp", jnp.ldexp(row, i["ints"][:5])
    yield "special.logit", special.logit(p)
    for name in "xlogy xlog1py rel_entr kl_div".split():
        yield "special." + name, getattr(special, name)(p, q)
    yield "special.entr", special.entr(x[:12])
    yield "special.ndtr", special.ndtr(x)
    for name in "leaky_relu elu celu selu relu6 hard_tanh hard_sigmoid hard_silu log_sigmoid soft_sign squareplus mish".split():
        yield "nn." + name, getattr(nn, name)(x[:12])
    yield "nn.leaky_relu 0.3", nn.leaky_relu(row, 0.3)
    yield "nn.elu 0.5", nn.elu(row, 0.5)
    yield "nn.gelu_tanh", nn.gelu(x[:12], approximate=True)
    yield "nn.glu", nn.glu(square)
    yield "nn.glu 0", nn.glu(square, 0)
    yield "nn.standardize", nn.standardize(matrix)
    yield "nn.standardize all", nn.standardize(cube, axis=(0, 2))

    yield "full_like", jnp.full_like(matrix, 3, dtype=jnp.int32)
    yield "tri", jnp.tri(3, 5, 1)
    yield "logspace", jnp.logspace(0.0, 2.0, 5)
    yield "geomspace", jnp.geomspace(2.0, 162.0, 5)
    yield "vander", jnp.vander(row, 4)
    yield "vander increasing", jnp.vander(row, 3, increasing=True)
    yield "meshgrid", jnp.meshgrid(row, other[:3])
    yield "meshgrid matrix", jnp.meshgrid(row, other[:3], p, indexing="ij")
    yield "indices", jnp.indices((2, 3))

    yield "roll", jnp.roll(matrix, 3)
    yield "roll axis", jnp.roll(matrix, -2, 1)
    for times in range(4):
        yield f"rot90 {times}", jnp.rot90(matrix, times)
    yield "rot90 axes", jnp.rot90(cube, 1, (2, 0))
    yield "fliplr", jnp.fliplr(cube)
    yield "flipud", jnp.flipud(cube)
    for name in "atleast_1d atleast_2d atleast_3d".split():
        yield name, [getattr(jnp, name)(v) for v in (jnp.float32(2), row, matrix, cube)]
    yield "hstack", [jnp.hstack([row, other]), jnp.hstack([matrix, matrix])]
    yield "vstack", jnp.vstack([row, matrix])
    yield "dstack", [jnp.dstack([row, other]), jnp.dstack([matrix, matrix])]
    yield "column_stack", jnp.column_stack([row, matrix.T, other])
    yield "append", [jnp.append(row, matrix), jnp.append(matrix, matrix, axis=1)]
    yield "broadcast_arrays", jnp.broadcast_arrays(row, matrix[:, :1])
    yield "array_split", jnp.array_split(i["long"][:11], 4)
    yield "split_at", jnp.split(cube, [1, 3], axis=1)
    yield "repeat", jnp.repeat(matrix, 2)
    yield "repeat axis", jnp.repeat(matrix, 3, axis=0)
    yield "repeat counts", jnp.repeat(matrix, jnp.array([2, 0, 1, 3]), axis=0, total_repeat_length=6)
    yield "repeat counts short", jnp.repeat(matrix, jnp.array([2, 0, 1, 3]), axis=0, total_repeat_length=4)
    yield "repeat counts long", jnp.repeat(row, jnp.array([2, 0, 1, 3, 1]), total_repeat_length=9)
    for mode in "edge reflect symmetric wrap".split():
        yield f"pad {mode}", jnp.pad(matrix, ((2, 3), (4, 7)), mode=mode)
    for k in (-1, 0, 2):
        yield f"tril {k}", jnp.tril(cube, k)
        yield f"triu {k}", jnp.triu(cube, k)
        yield f"diagonal {k}", jnp.diagonal(cube, k, 2, 0)
        yield f"diag {k}", [jnp.diag(row, k), jnp.diag(matrix, k)]
    yield "diff", [jnp.diff(row), jnp.diff(cube, 2, 1), jnp.diff(i["mask"])]
    yield "gradient", [jnp.gradient(row, 0.5), jnp.gradient(cube, axis=1)]

    for axis in (None, 0, 1):
        for name in "nansum nanprod nanmax nanmin nanmean nanvar nanstd".split():
            yield f"{name} {axis}", getattr(jnp, name)(holes, axis=axis)
        for name in "ptp count_nonzero median".split():
            yield f"{name} {axis}", getattr(jnp, name)(matrix, axis=axis)
        for name in "cumsum cumprod".split():
            yield f"{name} {axis}", getattr(jnp, name)(matrix, axis=axis)
    yield "average", [jnp.average(matrix), jnp.average(matrix, 1, i["weights"]), jnp.average(row, None, i["weights"])]
    yield "quantile", jnp.quantile(matrix, jnp.array([0.0, 0.21, 0.5, 1.0]), axis=0)
    yield "quantile all", jnp.quantile(cube, 0.3)
    yield "quantile keepdims", jnp.quantile(cube, jnp.array([0.1, 0.9]), axis=2, keepdims=True)
    yield "quantile nan", jnp.quantile(holes, 0.5, axis=1)
    yield "percentile", jnp.percentile(matrix, 35.0, axis=1)
    yield "cov", [jnp.cov(matrix), jnp.cov(row)]
    yield "corrcoef", jnp.corrcoef(matrix)
    yield "trapezoid", [jnp.trapezoid(matrix), jnp.trapezoid(matrix, dx=0.3, axis=0)]
    yield "cumsum long", jnp.cumsum(i["long"])
    yield "cumsum ints", [jnp.cumsum(i["bytes"].astype(np.int32), axis=1), jnp.cumsum(i["mask"], axis=0)]
    yield "cumprod long", jnp.cumprod(jnp.abs(i["long"]) + 0.5)
    for reverse in (False, True):
        suffix = " reverse" if reverse else ""
        yield "lax.cumsum" + suffix, lax.cumsum(cube, 1, reverse)
        yield "lax.cummax" + suffix, lax.cummax(i["long"], 0, reverse)
        yield "lax.cummin" + suffix, lax.cummin(cube, 2, reverse)
        yield "lax.cummax ints" + suffix, lax.cummax(i["bytes"], 1, reverse)
        yield "lax.cummin ints" + suffix, lax.cummin(i["bytes"], 1, reverse)
        yield "lax.cumlogsumexp" + suffix, lax.cumlogsumexp(i["long"], 0, reverse)

    for side in ("left", "right"):
        yield f"searchsorted {side}", jnp.searchsorted(i["sorted"], i["wanted"], side=side)
        yield f"digitize {side}", [jnp.digitize(i["wanted"][:7], i["sorted"], right=side == "right"),
                                   jnp.digitize(i["wanted"][:7], i["sorted"][::-1], right=side == "right")]  # fmt: skip
    yield "bincount", [jnp.bincount(i["ints"], length=6), jnp.bincount(i["ints"][:5], i["weights"], length=10)]
    yield "histogram", jnp.histogram(matrix, 5, (-1.5, 2.0))
    yield "unique", [jnp.unique(i["ints"], size=8), jnp.unique(i["ints"], size=3),
                     jnp.unique(i["ints"], size=8, fill_value=-5), jnp.unique(holes, size=7)]  # fmt: skip
    yield "nonzero", [*jnp.nonzero(i["mask"], size=4), *jnp.nonzero(i["mask"], size=2), *jnp.nonzero(i["ints"], size=9, fill_value=42)]
    yield "lax.top_k", [*lax.top_k(matrix, 3), *lax.top_k(i["ints"], 8)]
    yield "interp", jnp.interp(i["wanted"][:7], jnp.array([-2.0, 0.0, 1.0, 1.5, 4.0]), row)

    for formula, arrays in (("ij->ji", [matrix]), ("ii", [square]), ("ii->i", [square]), ("ij,jk->ik", [square, matrix]),
                            ("ij,kj", [matrix, matrix]), ("i,j->ij", [row, other]), ("ij->", [matrix]),
                            ("...ij,...jk->...ik", [cube, matrix.T]), ("...i->...", [cube]), ("i...->...i", [cube]),
                            ("bij,bij->b", [cube, cube]), ("bij,j,bi->bj", [cube, row, cube[:, :, 0]]),
                            ("ij,jk,kl->il", [matrix.T, square, matrix]), ("ijk,ijk", [cube, cube[:, :1]]),
                            ("ij,ij->ij", [matrix, matrix]), ("...,...", [matrix, row])):  # fmt: skip
        yield "einsum " + formula, jnp.einsum(formula, *arrays, precision="highest")
    yield "tensordot", [jnp.tensordot(cube, cube[:, :, 0].T,([1, 0], [0, 1])), jnp.tensordot(matrix, matrix.T, 1),
                        jnp.tensordot(matrix, matrix, 2)]  # fmt: skip
    yield "inner", jnp.inner(cube, matrix)
    yield "vdot", jnp.vdot(matrix, matrix)
    yield "kron", [jnp.kron(square[:2], matrix[:, :3]), jnp.kron(row, square)]
    yield "cross", [jnp.cross(cube[:, :, :3], cube[:, :, 2:]), jnp.cross(cube, cube[::-1], axis=0)]
    yield "polyval", jnp.polyval(row, p)
    for mode in "full same valid".split():
        yield f"convolve {mode}", [jnp.convolve(i["long"][:9], row, mode, precision="highest"),
                                   jnp.convolve(row[:3], i["long"][:6], mode, precision="highest")]  # fmt: skip
        yield f"correlate {mode}", jnp.correlate(i["long"][:9], row[:4], mode, precision="highest")

    yield "conv 1", [conv(i["signal"], i["taps"]), conv(i["signal"], i["taps"], [2], "SAME"),
                     conv(i["signal"], i["grouped"], [1], [(2, 1)], [2], groups=2),
                     conv(i["signal"], i["taps"], [3], [(1, 2)], [1], [2])]  # fmt: skip
    yield "conv 2", [conv(i["image"], i["kernel"]), conv(i["image"], i["kernel"], [2, 1], "SAME", [1, 2]),
                     conv(i["image"], i["kernel"], [1, 2], [(-1, 2), (0, 1)])]  # fmt: skip
    yield "conv 3", [conv(i["volume"], i["kernel3"]), conv(i["volume"], i["kernel3"], [1, 2, 1], "SAME")]
    yield "max_pool", [pool(i["image"], lax.max, -jnp.inf, (2, 3), (2, 1)), pool(i["image"], lax.max, -jnp.inf, (3, 3), (2, 2), "SAME")]
    yield "min_pool", pool(i["image"], lax.min, jnp.inf, (2, 2), (1, 2), [(1, 0), (0, 1)])
    yield "avg_pool", pool(i["signal"], lax.add, 0.0, (3,), (2,)) / 3


def stored(value):
    value = np.asarray(value)
    parts = np.stack([value.real, value.imag], -1) if value.dtype.kind == "c" else value
    # The shortest decimals that are these numbers of their dtype.
    short = parts.dtype == np.float32 and np.vectorize(lambda v: float(str(v)), otypes=[np.float64])
    flat = (short(parts) if short and parts.size else parts.astype(np.float64 if parts.dtype.kind == "f" else parts.dtype)).ravel().tolist()
    numbers = [v if not isinstance(v, float) or np.isfinite(v) else str(v) for v in flat]
    return {"dtype": name_of(value.dtype), "shape": list(value.shape), "values": numbers}


def write_json(file, inputs, calls, separators=None):
    arrays = {name: jnp.asarray(value) for name, value in inputs.items()}
    answers = {}
    for name, answer in calls(arrays):
        answers[name] = [stored(a) for a in (answer if isinstance(answer, (list, tuple)) else [answer])]
    sections = []
    for section, entries in (("inputs", {n: stored(v) for n, v in inputs.items()}), ("calls", answers)):
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry, separators=separators)}" for name, entry in entries.items())
        sections.append(f'"{section}": {{\n{lines}\n}}')
    (GOLDEN / file).write_text("{\n" + ",\n".join(sections) + "\n}\n")
    print(len(answers), "calls,", sum(len(a) for a in answers.values()), "arrays")


def write():
    write_json("numpy.json", INPUTS, calls)
