"""Golden values for include/neap/{reduce,nn,image,signal}.h and the later functions of numpy.h: tests/golden/more.json, as
golden_numpy.py describes it. tests/jit/golden_more_test.cpp makes the same calls, under the same names."""

import jax
import jax.numpy as jnp
import numpy as np
from golden_numpy import write_json
from jax import lax, nn
from jax.scipy import signal
from jax.scipy.linalg import block_diag

R = np.random.default_rng(21)


def normal(*shape):
    return R.standard_normal(shape).astype(np.float32)


INPUTS = {
    "data": normal(7, 3),
    "row": normal(7),
    "ints": np.array([5, -3, 0, 2, 7, 1, 4], np.int32),
    "bytes": np.array([100, -100, 7, 127, 1, -3, 2], np.int8),
    "ids": np.array([2, 0, 2, -1, 5, 0, 4], np.int32),
    "matrix": normal(4, 5),
    "cube": normal(3, 4, 5),
    "edges": np.array([0.0, -0.0, 1.0, -1.5, 1.0625, 1.1875, 3.3e38, -3.4e38, 65519.0, 65520.0, 6e-5, 6.2e-5, -1e-30, 0.3, 240.1,
                       255.0, 1e-38, np.inf, -np.inf, np.nan], np.float32),
    "query": normal(2, 3, 4, 3),
    "key": normal(2, 5, 2, 3),
    "value": normal(2, 5, 2, 3),
    "bias": normal(2, 4, 3, 5),
    "image": normal(1, 2, 7, 6),
    "long": normal(75),
    "holes": np.array([[1, np.nan, 3], [4, 5, 1], [np.nan, np.nan, np.nan]], np.float32),
    "few": np.array([2, 3, 3, 7, -4, np.nan], np.float32),
    "many": R.integers(-30, 30, 40).astype(np.int32),
    "places": np.array([[0, 59, -1], [7, 60, -61]], np.int32),
    "pairs": np.array([[0, 1], [3, 1], [-1, 0]], np.int32),
}  # fmt: skip


def segments(i):
    for name in "segment_sum segment_prod segment_max segment_min".split():
        f = getattr(jax.ops, name)
        yield name, [f(i["data"], i["ids"], 5), f(i["row"], i["ids"], 6), f(i["ints"], i["ids"], 4),
                     f(i["bytes"], i["ids"], 200), f(i["data"][:6], i["pairs"].ravel(), 4)]  # fmt: skip


def places(i):
    few, many, ints, holes = i["few"], i["many"], i["ints"], i["holes"]
    yield "isin", [jnp.isin(holes, few), jnp.isin(ints, many), jnp.isin(ints, many, invert=True), jnp.isin(many, ints),
                   jnp.isin(i["cube"], i["cube"][1]), jnp.isin(ints, few[:0])]  # fmt: skip
    yield "union1d", [jnp.union1d(ints, few, size=12), jnp.union1d(ints, many, size=5), jnp.union1d(ints, ints, size=9, fill_value=-77)]
    yield "intersect1d", [jnp.intersect1d(ints, few, size=4), jnp.intersect1d(many, ints, size=3),
                          jnp.intersect1d(many, ints, size=12, fill_value=-77), jnp.intersect1d(ints, ints + 100, size=2)]  # fmt: skip
    yield "setdiff1d", [jnp.setdiff1d(ints, few, size=7), jnp.setdiff1d(many, ints, size=8),
                        jnp.setdiff1d(holes, ints, size=9, fill_value=-77)]  # fmt: skip
    yield "argwhere", [jnp.argwhere(i["cube"] > 1, size=12), jnp.argwhere(ints, size=9, fill_value=42)]
    yield "lexsort", [jnp.lexsort((many[::-1] % 7, many % 3, many % 2)), jnp.lexsort((i["matrix"] > 0, i["matrix"] > 1), axis=0)]
    yield "unravel_index", [*jnp.unravel_index(i["places"], (3, 4, 5)), *jnp.unravel_index(ints[3:], (9,))]
    index = (i["pairs"], ints[:3, None], i["pairs"] * 3)
    yield "ravel_multi_index", [jnp.ravel_multi_index(index, (3, 4, 5), mode=mode) for mode in ("clip", "wrap")]
    yield "trace", [jnp.trace(i["matrix"]), jnp.trace(i["cube"], 1, 2, 0), jnp.trace(i["cube"], -1), jnp.trace(holes > 2)]
    yield "block_diag", [block_diag(i["matrix"], i["row"], jnp.float32(3), ints[:, None]), block_diag()]


def best(a, b):
    """The larger value and its index; of equal ones the first."""
    first = a[0] >= b[0]
    return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])


