"""Golden files of jax.random. A manifest entry:

    {"function", "seed", "batch", "params", "compare", "shape", "dtype", "file"}

The key is key(seed), seed a signed 64-bit integer. With "batch": [b...] the call is vmapped over
split(key(seed), batch) and the shape starts with the batch. "shape" is the shape of the stored result: of a key (split,
fold_in), both words last. params hold what the function takes besides key, shape and dtype. compare: "exact"
(every bit) or "close" (about 2e-5 relative: JAX's f32 erf_inv, and so its normals, are off by up to 64 ulp).
"""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from golden_common import DTYPES, Folder

SHAPES = {"f": [(), (7,), (3, 5), (0, 4), (2, 3, 129)], "small": [(5,), (2, 3)]}
WIDE = {"i64", "u64", "f64"}


def key_of(seed):
    """What jax.random.key(seed) is when 64-bit types are on, whether or not they are."""
    words = np.array([seed], np.int64).view(np.uint32)[::-1]
    return jr.wrap_key_data(jnp.asarray(words))


def data_of(keys):
    return jr.key_data(keys)


class Writer(Folder):
    def call(self, function, seed, run, *, dtype, compare="exact", batch=(), loops=False, **params):
        """Runs `run(key)`, over a batch of keys where there is one, operation by operation (unless it loops): a fused
        kernel may contract a * b + c into one rounding, which is a property of XLA's compiler, not of the definition."""
        with jax.enable_x64(dtype in WIDE), jax.disable_jit(not loops):
            key = key_of(seed)
            if batch:
                keys = jr.split(key, batch)
                rows = [run(keys[index]) for index in np.ndindex(*batch)]
                value = np.stack([np.asarray(row) for row in rows]).reshape(*batch, *rows[0].shape)
            else:
                value = np.asarray(run(key))
        assert value.dtype == DTYPES[dtype], (function, value.dtype)
        entry = {"function": function, "seed": seed, "batch": list(batch), "params": params, "compare": compare}
        self.calls.append(entry | self.array(f"{function}_{len(self.calls):03d}", value))


def write_bits(out):
    for dtype in ("u8", "u16", "u32", "u64"):
        for seed, shape in zip((0, 42, -1, 2**40 + 3), ((), (7,), (3, 5), (2, 129))):
            out.call("bits", seed, lambda k: jr.bits(k, shape, DTYPES[dtype]), dtype=dtype)
        out.call("bits", 5, lambda k: jr.bits(k, (0, 4), DTYPES[dtype]), dtype=dtype)
        out.call("bits", 9, lambda k: jr.bits(k, (3,), DTYPES[dtype]), dtype=dtype, batch=(2, 4))


def write_keys(out):
    for seed, shape in ((0, (2,)), (42, (5,)), (-1, (2, 3)), (2**40 + 3, (1,)), (7, (0,))):
        out.call("split", seed, lambda k: data_of(jr.split(k, shape)), dtype="u32", shape_of_keys=list(shape))
    out.call("split", 3, lambda k: data_of(jr.split(k, 2)), dtype="u32", batch=(4,), shape_of_keys=[2])
    for seed, data in ((0, 0), (0, 1), (42, 7), (-1, 2**32 - 1), (2**40 + 3, 123456789)):
        out.call("fold_in", seed, lambda k: data_of(jr.fold_in(k, np.uint32(data))), dtype="u32", data=data)


def write_uniform(out):
    for dtype in ("f32", "f64"):
        for seed, shape in zip((0, 42, -1, 5, 11), SHAPES["f"]):
            run = lambda k: jr.uniform(k, shape, DTYPES[dtype])
            out.call("uniform", seed, run, dtype=dtype, minval=0.0, maxval=1.0)
        for low, high in ((-1.0, 1.0), (2.5, 2.75), (-1e3, 1e-3), ([0.0, 10.0, -5.0], [1.0, 20.0, -4.5])):
            bounds = [np.asarray(bound, DTYPES[dtype]) for bound in (low, high)]
            run = lambda k: jr.uniform(k, (33, 3), DTYPES[dtype], bounds[0], bounds[1])
            out.call("uniform", 13, run, dtype=dtype, minval=low, maxval=high)
        run = lambda k: jr.uniform(k, (5,), DTYPES[dtype])
        out.call("uniform", 9, run, dtype=dtype, batch=(3,), minval=0.0, maxval=1.0)
    for dtype in ("bf16", "f16"):  # drawn from 8 and 16 bits: what Neap calls exact_jax
        run = lambda k: jr.uniform(k, (3, 43), DTYPES[dtype])
        out.call("uniform", 17, run, dtype=dtype, minval=0.0, maxval=1.0, exact_jax=True)


