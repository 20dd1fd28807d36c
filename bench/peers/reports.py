"""The case `reports` in JAX: programs as the users wrote them who reported that they ran out of memory.

Each form of bench/cases/reports.cpp is one function here. It takes what sizes and makes the arguments (Arguments) and
gives (function, arguments), or, where the function takes its argument's memory, (function, arguments, True). Arguments
are the very numbers that neap-bench fills its own with, so the sums of the outputs can be held against each other.
"""

import math
from typing import Any, NamedTuple


class Arguments:
    def __init__(self, lib, thousandths):
        self.lib, self.jax, self.xp, self.thousandths = lib, lib.jax, lib.xp, thousandths

    def part_of(self, extent):
        return max(2, extent * self.thousandths // 1000)

    def key(self, seed):
        return self.jax.random.wrap_key_data(self.xp.array([1, seed], "uint32"))

    def make(self, fill, shape, dtype):
        return self.jax.ShapeDtypeStruct(shape, dtype) if self.lib.abstract else self.jax.jit(fill)()

    def uniform(self, shape, seed, scale=1, dtype="float32"):
        fill = lambda: (scale * (2 * self.jax.random.uniform(self.key(seed), shape) - 1)).astype(dtype)
        return self.make(fill, shape, dtype)

    def indices(self, shape, limit, seed):
        return self.make(lambda: (self.jax.random.bits(self.key(seed), shape) % limit).astype("int32"), shape, "int32")


def sinkhorn(at, gradient=False):
    jax, jnp, n = at.jax, at.xp, at.part_of(50_000)

    def distance(x, y):
        cost = jnp.sum(jnp.square(x[:, None] - y[None]), axis=2)
        rows, columns = math.log(x.shape[0]), math.log(y.shape[0])

        def step(fg, _):
            f = -jax.nn.logsumexp(fg[1][None] - cost, axis=1) + rows
            g = -jax.nn.logsumexp(f[:, None] - cost, axis=0) + columns
            return (f, g), None

        start = jnp.zeros(x.shape[0]), jnp.zeros(y.shape[0])
        (f, g), _ = jax.lax.scan(step, start, None, length=100)
        return jnp.mean(f) + jnp.mean(g)

    return jax.grad(distance) if gradient else distance, (at.uniform((n, 3), 1), at.uniform((n, 3), 2))


def loops(at):
    jax, jnp, rows = at.jax, at.xp, at.part_of(30_000)

    def loss(x, p):
        for _ in range(10):
            step = lambda _, c: c + jnp.sin(p * c) + jnp.cos(p * jnp.sin(p * c))
            x = jax.lax.fori_loop(0, 1000, step, x)
        return jnp.sum(x)

    return jax.grad(loss, (0, 1)), (at.uniform((rows, 100), 1), at.uniform((), 2))


def wave(at):
    jax, jnp, side, steps = at.jax, at.xp, 128, at.part_of(1000)

    def laplacian(u):
        return sum((jnp.roll(u, shift, axis) for axis in range(3) for shift in (1, -1)), -6 * u)

    def misfit(speed, trace):
        def step(u, recorded):
            before, now = u
            after = 2 * now - before + 0.1 * jnp.square(speed) * laplacian(now)
            return (now, after), jnp.square(after[side // 2, side // 2, side // 4] - recorded)

        still = jnp.zeros((side, side, side))
        struck = still.at[side // 2, side // 2, side // 2].set(1.0)
        return jnp.sum(jax.lax.scan(step, (still, struck), trace)[1])

    return jax.grad(misfit), (at.uniform((side, side, side), 1), at.uniform((steps,), 2))


class Lstm(NamedTuple):
    input: Any
    state: Any
    bias: Any


def lstm(at):
    jax, jnp, batch, hidden, steps = at.jax, at.xp, 64, 512, at.part_of(10_000)

    def loss(w, xs):
        def step(s, x):
            h, cell = s
            keep, write, new, show = jnp.split(x[:, None] @ w.input + h @ w.state + w.bias, 4, axis=1)
            cell = jax.nn.sigmoid(keep) * cell + jax.nn.sigmoid(write) * jnp.tanh(new)
            return (jax.nn.sigmoid(show) * jnp.tanh(cell), cell), None

        zero = jnp.zeros((batch, hidden))
        (h, _), _ = jax.lax.scan(step, (zero, zero), xs)
        return jnp.sum(jnp.square(h))

    w = Lstm(at.uniform((1, 4 * hidden), 1), at.uniform((hidden, 4 * hidden), 2), at.uniform((4 * hidden,), 3))
    return jax.grad(loss), (w, at.uniform((steps, batch), 4))


def cross_entropy(at, gradient=False):
    jax, jnp, tokens, words, width = at.jax, at.xp, at.part_of(8192), at.part_of(128_256), 4096

    def loss(x, w):
        logits = (x @ w.T).astype(jnp.float32)
        labels = jnp.arange(tokens) * 7919 % words
        right = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=1) - right)

    arguments = at.uniform((tokens, width), 1, dtype="bfloat16"), at.uniform((words, width), 2, dtype="bfloat16")
    return jax.grad(loss, (0, 1)) if gradient else loss, arguments


def kernel_density(at):
    jax, jnp, queries, samples = at.jax, at.xp, at.part_of(10_000), at.part_of(1_000_000)

    def density(q, x):
        distance = jnp.sum(jnp.square(q[:, None] - x[None]), axis=2)
        return jnp.sum(jnp.log(jnp.mean(jnp.exp(-0.5 * distance), axis=1)))

    return jax.grad(density), (at.uniform((queries, 2), 1), at.uniform((samples, 2), 2))


class Net(NamedTuple):
    w1: Any
    b1: Any
    w2: Any
    b2: Any
    w3: Any
    b3: Any


def net_of(at, inputs, width):
    shapes = (inputs, width), (width,), (width, width), (width,), (width, 1), (1,)
    return Net(*(at.uniform(shape, seed) for seed, shape in enumerate(shapes, 1)))


def output_of(jnp, net, x):
    h1 = jnp.tanh(x @ net.w1 * 0.1 + net.b1)
    h2 = jnp.tanh(h1 @ net.w2 * 0.1 + net.b2)
    return jnp.squeeze(h2 @ net.w3 + net.b3)


def laplacian(at):
    jax, jnp, batch = at.jax, at.xp, at.part_of(4096)

    def loss(net, xs):
        one = lambda x: jnp.trace(jax.hessian(lambda x: output_of(jnp, net, x))(x))
        return jnp.mean(jnp.square(jax.vmap(one)(xs)))

    return jax.grad(loss), (net_of(at, 64, 512), at.uniform((batch, 64), 7))


def tangent_kernel(at):
    jax, jnp, batch = at.jax, at.xp, at.part_of(4096)

    def kernel(net, xs):
        slopes = jax.vmap(jax.grad(lambda net, x: output_of(jnp, net, x)), (None, 0))(net, xs)
        flat = [slope.reshape(batch, -1) for slope in jax.tree.leaves(slopes)]
        return sum(slope @ slope.T for slope in flat)

    return kernel, (net_of(at, 784, 512), at.uniform((batch, 784), 7))


def patches(at):
    jax, jnp, height, width, channels = at.jax, at.xp, at.part_of(512), 512, 32

    def loss(w, images):
        padded = jnp.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
        shifted = [padded[..., i : i + height, j : j + width] for i in range(3) for j in range(3)]
        beside = jnp.moveaxis(jnp.concatenate(shifted, axis=1), 1, 3)
        return jnp.sum(jnp.square(beside @ w))

    return jax.grad(loss), (at.uniform((9 * channels, channels), 1), at.uniform((8, channels, height, width), 2))


def asian(at):
    jax, jnp, paths, days = at.jax, at.xp, at.part_of(1_000_000), 252

    def price(volatility, seed):
        key = jax.random.fold_in(jax.random.key(7), (seed * 1000).astype(jnp.int32))
        dt = 1 / days
        z = jax.random.normal(key, (paths, days))
        steps = (0.02 - 0.5 * jnp.square(volatility)) * dt + volatility * math.sqrt(dt) * z
        spots = 100 * jnp.exp(jnp.cumsum(steps, axis=1))
        return jnp.mean(jnp.maximum(jnp.mean(spots, axis=1) - 100, 0))

    return jax.value_and_grad(price), (at.uniform((), 1), at.uniform((), 2))


def heat(at):
    jax, jnp, side, steps = at.jax, at.xp, at.part_of(16_384), at.part_of(1000)

    def step(_, a):
        around = jnp.roll(a, 1, 0) + jnp.roll(a, -1, 0) + jnp.roll(a, 1, 1) + jnp.roll(a, -1, 1)
        return a + 0.1 * (around - 4 * a)

    return lambda u: (jax.lax.fori_loop(0, steps, step, u),), (at.uniform((side, side), 1),), True


def table(at):
    jax, jnp, n = at.jax, at.xp, at.part_of(200)

    def loss(p):
        step = lambda i, rows: rows.at[i].set(rows[i - 1] @ rows[i - 2] / n)
        return jnp.sum(jax.lax.fori_loop(2, n, step, p))

    return jax.grad(loss), (at.uniform((n, n, n), 1),)


def lennard_jones(at):
    jax, jnp, atoms, neighbours = at.jax, at.xp, at.part_of(1_000_000), 64

    def energy(x, near):
        apart = x[:, None] - x[near]
        squared = jnp.sum(jnp.square(apart), axis=2) + 0.1
        sixth = (1 / squared) ** 3
        return jnp.sum(4 * (jnp.square(sixth) - sixth))

    return jax.grad(energy), (at.uniform((atoms, 3), 1, 10), at.indices((atoms, neighbours), atoms, 2))


def gaussian_process(at, gradient=False):
    jax, jnp, n = at.jax, at.xp, at.part_of(10_000)

    def likelihood(scale, x, y):
        distance = jnp.square(x[:, None] - x[None])
        covariance = jnp.exp(-distance / (0.1 + jnp.square(scale))) + 0.1 * jnp.eye(n)
        factor = jnp.linalg.cholesky(covariance)
        white = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return -0.5 * jnp.sum(jnp.square(white)) - jnp.sum(jnp.log(jnp.diagonal(factor)))

    arguments = at.uniform((), 1), at.uniform((n,), 2), at.uniform((n,), 3)
    return jax.grad(likelihood) if gradient else likelihood, arguments


def neighbours(at):
    jax, jnp, n = at.jax, at.xp, at.part_of(60_000)

    def nearest(x):
        length = jnp.sum(jnp.square(x), axis=1)
        distance = length[:, None] + length[None] - 2 * (x @ x.T)
        return jax.lax.top_k(-distance, min(10, n))

    return nearest, (at.uniform((n, 384), 1),)


REPORTS = {
    "sinkhorn": sinkhorn,
    "sinkhorn-grad": lambda at: sinkhorn(at, gradient=True),
    "loops": loops,
    "wave": wave,
    "lstm": lstm,
    "cross-entropy": cross_entropy,
    "cross-entropy-grad": lambda at: cross_entropy(at, gradient=True),
    "kernel-density": kernel_density,
    "laplacian": laplacian,
    "patches": patches,
    "asian": asian,
    "heat": heat,
    "table": table,
    "tangent-kernel": tangent_kernel,
    "lennard-jones": lennard_jones,
    "gaussian-process": gaussian_process,
    "gaussian-process-grad": lambda at: gaussian_process(at, gradient=True),
    "neighbours": neighbours,
}


def report(lib, size, form):
    """As the cases of models.py: (function, arguments, donated)."""
    f, arguments, *donated = REPORTS[form](Arguments(lib, *size))
    return f, arguments, bool(donated)
