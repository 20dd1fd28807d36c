"""The benchmark's models in JAX and MLX, one function for each case of bench/cases, with the same shapes and dtypes.

What both libraries write alike is written once, over `xp` (jax.numpy or mlx.core); what they do not goes through the
classes of libraries.py. A case returns (function, arguments, donated): with `donated`, the function is a training step
that takes its first argument's memory and returns (next state, loss).
"""

import math


def weights(lib, shape, seed, scale=None):
    if scale is None:
        scale = 0.1 if len(shape) < 2 else math.sqrt(3 / math.prod(shape[:-1]))
    return lib.uniform(shape, seed, scale)


def layer(lib, inputs, outputs, seed):
    return {"w": weights(lib, (inputs, outputs), seed), "b": weights(lib, (outputs,), seed + 1)}


def dense(p, x):
    return x @ p["w"] + p["b"]


def rsqrt(xp, x):
    return xp.rsqrt(x) if hasattr(xp, "rsqrt") else 1 / xp.sqrt(x)


def normalized(xp, x):
    centred = x - x.mean(-1, keepdims=True)
    return centred * rsqrt(xp, (centred * centred).mean(-1, keepdims=True) + 1e-5)


def cross_entropy(lib, logits, labels):
    return -lib.xp.take_along_axis(lib.log_softmax(logits), labels[..., None], -1).mean()


def descend(lib, params, gradient, rate):
    return lib.tree_map(lambda p, g: p - rate * g, params, gradient)


def hessian_mlp(lib, size, form):
    xp, (batch, width) = lib.xp, size
    n = 2 * (width * width + width) + width + 1

    def loss(flat, x, y):
        at, h = 0, x
        for outputs in (width, width, 1):
            w = flat[at : at + width * outputs].reshape(width, outputs)
            b = flat[at + width * outputs : at + width * outputs + outputs]
            at += width * outputs + outputs
            h = h @ w + b
            h = xp.tanh(h) if outputs > 1 else h
        return xp.square(h[:, 0] - y).mean()

    arguments = lib.uniform((n,), 1, 0.3), lib.uniform((batch, width), 2), lib.uniform((batch,), 3)
    return lib.hessian(loss, n), arguments, False


def per_example_grad(lib, size, form):
    xp, (batch, width) = lib.xp, size

    def loss_of_one(p, image, label):
        x = image
        for i, one in enumerate(p):
            x = dense(one, x)
            x = xp.maximum(x, 0) if i + 1 < len(p) else x
        return -lib.log_softmax(x)[label]

    def gradients(p, images, labels):
        return lib.vmap(lib.grad(loss_of_one), (None, 0, 0))(p, images, labels)

    def clipped(p, images, labels):
        every = gradients(p, images, labels)
        squares = sum(xp.square(g.reshape(batch, -1)).sum(1) for g in lib.leaves(every))
        scale = xp.minimum(rsqrt(xp, squares + 1e-12), 1) / batch
        return lib.tree_map(lambda g: (g * scale.reshape(-1, *[1] * (g.ndim - 1))).sum(0), every)

    p = [layer(lib, 784, width, 1), layer(lib, width, width, 3), layer(lib, width, 10, 5)]
    arguments = p, lib.uniform((batch, 784), 10), lib.indices((batch,), 10, 11)
    return gradients if form == "all" else clipped, arguments, False


def attention(lib, size, form):
    heads, length = size

    def forward(q, k, v):
        return lib.softmax((q @ k.swapaxes(1, 2)) * (1 / 8)) @ v

    arrays = [lib.uniform((heads, length, 64), seed, 2) for seed in (1, 2, 3, 4)]
    if form == "forward":
        return forward, arrays[:3], False
    return lib.grad(lambda q, k, v, w: (forward(q, k, v) * w).sum(), (0, 1, 2)), arrays, False