def write_randint(out):
    spans = {
        "i32": [(0, 10), (-7, 8), (0, 2**31 - 1), (-(2**31), 2**31 - 1), (5, 5), (9, 2), (0, 65537), (0, 3**19)],
        "i64": [(0, 10), (-7, 8), (0, 2**63 - 1), (-(2**63), 2**63 - 1), (0, 2**33 + 1), (0, 3**39)],
        "i16": [(0, 10), (0, 128), (-(2**15), 2**15 - 1), (-300, 301)],
        "u8": [(0, 10), (0, 255), (100, 200), (250, 3)],
        "i8": [(-128, 127), (0, 3)],
        "u16": [(0, 65535), (1, 1000)],
        "u32": [(0, 2**32 - 1), (7, 3_000_000_000)],
        "u64": [(0, 2**64 - 1), (0, 10)],
    }
    for dtype, pairs in spans.items():
        for seed, (low, high) in enumerate(pairs):
            bounds = [np.array(bound, DTYPES[dtype]) for bound in (low, high)]
            run = lambda k: jr.randint(k, (3, 17), bounds[0], bounds[1], DTYPES[dtype])
            out.call("randint", 100 + seed, run, dtype=dtype, minval=low, maxval=high)
    for dtype, low, high in (("u8", 0, 256), ("i16", -(2**15), 2**15)):  # one past the largest value: the whole range
        run = lambda k: jr.randint(k, (31,), low, high, DTYPES[dtype])
        out.call("randint", 23, run, dtype=dtype, minval=low, maxval=high)
    lows, highs = np.array([0, -5, 100], np.int32), np.array([2, 5, 1000], np.int32)
    run = lambda k: jr.randint(k, (11, 3), lows, highs, jnp.int32)
    out.call("randint", 29, run, dtype="i32", minval=lows.tolist(), maxval=highs.tolist())
    run = lambda k: jr.randint(k, (6,), 0, 1000, jnp.int32)
    out.call("randint", 31, run, dtype="i32", batch=(2, 2), minval=0, maxval=1000)
    for shape in ((), (0,)):
        run = lambda k: jr.randint(k, shape, 0, 1000, jnp.int32)
        out.call("randint", 37, run, dtype="i32", minval=0, maxval=1000)


def write_continuous(out):
    plain = {
        "normal": jr.normal, "exponential": jr.exponential, "laplace": jr.laplace, "logistic": jr.logistic,
        "cauchy": jr.cauchy, "gumbel": lambda k, s, d: jr.gumbel(k, s, d, mode="low"),
    }  # fmt: skip
    for function, draw in plain.items():
        for dtype in ("f32", "f64"):
            for seed, shape in zip((0, 42, -1, 5, 11), SHAPES["f"] if function == "normal" else SHAPES["small"]):
                out.call(function, seed, lambda k: draw(k, shape, DTYPES[dtype]), dtype=dtype, compare="close")
        out.call(function, 9, lambda k: draw(k, (5,), jnp.float32), dtype="f32", compare="close", batch=(3,))
    for dtype in ("bf16", "f16"):
        run = lambda k: jr.normal(k, (3, 43), DTYPES[dtype])
        out.call("normal", 17, run, dtype=dtype, compare="close", exact_jax=True)
    for dtype in ("f32", "f64"):
        for low, high in ((-2.0, 2.0), (0.5, 3.0), (-1.0, 0.25)):
            bounds = [np.asarray(bound, DTYPES[dtype]) for bound in (low, high)]
            run = lambda k: jr.truncated_normal(k, bounds[0], bounds[1], (4, 9), DTYPES[dtype])
            out.call("truncated_normal", 41, run, dtype=dtype, compare="close", lower=low, upper=high)


