"""Golden values of complex numbers and of include/neap/fft.h, in the form of golden_numpy.py: tests/golden/complex.json
and tests/golden/fft.json. Complex arrays are stored as their parts, one pair for each element.

tests/jit/golden_complex_test.cpp makes the same calls, under the same names.
"""

import jax
import jax.numpy as jnp
import numpy as np
from golden_numpy import write_json
from jax.numpy import fft

RNG = np.random.default_rng(23)


def normal(*shape):
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


COMPLEX_INPUTS = {
    "z": normal(17),
    "w": normal(17),
    "matrix": normal(4, 5),
    "square": normal(4, 4),
    "cube": normal(2, 3, 4),
    "x": RNG.standard_normal(17),
    "narrow": normal(9).astype(np.complex64),
    "odd": np.array([0, 1, -1, 1j, -1j, 1e-3 - 1j, -2 + 1e-9j, 1 + 1e-6j, 1e150 + 1e150j, 1e-160j]),
}

UNARY = ["negative", "conj", "abs", "angle", "real", "imag", "sign", "exp", "exp2", "expm1", "log", "log2", "log10",
         "log1p", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "sqrt", "square", "reciprocal", "sin", "cos", "tan", "sinh", "cosh", "tanh"]  # fmt: skip


def complex_calls(i):
    z, w, x, matrix, square, cube, odd = i["z"], i["w"], i["x"], i["matrix"], i["square"], i["cube"], i["odd"]
    for name in UNARY:
        yield name, [getattr(jnp, name)(z), getattr(jnp, name)(i["narrow"])]
    yield "odd", [jnp.abs(odd), jnp.sqrt(odd), jnp.angle(odd), odd[1:8] / odd[1:8][::-1], jnp.log(odd[1:])]
    yield "sigmoid", jax.nn.sigmoid(z)
    yield "arithmetic", [z + w, z - x, z * w, z / w, x / z, 2 * z, z + 1j, z**2, z**-3, z**0.5, x**w, z**w]
    yield "compare", [z == w, z != z, z == x, jnp.isnan(z), jnp.isfinite(odd), jnp.isinf(odd)]
    yield "casts", [z.astype(jnp.float32), z.astype(jnp.complex64), x.astype(jnp.complex128), z.astype(bool)]
    yield "lax.complex", [jax.lax.complex(x, x[::-1]), jax.lax.complex(jnp.float32(1), jnp.float32(2))]
    yield "reductions", [jnp.sum(cube), jnp.sum(cube, 1), jnp.prod(matrix), jnp.prod(cube, (0, 2)), jnp.mean(cube, 0),
                         jnp.var(z), jnp.std(matrix, 1), jnp.any(odd), jnp.all(odd)]  # fmt: skip
    yield "norms", [jnp.linalg.norm(z), jnp.linalg.norm(matrix), jnp.linalg.norm(matrix, 1), jnp.linalg.norm(z, 3),
                    jnp.nansum(odd * jnp.nan), jnp.nanvar(z), jnp.cov(matrix), jnp.correlate(z, w[:4]), jnp.convolve(z, w[:4]),
                    jnp.round(z, 1), jnp.nan_to_num(z + jnp.array([jnp.nan] + [0] * 16)), jnp.isclose(z, z + 1e-9)]  # fmt: skip
    yield "cumulative", [jnp.cumsum(matrix, 1), jnp.cumprod(matrix, 0)]
    yield "products", [jnp.matmul(square, matrix), jnp.dot(z, w), jnp.vdot(z, w), jnp.outer(z, x),
                       jnp.einsum("ijk,kl->jil", cube, square), jnp.tensordot(cube, square, 1)]  # fmt: skip
    yield "indexing", [z[np.array([3, -1, 3])], z.at[np.array([1, 1])].add(w[:2]), z.at[2].set(5j), jnp.roll(z, 3),
                       jnp.where(x > 0, z, w), jnp.flip(matrix, 0), jnp.take_along_axis(matrix, np.array([[1], [0], [4], [2]]), 1)]  # fmt: skip
    gradients = {
        "abs": lambda v: jnp.sum(jnp.abs(v)),
        "abs2": lambda v: jnp.sum(jnp.abs(v) ** 2),
        "real": lambda v: jnp.sum(jnp.real(v * v * w)),
        "imag": lambda v: jnp.sum(jnp.imag(jnp.exp(v))),
        "angle": lambda v: jnp.sum(jnp.angle(v)),
        "conj": lambda v: jnp.real(jnp.vdot(v, w * v)),
        "quotient": lambda v: jnp.sum(jnp.real(w / v) + jnp.imag(jnp.sqrt(v)) + jnp.real(jnp.log(v))),
        "trigonometric": lambda v: jnp.sum(jnp.real(jnp.sin(v) * jnp.cosh(v) - jnp.tanh(v))),
        "power": lambda v: jnp.sum(jnp.real(v**3 + v**w)),
    }
    for name, f in gradients.items():
        yield "grad " + name, jax.grad(f)(z)
    yield "grad real argument", jax.grad(lambda v: jnp.sum(jnp.abs(jnp.exp(1j * v) + v)))(x)
    yield "grad matmul", jax.grad(lambda v: jnp.sum(jnp.abs(square @ v) ** 2))(matrix)
    yield "grad prod", jax.grad(lambda v: jnp.real(jnp.prod(v)))(matrix[0])
    yield "grad holomorphic", jax.grad(lambda v: jnp.exp(v) * v, holomorphic=True)(z[0])
    yield "jacfwd", jax.jacfwd(lambda v: jnp.exp(1j * v) * v)(x[:3])
    yield "jacrev", jax.jacrev(lambda v: jnp.abs(v))(z[:3])
    yield "jacobian holomorphic", [jax.jacfwd(lambda v: v * jnp.sum(v), holomorphic=True)(z[:3]),
                                   jax.jacrev(lambda v: v * jnp.sum(v), holomorphic=True)(z[:3])]  # fmt: skip
    value, pull = jax.vjp(lambda v: v * w, z)
    yield "vjp", [value, *pull(w)]
    yield "jvp", list(jax.jvp(lambda v: jnp.sqrt(v) * w, (z,), (w,)))


