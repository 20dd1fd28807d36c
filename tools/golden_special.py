"""Golden values for include/neap/special.h, SciPy's in f64 at arguments that f32 holds: tests/golden/special.json, in the form of
golden_numpy.py. SciPy is what jax.scipy.special is tested against, and has more digits than JAX in f32. tests/jit/golden_special_test.cpp
makes the same calls, under the same names: the function, then its arguments."""

import numpy as np
import scipy.special
from golden_numpy import write_json

INFINITE = [np.inf, -np.inf, np.nan]


def grid(*axes):
    return [v.ravel() for v in np.meshgrid(*(np.array(a, np.float32) for a in axes))]


def pairs():
    """Parameters and what the incomplete functions are taken at: beside the mean and in the tails."""
    a, r = grid([1e-6, 0.03, 0.5, 1.0, 2.5, 9.5, 10.0, 40.0, 1000.0], [1e-3, 0.2, 0.6, 0.95, 1.0, 1.05, 1.6, 4.0])
    x = a * r
    near = (x - a) ** 2 < 60 * (a + x)
    small = np.array([(0.3, 1e-20), (0.01, 0.1), (0.9, 0.39), (0.9, 0.41), (0.01, 3.0), (1e6, 1000500.0), (1e6, 999000.0)], np.float32)
    edges = [(0, 0), (0, 1), (1, 0), (-1, 1), (1, -1), (np.inf, 1), (np.inf, np.inf), (1, np.inf), (np.nan, 1), (1, np.nan)]
    return np.concatenate([np.stack([a[near], x[near]], 1), small, np.array(edges, np.float32)]).T


def triples():
    a, b, x = grid([0.02, 0.5, 1.0, 3.0, 11.0, 200.0], [0.1, 0.5, 1.0, 4.0, 30.0], [1e-4, 0.1, 0.3, 0.5, 0.8, 0.97])
    near = np.abs(a / (a + b) - x) < 9 * np.sqrt(a * b / (a + b + 1)) / (a + b)
    near &= (b >= 0.5) | (x < 0.7)  # special.h says what the others lose
    edges = [(0, 1, 0.5), (1, 0, 0.5), (0, 0, 0.5), (-1, 1, 0.5), (1, -1, 0.5), (1, 1, 2), (np.inf, 1, 0.5), (1, np.inf, 0.5),
             (np.inf, np.inf, 0.5), (2, 3, 0), (2, 3, 1), (np.nan, 1, 0.5), (5000, 7000, 0.42)]  # fmt: skip
    return np.concatenate([np.stack([a[near], b[near], x[near]], 1)[::2], np.array(edges, np.float32)]).T


GAMMA = pairs()
BETA = triples()
POCH = np.array([*zip(*grid([1e-3, 0.7, 3.0, 9.5, 25.0, 1e5], [-0.5, 1e-3, 1.0, 2.5, 6.0])), (1, 0), (0, 0), (0, 1), (-1, 1), (-1, 2),
                 (-2.5, 1.5), (3, -1), (-3, -1), (-3, 2), (-3, 4), (np.nan, 1), (1, np.nan)], np.float32).T  # fmt: skip
BOTH = np.array([*zip(*grid([0.01, 0.5, 1.0, 4.0, 12.0, 300.0], [0.2, 1.0, 2.5, 8.0])), (0, 1), (-0.5, 1.75), (np.inf, 1), (1, np.inf),
                 (15.0, 20.0), (np.nan, 1)], np.float32).T  # fmt: skip
ORDERS = np.array([*zip(*grid([0, 1, 2, 3, 8, 20], [1e-3, 0.4, 0.6, 1.0, 5.0, 40.0])), (1, np.inf), (2, np.nan), (-1, 1), (2, 0), (1, 0)], np.float32).T
POLES = np.array([(1, -0.25), (2, -3.3), (3, -7.8), (1, 0), (1, -2), (1.5, 1), (1, -9.5)], np.float32).T
ZETA = np.array([*zip(*grid([1.01, 1.5, 2.0, 5.0, 30.0], [1e-2, 0.5, 1.0, 3.3, 20.0, 1e4])), (1, 1), (0.5, 1), (2, 0), (2, -1), (2, -0.25),
                 (2.5, -0.5), (2, np.inf), (np.nan, 1), (2, np.nan), (4, -20.25)], np.float32).T  # fmt: skip

INPUTS = {
    "x": np.array([0.0, -0.0, 1e-30, 1e-5, 0.1, 0.5, 1.0, 1.9, 2.5, 7.9, 8.1, 12.0, 25.0, 34.0, 60.0, -1e-5, -0.3, -1.0, -2.7, -9.5, -31.0], np.float32),
    "large": np.array([90.0, 300.0, 1e6, -90.0, -300.0, *INFINITE], np.float32),
    "g": np.array([0.0, -0.0, 1e-30, 1e-3, 0.3, 1.0, 1.5, 4.4, 9.99, 10.0, 17.3, 34.9, -1e-5, -0.4, -1.7, -3.0, -7.2, -12.6, -20.1, *INFINITE], np.float32),
    "n": np.array([0.0, 1e-3, 0.5, 1.0, 4.0, 12.0, 20.0, 33.3, -0.5, -1.0, np.nan], np.float32),
    "e": np.array([0.0, 1e-20, 1e-4, 0.3, 0.37, 0.373, 0.5, 1.0, 1.1, 3.9, 4.1, 5.9, 6.1, 11.0, 13.0, 23.0, 25.0, 60.0, -1e-3, -0.5, -2.0, -30.0, *INFINITE], np.float32),
    "s": np.array([0.0, 1e-20, 0.01, 0.49, 0.51, 0.99, 1.0, 1.01, 1.49, 1.51, 2.0, 7.0, 1e10, -1.0, np.nan], np.float32),
    "z": np.array([0.0, 1e-5, -1e-5, 1.0, 3.0, 6.5, 9.0, -0.5, -2.0, -5.9, -6.1, -9.9, -10.1, -30.0, -1000.0, *INFINITE], np.float32),
    "p": np.array([0.0, 1e-37, 1e-20, 1e-6, 0.01, 0.2, 0.26, 0.49, 0.5, 0.51, 0.8, 0.9999, 1.0, -0.1, 1.1, np.nan], np.float32),
    "a": GAMMA[0], "t": GAMMA[1], "ba": BETA[0], "bb": BETA[1], "bx": BETA[2], "pz": POCH[0], "pm": POCH[1], "u": BOTH[0], "v": BOTH[1],
    "order": ORDERS[0], "at": ORDERS[1], "porder": POLES[0], "pole": POLES[1], "zs": ZETA[0], "zq": ZETA[1],
}  # fmt: skip

CALLS = """
i0 x | i0e x | i0e large | i1 x | i1e x | i1e large
gamma g | gammasgn g | factorial n | poch pz pm | beta u v
gammainc a t | gammaincc a t | betainc ba bb bx
polygamma order at | polygamma porder pole | zeta zs zq
log_ndtr z | ndtri p
expi e | exp1 e | expn order at | spence s
"""


def calls(inputs):
    arrays = {name: np.asarray(value, np.float64) for name, value in inputs.items()}
    for call in CALLS.replace("\n", "|").split("|"):
        if words := call.split():
            with np.errstate(all="ignore"):
                yield " ".join(words), np.asarray(getattr(scipy.special, words[0])(*(arrays[w] for w in words[1:])), np.float64)


def write():
    write_json("special.json", INPUTS, calls)