def windows(i):
    cube, image, long = i["cube"], i["image"], i["long"]

    def over(x, init, f, window, stride=None, padding="VALID", inner=None, dilation=None):
        lead = (1,) * (x.ndim - len(window))
        ones = (1,) * len(window)
        padding = padding if isinstance(padding, str) else [(0, 0)] * len(lead) + padding
        return lax.reduce_window(x, np.array(init, x.dtype), f, lead + window, lead + (stride or ones), padding,
                                 lead + (inner or ones), lead + (dilation or ones))  # fmt: skip

    yield "reduce_window", [
        over(image, 0, lax.add, (2, 3)), over(image, -np.inf, lax.max, (3, 3), (2, 2), "SAME"),
        over(image, 1, lax.mul, (2, 2), (1, 2), [(1, 0), (0, 1)]), over(i["ints"], 0, lax.add, (3,), (2,)),
        over(long, -np.inf, jnp.logaddexp, (11,)), over(long, -np.inf, jnp.logaddexp, (9,), (10,)),
        over(long, 0, lax.add, (10,), (3,), [(4, 5)], (2,), (3,)), over(cube, np.inf, lax.min, (2,), None, "SAME"),
    ]  # fmt: skip
    yield "reduce_window init", over(long, 2, lax.add, (4,), (3,))
    index = lax.iota(np.int32, long.size)
    pad = [(2, 9)]
    yield "reduce_window tree", lax.reduce_window((long, index), (np.float32(-np.inf), np.int32(-1)), best, (12,), (5,), pad)
    yield "sum_pool", [over(image, 0, lax.add, (2, 3), (2, 1)), over(i["bytes"].astype(np.int32), 0, lax.add, (3,))]
    yield "reduce", [lax.reduce(cube, np.float32(0), lax.add, (0, 2)), lax.reduce(cube, np.float32(-np.inf), jnp.logaddexp, (1,)),
                     lax.reduce(i["ints"], np.int32(3), lax.mul, (0,)), lax.reduce(cube, np.float32(np.inf), lax.min, (0, 1, 2)),
                     lax.reduce(i["bytes"], np.int8(0), lax.add, (0,))]  # fmt: skip
    order = lax.broadcasted_iota(np.int32, cube.shape, 1)
    yield "reduce tree", lax.reduce((cube, order), (np.float32(-np.inf), np.int32(-1)), best, (1,))


def attention(i):
    q, k, v, bias = i["query"], i["key"], i["value"], i["bias"]
    with jax.default_matmul_precision("highest"):
        f = nn.dot_product_attention
        mask = bias > -0.5
        lengths = np.array([2, 0], np.int32), np.array([5, 3], np.int32)
        yield "attention", [f(q, k, v), f(q[0], k[0], v[0], scale=0.7), f(q[:, :, :1], k[:, :, :1], v[:, :, :1]),
                            f(q, k[:, :, :1], v[:, :, :1])]  # fmt: skip
        yield "attention masks", [
            f(q, k, v, bias), f(q, k, v, bias[0, 0], mask[:, :1]), f(q, k, v, is_causal=True), f(q, k, v, mask=mask, is_causal=True),
            f(q, k, v, local_window_size=(1, 2)), f(q, k, v, query_seq_lengths=lengths[0], key_value_seq_lengths=lengths[1]),
            f(q, k, v, mask=jnp.zeros((1, 1, 1, 1), bool)),
        ]  # fmt: skip


def images(i):
    image, row = i["image"], i["row"]
    for method in "nearest linear cubic lanczos3 lanczos5".split():
        yield f"resize {method}", [
            jax.image.resize(image, (1, 2, 4, 9), method), jax.image.resize(image, (1, 2, 14, 3), method),
            jax.image.resize(i["ints"], (3,), method), jax.image.resize(image[0], (1, 7, 2), method, antialias=False),
        ]  # fmt: skip
    for method in "linear cubic lanczos3".split():
        f = jax.image.scale_and_translate
        yield f"scale_and_translate {method}", [
            f(image[0], (2, 5, 8), (1, 2), np.array([0.6, 1.4], np.float32), np.array([0.5, -1.0], np.float32), method),
            f(row, (9,), (0,), np.array([0.7], np.float32), np.array([2.0], np.float32), method, antialias=False),
        ]  # fmt: skip


def signals(i):
    a, b, c, z = i["matrix"], i["cube"][0, :3, :2], i["long"][:9], i["row"] + 1j * i["row"][::-1]
    with jax.default_matmul_precision("highest"):
        for mode in "full same valid".split():
            yield f"signal {mode}", [
                signal.fftconvolve(a, b, mode), signal.fftconvolve(i["cube"][:, :3], i["cube"][:, 1:], mode, axes=[1]),
                signal.fftconvolve(z, i["row"][:3], mode), signal.fftconvolve(i["row"][:3], c, mode),
                signal.convolve(a, b, mode), signal.convolve(i["row"][:4], c, mode), signal.convolve(i["ints"], i["ints"][:2], mode),
                signal.convolve(i["cube"], i["cube"][:2, :2, :2], mode), signal.correlate(c, i["row"][:4], mode),
                signal.convolve2d(b, a, mode),
                signal.correlate2d(a, b, mode), signal.correlate2d(b, a, mode), signal.correlate2d(a, a[:2, :2], mode),
            ]  # fmt: skip


