"""The case `programs` in JAX: each form of bench/cases/programs.cpp, written alike, on the very numbers that neap-bench
fills its own arguments with, so that the sums of the outputs can be held against each other.
"""

from models import cross_entropy, dense, descend, layer, weights
from reports import Arguments


class SameNumbers:
    """The library, with neap-bench's numbers."""

    def __init__(self, lib):
        numbers = Arguments(lib, 1000)
        self.lib, self.uniform, self.indices = lib, numbers.uniform, numbers.indices

    def __getattr__(self, name):
        return getattr(self.lib, name)

    def kernel(self, shape, seed):
        height, width, inputs, outputs = shape
        scale = (3 / (outputs * inputs * height)) ** 0.5
        return self.uniform((outputs, inputs, height, width), seed, scale).transpose(2, 3, 1, 0)


def hmc(lib, part):
    jax, jnp, n = lib.jax, lib.xp, 16

    def potential(q):
        return jnp.sum(5 * jnp.square(q[1:] - jnp.square(q[:-1])) + jnp.square(1 - q[:-1])) / 4

    force, dt = jax.grad(potential), 0.02
    energy = lambda q, p: potential(q) + jnp.sum(jnp.square(p)) / 2

    def leap(_, at):
        half = at[1] - dt / 2 * force(at[0])
        moved = at[0] + dt * half
        return moved, half - dt / 2 * force(moved)

    def draw(q, i):
        keys = jax.random.split(jax.random.fold_in(jax.random.key(7), i))
        p = jax.random.normal(keys[0], (n,))
        moved, kick = jax.lax.fori_loop(0, 10, leap, (q, p))
        taken = jnp.log(jax.random.uniform(keys[1])) < energy(q, p) - energy(moved, kick)
        following = jnp.where(taken, moved, q)
        return following, following

    return lambda start: jax.lax.scan(draw, start, jnp.arange(part(1000)))[1], [lib.uniform((n,), 1)]


def five_point(jnp, u):
    return 4.01 * u - jnp.roll(u, 1, 0) - jnp.roll(u, -1, 0) - jnp.roll(u, 1, 1) - jnp.roll(u, -1, 1)


def cg(lib, part):
    jax, jnp, side = lib.jax, lib.xp, part(1024)

    def step(_, s):
        x, residual, direction, square = s
        image = five_point(jnp, direction)
        alpha = square / jnp.sum(direction * image)
        residual = residual - alpha * image
        following = jnp.sum(jnp.square(residual))
        return x + alpha * direction, residual, residual + following / square * direction, following

    run = lambda b: jax.lax.fori_loop(0, 100, step, (jnp.zeros_like(b), b, b, jnp.sum(jnp.square(b))))[0]
    return run, [lib.uniform((side, side), 1)]


def gmres(lib, part):
    jax, jnp, side, inner = lib.jax, lib.xp, part(256), 30
    n = side * side

    def apply_to(v):
        u = v.reshape(side, side)
        return (five_point(jnp, u) + 0.3 * (jnp.roll(u, 1, 0) - jnp.roll(u, -1, 0))).reshape(n)

    norm = lambda v: jnp.sqrt(jnp.sum(jnp.square(v)))

    def run(b):
        def restart(_, x):
            residual = b - apply_to(x)
            beta = norm(residual)

            def step(k, s):
                basis, h = s
                image = apply_to(basis[k])
                along = basis @ image
                once = image - along @ basis
                again = basis @ once
                left = once - again @ basis
                length = norm(left)
                return basis.at[k + 1].set(left / length), h.at[k].set((along + again).at[k + 1].set(length))

            start = jnp.zeros((inner + 1, n)).at[0].set(residual / beta), jnp.zeros((inner, inner + 1))
            basis, h = jax.lax.fori_loop(0, inner, step, start)
            y = jax.scipy.linalg.solve(h @ h.T, beta * h[:, 0], assume_a="pos")
            return x + y @ basis[:inner]

        return jax.lax.fori_loop(0, 4, restart, jnp.zeros_like(b))

    return run, [lib.uniform((n,), 1)]