FFT_INPUTS = {
    "z": normal(3, 12),
    "x": RNG.standard_normal((3, 12)),
    "prime": normal(13),
    "large prime": normal(101),
    "long": normal(150),
    "power": normal(2, 128),
    "odd": RNG.standard_normal((2, 15)),
    "image": normal(2, 6, 10),
    "picture": RNG.standard_normal((2, 5, 8)),
    "narrow": (normal(4, 30)).astype(np.complex64),
    "integers": RNG.integers(-5, 5, 10).astype(np.int32),
}


def fft_calls(i):
    z, x, image, picture = i["z"], i["x"], i["image"], i["picture"]
    for function in (fft.fft, fft.ifft):
        yield function.__name__, [function(v) for v in (z, x, i["prime"], i["large prime"], i["long"], i["power"],
                                                        i["narrow"], i["integers"])]  # fmt: skip
        yield function.__name__ + " options", [function(z, 8), function(z, 20), function(z, axis=0), function(z, 5, 0),
                                               function(z, norm="ortho"), function(z, norm="forward")]  # fmt: skip
    yield "rfft", [fft.rfft(v) for v in (x, i["odd"], picture)]
    yield "rfft options", [fft.rfft(x, 7), fft.rfft(x, 16), fft.rfft(x, axis=0), fft.rfft(x, norm="ortho"),
                           fft.rfft(x, norm="forward")]  # fmt: skip
    yield "irfft", [fft.irfft(v) for v in (z, i["prime"], image)]
    yield "irfft options", [fft.irfft(z, 7), fft.irfft(z, 16), fft.irfft(z, 40), fft.irfft(z, axis=0),
                            fft.irfft(z, 13, norm="ortho"), fft.irfft(z, norm="forward")]  # fmt: skip
    yield "hfft", [fft.hfft(z), fft.hfft(z, 9), fft.hfft(z, norm="ortho"), fft.hfft(z, norm="forward")]
    yield "ihfft", [fft.ihfft(x), fft.ihfft(x, 9), fft.ihfft(x, norm="ortho"), fft.ihfft(x, norm="forward")]
    for function in (fft.fft2, fft.ifft2, fft.fftn, fft.ifftn):
        yield function.__name__, [function(image), function(image, (4, 12)), function(image, axes=(0, 1)),
                                  function(image, norm="ortho"), function(picture, norm="forward")]  # fmt: skip
    for function in (fft.rfft2, fft.rfftn):
        yield function.__name__, [function(picture), function(picture, (4, 9)), function(picture, axes=(2, 1)),
                                  function(picture, norm="ortho")]  # fmt: skip
    for function in (fft.irfft2, fft.irfftn):
        yield function.__name__, [function(image), function(image, (4, 9)), function(image, axes=(2, 1)),
                                  function(image, norm="ortho")]  # fmt: skip
    yield "fftfreq", [fft.fftfreq(8), fft.fftfreq(9, 0.5), fft.rfftfreq(8), fft.rfftfreq(9, 0.5)]
    yield "fftshift", [fft.fftshift(z), fft.fftshift(picture, 1), fft.ifftshift(z), fft.ifftshift(picture, (1, 2))]
    weight = i["prime"][:12]
    yield "grad fft", jax.grad(lambda v: jnp.sum(jnp.abs(fft.fft(v)) ** 3))(z)
    yield "grad rfft", jax.grad(lambda v: jnp.sum(jnp.abs(fft.rfft(v)) ** 3))(x)
    yield "grad irfft", jax.grad(lambda v: jnp.sum(fft.irfft(v) ** 3))(z)
    yield "grad ifft", jax.grad(lambda v: jnp.sum(jnp.real(fft.ifft(v * weight) * v)))(z)
    yield "grad fft2", jax.grad(lambda v: jnp.sum(jnp.abs(fft.fft2(v))))(image)
    yield "jvp fft", list(jax.jvp(lambda v: fft.fft(v) * v, (z,), (z * 1j,)))


def write():
    with jax.enable_x64(True):
        write_json("complex.json", COMPLEX_INPUTS, complex_calls)
        write_json("fft.json", FFT_INPUTS, fft_calls)