def resnet_step(lib, size, form):
    xp, (n, side, channels) = lib.xp, size

    def loss(p, images, labels):
        x = lib.conv(images, p["stem"])
        for block in p["blocks"]:
            inner = lib.conv(xp.maximum(normalized(xp, x), 0), block["first"])
            x = x + lib.conv(xp.maximum(normalized(xp, inner), 0), block["second"])
        return cross_entropy(lib, dense(p["head"], xp.maximum(x, 0).mean((1, 2))), labels)

    def step(p, images, labels):
        value, g = lib.value_and_grad(loss)(p, images, labels)
        return descend(lib, p, g, 0.01), value

    kernel = lambda inputs, seed: lib.kernel((3, 3, inputs, channels), seed)
    p = {"stem": kernel(3, 1), "head": layer(lib, channels, 10, 2),
         "blocks": [{"first": kernel(channels, 10 + i), "second": kernel(channels, 20 + i)} for i in range(3)]}
    return step, (p, lib.uniform((n, side, side, 3), 100), lib.indices((n,), 10, 101)), True


def transformer_step(lib, size, form):
    xp, (batch, length, width) = lib.xp, size

    def attend(block, x):
        split = lambda a: a.reshape(batch, length, width // 64, 64).swapaxes(1, 2)
        q, k, v = (split(a) for a in xp.split(x @ block["qkv"], 3, 2))
        scores = (q @ k.swapaxes(2, 3)) * (1 / 8)
        visible = xp.arange(length)[:, None] >= xp.arange(length)[None]
        mixed = lib.softmax(xp.where(visible, scores, -1e9)) @ v
        return mixed.swapaxes(1, 2).reshape(batch, length, width) @ block["out"]

    def loss(p, tokens):
        x = p["embedding"][tokens[:, :length]] + p["position"]
        for block in p["blocks"]:
            x = x + attend(block, normalized(xp, x))
            x = x + dense(block["down"], lib.gelu(dense(block["up"], normalized(xp, x))))
        return cross_entropy(lib, normalized(xp, x) @ p["embedding"].T, tokens[:, 1:])

    def step(state, tokens):
        p, mean, square, count = state
        value, g = lib.value_and_grad(loss)(p, tokens)
        count = count + 1
        mean = lib.tree_map(lambda m, g: 0.9 * m + 0.1 * g, mean, g)
        square = lib.tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, square, g)
        a, b = 1 / (1 - 0.9**count), 1 / (1 - 0.999**count)
        p = lib.tree_map(lambda p, m, v: p - 1e-3 * (m * a) / (xp.sqrt(v * b) + 1e-8), p, mean, square)
        return [p, mean, square, count], value

    block = lambda seed: {"qkv": weights(lib, (width, 3 * width), seed), "out": weights(lib, (width, width), seed + 1),
                          "up": layer(lib, width, 4 * width, seed + 2), "down": layer(lib, 4 * width, width, seed + 4)}
    p = {"embedding": weights(lib, (2048, width), 1), "position": weights(lib, (length, width), 2),
         "blocks": [block(10 * i) for i in range(1, 5)]}
    zeros = lambda: lib.tree_map(lib.zeros_like, p)
    state = [p, zeros(), zeros(), xp.zeros(())]
    return step, (state, lib.indices((batch, length + 1), 2048, 100)), True


def diffusion_sampler(lib, size, form):
    xp, (batch, width, steps) = lib.xp, size

    def noise_in(p, x, t):
        angle = t * xp.exp(xp.arange(32, dtype=xp.float32) * (7 / 32))
        features = xp.concatenate([xp.sin(angle), xp.cos(angle)])
        h = lib.silu(dense(p["in"], x) + features @ p["time"])
        return dense(p["out"], lib.silu(dense(p["hidden"], h)))

    signal_at = lambda t: xp.square(xp.cos((t + 0.008) * (math.pi / 2 / 1.008)))

    def step(x, i, p, key):
        t = i.astype(xp.float32) / steps
        signal = signal_at(t)
        alpha = xp.maximum(signal / signal_at(t - 1 / steps), 0.001)
        mean = (x - (1 - alpha) * rsqrt(xp, 1 - signal) * noise_in(p, x, t)) * rsqrt(xp, alpha)
        return mean + xp.where(i > 1, xp.sqrt(1 - alpha), 0) * lib.normal(lib.fold_in(key, i), (batch, width)), None

    def sample(p, key):
        return lib.scan(step, lib.normal(key, (batch, width)), xp.arange(steps, 0, -1), p, key)[0]

    p = {"in": layer(lib, width, 4 * width, 1), "hidden": layer(lib, 4 * width, 4 * width, 3),
         "out": layer(lib, 4 * width, width, 5), "time": weights(lib, (64, 4 * width), 7)}
    return sample, (p, lib.key(42)), False