def write_discrete(out):
    for p, shape in ((0.5, (3, 5)), (0.1, (129,)), (0.0, (7,)), (1.0, (7,)), (0.9, ())):
        run = lambda k: jr.bernoulli(k, np.float32(p), shape)
        out.call("bernoulli", 43, run, dtype="bool", p=p)
    ps = np.array([0.1, 0.5, 0.9], np.float32)
    out.call("bernoulli", 47, lambda k: jr.bernoulli(k, ps, (20, 3)), dtype="bool", p=[0.1, 0.5, 0.9])
    out.call("bernoulli", 9, lambda k: jr.bernoulli(k, np.float32(0.5), (5,)), dtype="bool", batch=(3,), p=0.5)
    for shape in ((), (3, 43)):
        out.call("rademacher", 53, lambda k: jr.rademacher(k, shape, jnp.int32), dtype="i32")
    out.call("rademacher", 53, lambda k: jr.rademacher(k, (9,), jnp.float32), dtype="f32")
    logits = [[0.0, 1.0, 2.0, -1.0], [5.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    array = np.array(logits, np.float32)
    run = lambda k: jr.categorical(k, array, mode="low").astype(jnp.int32)
    out.call("categorical", 59, run, dtype="i32", logits=logits, axis=-1)
    run = lambda k: jr.categorical(k, array, axis=0, mode="low").astype(jnp.int32)
    out.call("categorical", 61, run, dtype="i32", logits=logits, axis=0)
    run = lambda k: jr.categorical(k, array[0], shape=(40,), mode="low").astype(jnp.int32)
    out.call("categorical", 67, run, dtype="i32", logits=logits[0], axis=-1)
    for n in (1, 2, 17, 300):
        run = lambda k: jr.permutation(k, n).astype(jnp.int32)
        out.call("permutation", 71, run, dtype="i32", n=n)
    rows = np.arange(15, dtype=np.float32).reshape(5, 3)
    for axis in (0, 1):
        run = lambda k: jr.permutation(k, rows, axis=axis)
        out.call("permutation", 73, run, dtype="f32", iota=[5, 3], axis=axis)
    run = lambda k: jr.permutation(k, rows, axis=0, independent=True)
    out.call("permutation", 79, run, dtype="f32", iota=[5, 3], axis=0, independent=True)
    out.call("permutation", 9, lambda k: jr.permutation(k, 9).astype(jnp.int32), dtype="i32", batch=(3,), n=9)
    weights = np.array([0.1, 0.5, 0.0, 0.3, 0.1], np.float32)
    for replace in (True, False):
        run = lambda k: jr.choice(k, 5, (2, 2), replace).astype(jnp.int32)
        out.call("choice", 83, run, dtype="i32", n=5, replace=replace)
        run = lambda k: jr.choice(k, 5, (4,), replace, weights, mode="low").astype(jnp.int32)
        out.call("choice", 89, run, dtype="i32", n=5, replace=replace, p=weights.tolist())
        run = lambda k: jr.choice(k, rows, (2,), replace, axis=1)
        out.call("choice", 97, run, dtype="f32", iota=[5, 3], replace=replace, axis=1)


def write_rejection(out):
    """What is drawn until it is accepted."""
    alphas = [0.05, 0.5, 0.9, 1.0, 2.5, 30.0]
    for dtype in ("f32", "f64"):
        t = DTYPES[dtype]
        a, b = np.array(alphas, t), np.array(alphas[::-1], t)
        near = {"dtype": dtype, "compare": "close", "loops": True, "a": alphas}
        out.call("gamma", 101, lambda k: jr.gamma(k, a, (3, 6), t), **near)
        out.call("loggamma", 103, lambda k: jr.loggamma(k, a, (3, 6), t), **near)
        out.call("beta", 105, lambda k: jr.beta(k, a[1:], b[1:], (3, 5), t), **(near | {"a": alphas[1:]}), b=alphas[-2::-1])
        out.call("dirichlet", 107, lambda k: jr.dirichlet(k, a, (4,), t), **near)
        out.call("student_t", 109, lambda k: jr.t(k, a[1:], (3, 5), t), **(near | {"a": alphas[1:]}))
        out.call("chi_squared", 111, lambda k: jr.chisquare(k, a, (3, 6), t), **near)
        counts, chances = [0.0, 5.0, 40.0, 1000.0], [0.5, 0.1, 0.7, 0.3]
        n, p = np.array(counts, t), np.array(chances, t)
        run = lambda k: jr.binomial(k, n, p, (6, 4), t)
        out.call("binomial", 113, run, dtype=dtype, loops=True, count=counts, p=chances)
    means = [0.0, 0.5, 3.0, 9.9, 10.0, 250.0]
    mean = np.array(means, np.float32)
    out.call("poisson", 117, lambda k: jr.poisson(k, mean, (5, 6), jnp.int32), dtype="i32", loops=True, a=means)


def write():
    out = Writer("random")
    for part in (write_bits, write_keys, write_uniform, write_randint, write_continuous, write_discrete, write_rejection):
        part(out)
    out.save()
