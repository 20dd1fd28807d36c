"""Golden values for include/neap/{reduce,nn,image,signal}.h and the later functions of numpy.h: tests/golden/more.json, as
golden_numpy.py describes it. tests/jit/golden_more_test.cpp makes the same calls, under the same names."""

import jax
import jax.numpy as jnp
import numpy as np
from golden_numpy import write_json
from jax import lax

R = np.random.default_rng(21)


def normal(*shape):
    return R.standard_normal(shape).astype(np.float32)


INPUTS = {
    "data": normal(7, 3),
    "row": normal(7),
    "ints": np.array([5, -3, 0, 2, 7, 1, 4], np.int32),
    "bytes": np.array([100, -100, 7, 127, 1, -3, 2], np.int8),
    "ids": np.array([2, 0, 2, -1, 5, 0, 4], np.int32),
    "pairs": np.array([[0, 1], [3, 1], [-1, 0]], np.int32),
}  # fmt: skip


def segments(i):
    for name in "segment_sum segment_prod segment_max segment_min".split():
        f = getattr(jax.ops, name)
        yield name, [f(i["data"], i["ids"], 5), f(i["row"], i["ids"], 6), f(i["ints"], i["ids"], 4),
                     f(i["bytes"], i["ids"], 200), f(i["data"][:6], i["pairs"].ravel(), 4)]  # fmt: skip


def calls(i):
    yield from segments(i)


def write():
    write_json("more.json", INPUTS, calls)


if __name__ == "__main__":
    write()
