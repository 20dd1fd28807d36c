"""Golden values for include/neap/special.h, SciPy's in f64 at arguments that f32 holds: tests/golden/special.json, in the form of
golden_numpy.py. SciPy is what jax.scipy.special is tested against, and has more digits than JAX in f32. tests/jit/golden_special_test.cpp
makes the same calls, under the same names: the function, then its arguments."""

import numpy as np
import scipy.special
from golden_numpy import write_json

INFINITE = [np.inf, -np.inf, np.nan]
INPUTS = {
    "x": np.array([0.0, -0.0, 1e-30, 1e-5, 0.1, 0.5, 1.0, 1.9, 2.5, 7.9, 8.1, 12.0, 25.0, 34.0, 60.0, -1e-5, -0.3, -1.0, -2.7, -9.5, -31.0], np.float32),
    "large": np.array([90.0, 300.0, 1e6, -90.0, -300.0, *INFINITE], np.float32),
}  # fmt: skip

CALLS = """
i0 x | i0e x | i0e large | i1 x | i1e x | i1e large
"""


def calls(inputs):
    arrays = {name: np.asarray(value, np.float64) for name, value in inputs.items()}
    for call in CALLS.replace("\n", "|").split("|"):
        if words := call.split():
            with np.errstate(all="ignore"):
                yield " ".join(words), np.asarray(getattr(scipy.special, words[0])(*(arrays[w] for w in words[1:])), np.float64)


def write():
    write_json("special.json", INPUTS, calls)