def bits(i):
    x = i["edges"]
    cast = lax.bitcast_convert_type
    yield "bitcast", [cast(x, jnp.uint8), cast(x, jnp.int16), cast(cast(x, jnp.uint8), jnp.float32),
                      cast(i["many"].reshape(10, 4).astype(jnp.int8), jnp.uint32), cast(i["row"][:6].reshape(3, 2), jnp.uint16)]  # fmt: skip
    yield "reduce_precision", [lax.reduce_precision(x, e, m) for e, m in ((8, 7), (5, 10), (4, 3), (8, 0), (2, 23))]
    row, at = i["row"], np.array([1, 1, 4])
    yield "at", [row.at[at].divide(2.0), row.at[at[1:]].apply(jnp.exp), jnp.abs(row).at[2:].power(0.5), i["ints"].at[0].divide(4),
                 row.at[at].subtract(1.5), i["ints"].at[1].power(3)]  # fmt: skip


def others(i):
    ints, many, holes, row, edges, matrix, cube = i["ints"], i["many"], i["holes"], i["row"], i["edges"], i["matrix"], i["cube"]
    yield "gcd", [jnp.gcd(many, 12), jnp.gcd(many[:7], ints)]
    yield "lcm", [jnp.lcm(many, 12), jnp.lcm(many[:7], ints)]
    yield "frexp", [*jnp.frexp(edges[:16]), *jnp.frexp(row * 1e30)]
    yield "windows of signals", [getattr(jnp, name)(n) for name in "bartlett hanning hamming blackman".split() for n in (1, 3, 7)]
    yield "triangles", [*jnp.tril_indices(3), *jnp.tril_indices(3, -1, 5), *jnp.triu_indices(4, 1, 3), *jnp.triu_indices(3, -1)]
    yield "insert", [jnp.insert(row, np.array([2]), 9.0), jnp.insert(matrix, np.array([1, 4, 1]), 7.0, axis=0),
                     jnp.insert(matrix, np.array([-1]), matrix[:, :2], axis=1), jnp.insert(matrix, np.array([3, 0]), jnp.array([5, 6]))]  # fmt: skip
    yield "delete_", [jnp.delete(row, 2), jnp.delete(matrix, np.array([1, -1, 1]), axis=1), jnp.delete(matrix, np.array([0, 19]))]
    index = jnp.argsort(matrix, axis=1)[:, :2]
    yield "put_along_axis", [jnp.put_along_axis(matrix, index, 9.0, 1, inplace=False),
                             jnp.put_along_axis(matrix, jnp.broadcast_to(index[:1, :1], (1, 5)), row[:5][None], 0, inplace=False)]  # fmt: skip
    yield "select", jnp.select([matrix > 1, matrix > 0], [matrix, jnp.full((4, 5), 2)], -1)
    yield "packbits", [jnp.packbits(many > 0), jnp.packbits(cube > 0, axis=1), jnp.packbits(many > 0, bitorder="little")]
    octets = jnp.abs(i["places"]).astype(jnp.uint8)
    yield "unpackbits", [jnp.unpackbits(octets), jnp.unpackbits(octets, axis=0, count=13),
                         jnp.unpackbits(octets, axis=1, count=26, bitorder="little")]  # fmt: skip
    yield "ediff1d", jnp.ediff1d(matrix)
    yield "unwrap", [jnp.unwrap(row * 9), jnp.unwrap(matrix * 9, axis=0), jnp.unwrap(row * 9, 5.0, period=4.0)]
    yield "nan", [f(holes[:2], axis=a) for f in (jnp.nanargmax, jnp.nanargmin, jnp.nancumsum, jnp.nancumprod) for a in (None, 0, 1)]
    yield "nanargmax of none", jnp.nanargmax(holes, axis=1)
    yield "histogram_bin_edges", [jnp.histogram_bin_edges(matrix, 7), jnp.histogram_bin_edges(ints[:1])]
    yield "polynomials", [jnp.polyadd(row, ints[:3]), jnp.polysub(ints[:3], row), jnp.polymul(row, ints[:3]),
                          jnp.polyder(row), jnp.polyder(row, 3), jnp.polyint(row), jnp.polyint(row, 2)]  # fmt: skip
    at = jnp.linspace(-1, 2, 7)
    yield "polyfit", [jnp.polyfit(at, row, 2), jnp.polyfit(at, i["data"], 3), jnp.polyfit(at, row, 1, w=jnp.abs(row))]


def calls(i):
    yield from others(i)
    yield from bits(i)
    yield from signals(i)
    yield from images(i)
    yield from attention(i)
    yield from windows(i)
    yield from segments(i)
    yield from places(i)


def write():
    write_json("more.json", INPUTS, calls, (",", ":"))


if __name__ == "__main__":
    write()
