"""Golden values for include/neap/linalg.h, in f64 and in the form of golden_numpy.py: tests/golden/linalg.json.

tests/jit/golden_linalg_test.cpp makes the same calls, under the same names. Functions of jax.numpy.linalg unless the
name begins with scipy, lax or random. Only results that are unique: no eigenvectors, no singular vectors.
"""

import jax
import jax.numpy as jnp
import numpy as np
from golden_numpy import write_json
from jax import lax, random
from jax.numpy import linalg
from jax.scipy import linalg as scipy

RNG = np.random.default_rng(17)
FACTOR = RNG.standard_normal((2, 6, 6))
INPUTS = {
    "square": RNG.standard_normal((6, 6)),
    "batch": RNG.standard_normal((2, 5, 5)),
    "small": RNG.standard_normal((3, 3)),
    "tall": RNG.standard_normal((7, 4)),
    "wide": RNG.standard_normal((3, 6)),
    "positive": FACTOR @ FACTOR.swapaxes(1, 2) + np.eye(6),
    "vector": RNG.standard_normal(6),
    "columns": RNG.standard_normal((6, 3)),
    "long": RNG.standard_normal(7),
    "low": np.outer(RNG.standard_normal(5), RNG.standard_normal(4)),
    "singular": np.array([[1.0, 2, 3, 4], [2, 4, 6, 8], [1, 0, 1, 0], [0, 1, 0, 3]]),
    "mean": RNG.standard_normal((2, 6)),
}


def calls(i):
    square, batch, positive, tall, wide = i["square"], i["batch"], i["positive"], i["tall"], i["wide"]
    yield "cholesky", [linalg.cholesky(positive), linalg.cholesky(positive[0], upper=True), linalg.cholesky(square)]
    yield "lax.lu", [part for x in (square, tall, wide) for part in lax.linalg.lu(x)]
    yield "qr", [part for x in (square, tall, wide, batch) for part in linalg.qr(x)]
    yield "qr complete", [part for x in (tall, wide) for part in linalg.qr(x, mode="complete")]
    yield "eigvalsh", [linalg.eigvalsh(square), linalg.eigvalsh(positive), linalg.eigh(positive)[0]]
    yield "svdvals", [linalg.svdvals(x) for x in (square, tall, wide, batch)]
    yield "solve", [linalg.solve(square, i["vector"]), linalg.solve(square, i["columns"]),
                    linalg.solve(batch, batch[::-1]), linalg.solve(square, positive)]  # fmt: skip
    yield "scipy.cho_solve", scipy.cho_solve((linalg.cholesky(positive[0]), True), i["columns"])
    yield "scipy.solve positive", scipy.solve(positive[0], i["columns"], assume_a="pos")
    for left in (True, False):
        for lower in (True, False):
            for transposed in (True, False):
                b = i["columns"] if left else i["columns"].T
                yield f"lax.triangular_solve {left:d}{lower:d}{transposed:d}", [
                    lax.linalg.triangular_solve(square, b, left_side=left, lower=lower, transpose_a=transposed,
                                                unit_diagonal=unit) for unit in (True, False)]  # fmt: skip
    yield "inv", [linalg.inv(square), linalg.inv(batch)]
    yield "det", [linalg.det(x) for x in (square, batch, i["small"], i["small"][:2, :2], i["singular"])]
    yield "slogdet", [part for x in (square, batch) for part in linalg.slogdet(x)]
    yield "grad det singular", jax.grad(linalg.det)(i["singular"])
    yield "pinv", [linalg.pinv(x) for x in (square, tall, wide, i["low"])]
    yield "matrix_rank", [linalg.matrix_rank(x) for x in (square, tall, wide, i["low"], batch, i["singular"])]
    x, residuals, rank, s = linalg.lstsq(tall, i["long"])
    yield "lstsq", [x, residuals, rank, s, *linalg.lstsq(wide, i["small"])[::2]]
    yield "norm", [linalg.norm(tall), linalg.norm(i["vector"]), linalg.norm(batch, axis=1, keepdims=True)]
    for order in (1, -1, 2, -2, 3, 0, 0.5, np.inf, -np.inf):
        yield f"norm vector {order:g}", [linalg.norm(i["vector"], order), linalg.norm(batch, order, axis=-1)]
    for order in (1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"):
        name = order if isinstance(order, str) else f"{order:g}"
        yield f"norm matrix {name}", [linalg.norm(tall, order), linalg.norm(batch, order, axis=(2, 0), keepdims=True)]
    yield "matrix_power", [linalg.matrix_power(batch, n) for n in (0, 1, 2, 5, -2)]
    yield "scipy.expm", [scipy.expm(x) for x in (square, 0.01 * square, 7 * batch)]
    key = random.key(5)
    yield "random.multivariate_normal", [
        random.multivariate_normal(key, i["mean"][0], positive[0], (4,)), random.multivariate_normal(key, i["mean"], positive)]  # fmt: skip
    # Up to the signs of vectors, which are nobody's: how far the samples lie along each.
    for method, vectors in (("eigh", linalg.eigh(positive)[1]), ("svd", linalg.svd(positive)[0])):
        one = random.multivariate_normal(key, i["mean"][0], positive[0], (4,), method=method) - i["mean"][0]
        each = random.multivariate_normal(key, i["mean"], positive, method=method) - i["mean"]
        yield f"random.multivariate_normal {method}", [
            abs(one @ vectors[0]), abs(jnp.squeeze(each[:, None] @ vectors, 1))]  # fmt: skip
    yield "random.orthogonal", [random.orthogonal(key, 4), random.orthogonal(key, 3, (2,), jnp.float64, 5),
                                random.orthogonal(key, 5, (), jnp.float64, 2)]  # fmt: skip


def write():
    with jax.enable_x64(True):
        write_json("linalg.json", INPUTS, calls)