def lbfgs(lib, part):
    jax, jnp, rows, n, pairs = lib.jax, lib.xp, part(5000), 200, 10

    def run(x, y):
        loss = lambda w: jnp.mean(jax.nn.softplus(-jnp.sign(y) * (x @ w))) + 1e-3 * jnp.sum(jnp.square(w))
        with_gradient = jax.value_and_grad(loss)

        def step(k, s):
            w, value, gradient, moves, changes, inverse = s

            def down(i, at):
                row = (k - 1 - i + pairs) % pairs
                a = inverse[row] * jnp.vdot(moves[row], at[0])
                return at[0] - a * changes[row], at[1].at[row].set(a)

            q, a = jax.lax.fori_loop(0, pairs, down, (gradient, jnp.zeros(pairs)))
            last = (k - 1 + pairs) % pairs
            change = changes[last]
            scale = jnp.where(k > 0, jnp.vdot(moves[last], change) / jnp.vdot(change, change), 1)

            def up(i, z):
                row = (k + i) % pairs
                b = inverse[row] * jnp.vdot(changes[row], z)
                return z + (a[row] - b) * moves[row]

            direction = -jax.lax.fori_loop(0, pairs, up, scale * q)
            slope = jnp.vdot(direction, gradient)
            too_long = lambda t: (loss(w + t * direction) > value + 1e-4 * t * slope) & (t > 1e-6)
            move = jax.lax.while_loop(too_long, lambda t: t / 2, 1.0) * direction
            value, following = with_gradient(w + move)
            turned, row = following - gradient, k % pairs
            return (w + move, value, following, moves.at[row].set(move), changes.at[row].set(turned),
                    inverse.at[row].set(1 / jnp.vdot(move, turned)))

        w, none = jnp.zeros(n), jnp.zeros((pairs, n))
        return jax.lax.fori_loop(0, 8, step, (w, *with_gradient(w), none, none, jnp.zeros(pairs)))[:2]

    return run, [lib.uniform((rows, n), 1), lib.uniform((rows,), 2)]


def hessians(lib, part):
    jax, jnp = lib.jax, lib.xp

    def run(net, x):
        def u(point):
            return jnp.sum(dense(net[2], jnp.tanh(dense(net[1], jnp.tanh(dense(net[0], point))))))

        return jax.vmap(jax.hessian(u))(x)

    net = [layer(lib, 8, 32, 2), layer(lib, 32, 32, 4), layer(lib, 32, 1, 6)]
    return run, [net, lib.uniform((part(1024), 8), 10)]


def gaussian_process(lib, part):
    jax, jnp, n = lib.jax, lib.xp, part(800)

    def run(p, x, y):
        def likelihood(at):
            scales = jnp.exp(at)
            apart = jnp.sum(jnp.square(x[:, None] - x[None]), 2)
            covariance = scales[1] * jnp.exp(-0.5 * apart / jnp.square(scales[0]))
            factor = jnp.linalg.cholesky(covariance + (scales[2] + 0.1) * jnp.eye(n))
            solved = jax.scipy.linalg.cho_solve((factor, True), y)
            return 0.5 * jnp.vdot(y, solved) + jnp.sum(jnp.log(jnp.diagonal(factor)))

        return jax.value_and_grad(likelihood)(p)

    return run, [lib.uniform((3,), 1), lib.uniform((n, 4), 2), lib.uniform((n,), 3)]


def recurrence(lib, part):
    join = lambda left, right: (left[0] * right[0], right[0] * left[1] + right[1])
    shape = part(16_384), 64
    run = lambda a, b: lib.jax.lax.associative_scan(join, (a, b))[1]
    return run, [lib.uniform(shape, 1), lib.uniform(shape, 2)]


def convolve(lib, part):
    return lib.xp.convolve, [lib.uniform((part(100_000),), 1), lib.uniform((101,), 2)]


def causal_attention(lib, part, gradient=False):
    jax, jnp, length = lib.jax, lib.xp, part(1024)

    def attended(q, k, v):
        scores = q @ jnp.swapaxes(k, 1, 2) / 8
        return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)) @ v

    arrays = [lib.uniform((16, length, 64), seed) for seed in (1, 2, 3, 4)]
    if not gradient:
        return attended, arrays[:3]
    return jax.grad(lambda q, k, v, ct: jnp.sum(attended(q, k, v) * ct), (0, 1, 2)), arrays


def graph_attention(lib, part):
    jax, jnp, nodes, edges, width = lib.jax, lib.xp, part(20_000), part(200_000), 64

    def loss(p, features, source, target):
        h = features @ p["w"]
        score = jax.nn.leaky_relu((h @ p["from"])[source] + (h @ p["to"])[target], 0.2)
        most = jnp.full(nodes, -1e30).at[target].max(score)
        weight = jnp.exp(score - jax.lax.stop_gradient(most)[target])
        share = weight / jnp.zeros(nodes).at[target].add(weight)[target]
        out = jnp.zeros((nodes, width)).at[target].add(share[:, None] * h[source])
        return jnp.mean(jnp.square(jax.nn.elu(out)))

    p = {"w": weights(lib, (width, width), 2), "from": weights(lib, (width,), 3), "to": weights(lib, (width,), 4)}
    ends = [lib.indices((edges,), nodes, seed) for seed in (11, 12)]
    return jax.value_and_grad(loss), [p, lib.uniform((nodes, width), 10), *ends]