def nbody(lib, size, form):
    xp, (n, steps) = lib.xp, size
    dt = 1e-3

    def acceleration(position, mass):
        d = position[None] - position[:, None]
        distance = xp.square(d).sum(-1) + 1e-2
        pull = mass * rsqrt(xp, distance) / distance
        return (d * pull[..., None]).sum(1)

    def step(bodies, i, mass):
        position, velocity = bodies
        half = velocity + (0.5 * dt) * acceleration(position, mass)
        position = position + dt * half
        velocity = half + (0.5 * dt) * acceleration(position, mass)
        return (position, velocity), 0.5 * (mass * xp.square(velocity).sum(1)).sum()

    rollout = lambda bodies, mass: lib.scan(step, bodies, xp.arange(steps), mass)
    spread = lambda bodies, mass: xp.square(rollout(bodies, mass)[0][0]).sum()
    bodies = lib.uniform((n, 3), 1), lib.uniform((n, 3), 2)
    return rollout if form == "rollout" else lib.grad(spread), (bodies, xp.full((n,), 1 / n)), False


def embedding_step(lib, size, form):
    xp, (words, n) = lib.xp, size
    softplus = lambda x: xp.logaddexp(x, 0)

    def loss(tables, context, word, others):
        centre = tables["in"][context].mean(1)
        right = (centre * tables["out"][word]).sum(1)
        wrong = (centre[:, None] * tables["out"][others]).sum(2)
        return (softplus(-right) + softplus(wrong).sum(1)).mean()

    def step(tables, *batch):
        value, g = lib.value_and_grad(loss)(tables, *batch)
        return descend(lib, tables, g, 0.1), value

    tables = {"in": lib.uniform((words, 64), 1), "out": lib.uniform((words, 64), 2)}
    batch = lib.indices((n, 8), words, 3), lib.indices((n,), words, 4), lib.indices((n, 8), words, 5)
    return step, (tables, *batch), True


def graph_net(lib, size, form):
    xp, (nodes, edges) = lib.xp, size

    def loss(p, features, start, end, target):
        h = features
        for one in p:
            ends = xp.concatenate([h[start], h[end]], 1)
            messages = xp.maximum(dense(one["message"], ends), 0)
            arrived = xp.zeros(h.shape).at[end].add(messages)
            h = h + xp.maximum(dense(one["update"], xp.concatenate([h, arrived], 1)), 0)
        return xp.square(h.mean(1) - target).mean()

    p = [{"message": layer(lib, 64, 32, i), "update": layer(lib, 64, 32, i + 2)} for i in (10, 20, 30)]
    graph = (lib.uniform((nodes, 32), 101), lib.indices((edges,), nodes, 102), lib.indices((edges,), nodes, 103),
             lib.uniform((nodes,), 104))
    return lib.value_and_grad(loss), (p, *graph), False


MODELS = {
    "hessian-mlp": ((256, 32), hessian_mlp, ("plain",)),
    "per-example-grad": ((256, 256), per_example_grad, ("clipped", "all")),
    "attention": ((4, 2048), attention, ("forward", "grad")),
    "resnet-step": ((32, 32, 32), resnet_step, ("plain",)),
    "transformer-step": ((4, 256, 256), transformer_step, ("plain",)),
    "diffusion-sampler": ((1024, 64, 50), diffusion_sampler, ("plain",)),
    "nbody": ((1024, 20), nbody, ("rollout", "grad")),
    "embedding-step": ((200000, 8192), embedding_step, ("plain",)),
    "graph-net": ((20000, 200000), graph_net, ("plain",)),
}  # default size, case, forms