def cnn_step(lib, part):
    jax, jnp, batch = lib.jax, lib.xp, part(128)
    pooled = lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4

    def loss(net, images, labels):
        once = pooled(jax.nn.relu(lib.conv(images, net["first"])))
        twice = pooled(jax.nn.relu(lib.conv(once, net["second"])))
        hidden = jax.nn.relu(dense(net["hidden"], twice.reshape(batch, -1)))
        return cross_entropy(lib, dense(net["head"], hidden), labels)

    def step(s, images, labels):
        value, g = jax.value_and_grad(loss)(s["net"], images, labels)
        speed = jax.tree.map(lambda v, slope: 0.9 * v + slope, s["speed"], g)
        return {"net": descend(lib, s["net"], speed, 0.01), "speed": speed}, value

    def net(seed):
        return {"first": lib.kernel((3, 3, 1, 32), seed), "second": lib.kernel((3, 3, 32, 64), seed + 1),
                "hidden": layer(lib, 7 * 7 * 64, 256, seed + 2), "head": layer(lib, 256, 10, seed + 4)}

    state = {"net": net(2), "speed": net(21)}
    return step, [state, lib.uniform((batch, 28, 28, 1), 100), lib.indices((batch,), 10, 101)], True


def batch_norm(lib, part):
    jax, jnp, shape = lib.jax, lib.xp, (part(32), 28, 28, 64)

    def normal(x, norm):
        centred = x - jnp.mean(x, (0, 1, 2))
        variance = jnp.mean(jnp.square(centred), (0, 1, 2))
        return centred * jax.lax.rsqrt(variance + 1e-5) * norm["scale"] + norm["offset"]

    def loss(p, x):
        once = jax.nn.relu(normal(lib.conv(x, p["first"]), p["one"]))
        return jnp.mean(jnp.square(jax.nn.relu(x + normal(lib.conv(once, p["second"]), p["two"]))))

    norm = lambda seed: {"scale": weights(lib, (64,), seed), "offset": weights(lib, (64,), seed + 1)}
    kernel = lambda seed: lib.kernel((3, 3, 64, 64), seed)
    block = {"first": kernel(2), "second": kernel(3), "one": norm(4), "two": norm(6)}
    return jax.value_and_grad(loss, (0, 1)), [block, lib.uniform(shape, 10)]


def lstm(lib, part):
    jax, jnp, batch, length, width, vocabulary = lib.jax, lib.xp, part(32), 64, 256, 1000

    def loss(p, tokens):
        def step(states, x):
            following = []
            for cell, (h, c) in zip(p["cells"], states):
                i, f, g, o = jnp.split(dense(cell, jnp.concatenate([x, h], 1)), 4, 1)
                c = jax.nn.sigmoid(i) * c + jax.nn.sigmoid(f) * jnp.tanh(g)
                x = jax.nn.sigmoid(o) * jnp.tanh(c)
                following.append((x, c))
            return following, x

        zero = jnp.zeros((batch, width))
        out = jax.lax.scan(step, [(zero, zero)] * 2, p["embedding"][tokens.T[:-1]])[1]
        return cross_entropy(lib, dense(p["head"], out), tokens.T[1:])

    model = {"embedding": weights(lib, (vocabulary, width), 2), "head": layer(lib, width, vocabulary, 7),
             "cells": [layer(lib, 2 * width, 4 * width, seed) for seed in (3, 5)]}
    return jax.value_and_grad(loss), [model, lib.indices((batch, length + 1), vocabulary, 100)]


PROGRAMS = {"hmc": hmc, "cg": cg, "gmres": gmres, "lbfgs": lbfgs, "hessians": hessians,
            "gaussian-process": gaussian_process, "recurrence": recurrence, "convolve": convolve,
            "causal-attention": causal_attention,
            "causal-attention-grad": lambda lib, part: causal_attention(lib, part, gradient=True),
            "graph-attention": graph_attention, "cnn-step": cnn_step, "batch-norm": batch_norm, "lstm": lstm}


def program(lib, size, form):
    part = lambda extent: max(2, extent * size[0] // 1000)
    f, arguments, *donated = PROGRAMS[form](SameNumbers(lib), part)
    return f, arguments, bool(donated)
