"""The case `ops` in JAX and PyTorch: each form of bench/cases/ops.cpp, as their users call it."""

# batch, in, side, out, window, stride, groups
CONVOLUTIONS = {"conv": (32, 64, 56, 64, 3, 1, 1), "conv-stem": (8, 3, 224, 64, 7, 2, 1),
                "conv-deep": (32, 256, 14, 256, 3, 1, 1), "conv-strided": (32, 128, 56, 128, 3, 2, 1),
                "conv-pointwise": (32, 256, 14, 1024, 1, 1, 1), "conv-depthwise": (32, 64, 56, 64, 3, 1, 64),
                "conv-blur": (1, 1, 2048, 1, 21, 1, 1)}
GRADIENTS = ("conv", "conv-stem", "conv-deep", "conv-strided", "conv-depthwise")
OPERATIONS = (*CONVOLUTIONS, *(f"{form}-grad" for form in GRADIENTS), "max-pool-grad", "fft", "fft2", "rfft", "top-k",
              "cumsum", "median", "scatter-rows", "attention", "stencil", "lorenz", "lorenz-array", "matmul", "matmul-f64",
              "matmul-bf16", "matvec", "cholesky", "triangular-solve", "solve", "qr", "svd", "eigh")


def shapes_of(form, part):
    """The shapes of the uniform arguments."""
    n = part
    return {"max-pool-grad": [(32, 64, n(112), n(112))], "rfft": [(n(1000), 1024)], "top-k": [(n(4096), 4096)],
            "cumsum": [(n(1 << 24),)], "median": [(n(1024), 4096)], "scatter-rows": [(n(1_000_000), 64)],
            "attention": [(8, n(1024), 64)] * 3, "stencil": [(n(2048),) * 2], "lorenz": [()] * 3,
            "lorenz-array": [(3,)],
            "matmul": [(n(1024),) * 2] * 2, "matmul-f64": [(n(1024),) * 2] * 2, "matmul-bf16": [(n(1024),) * 2] * 2,
            "matvec": [(n(8192),) * 2, (n(8192),)], "cholesky": [(n(1024),) * 2], "triangular-solve": [(n(1024),) * 2] * 2,
            "solve": [(n(1024),) * 2] * 2, "qr": [(n(1024),) * 2], "svd": [(n(512),) * 2], "eigh": [(n(512),) * 2]}[form]


def convolution(form, part):
    batch, inputs, side, outputs, window, stride, groups = CONVOLUTIONS[form]
    side = part(side)
    count = (side + 2 * (window // 2) - window) // stride + 1
    shapes = [(batch, inputs, side, side), (outputs, inputs // groups, window, window), (batch, outputs, count, count)]
    return shapes, stride, window // 2, groups


def diffused(u):
    """What a step of `stencil` makes of the inside."""
    middle = u[1:-1, 1:-1]
    return middle + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * middle)


def lorenz(x, y, z):
    return x + 0.001 * 10 * (y - x), y + 0.001 * (x * (28 - z) - y), z + 0.001 * (x * y - 8 / 3 * z)


def lorenz_array(stack):
    def step(s):
        x, y, z = s[0], s[1], s[2]
        return (s + 0.001 * stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z]),)

    return step


def with_diagonal(a, eye):
    return a + 2 * a.shape[0] * eye(a.shape[0])


def in_jax(lib, form, part, make):
    jax, jnp = lib.jax, lib.xp
    base = form.removesuffix("-grad")
    if base in CONVOLUTIONS:
        (x, w, y), stride, pad, groups = convolution(base, part)
        conv = lambda a, b: jax.lax.conv_general_dilated(
            a, b, (stride, stride), [(pad, pad)] * 2, feature_group_count=groups,
            dimension_numbers=("NCHW", "OIHW", "NCHW"))
        if form == base:
            return conv, make([x, w])
        return jax.grad(lambda a, b, c: jnp.sum(conv(a, b) * c), (0, 1)), make([x, w, y])
    if form in ("fft", "fft2"):
        n = 1 << (20 if form == "fft" else 10)
        shape = (n,) if form == "fft" else (n, n)
        f = jnp.fft.fft if form == "fft" else jnp.fft.fft2
        return lambda re, im: f(re + 1j * im), make([shape, shape])
    if form == "scatter-rows":
        rows = shapes_of(form, part)[0][0]
        at = jax.random.randint(jax.random.key(2), (rows,), 0, 1000)
        return lambda u, i: jnp.zeros((1000, 64)).at[i].add(u), [*make(shapes_of(form, part)), at]
    loop = lambda steps, step: lambda *state: jax.lax.fori_loop(0, steps, lambda i, s: step(*s), state)
    own = {"attention": lambda q, k, v: jax.nn.softmax(q @ jnp.swapaxes(k, 1, 2) / 8) @ v,
           "stencil": loop(100, lambda u: (u.at[1:-1, 1:-1].set(diffused(u)),)), "lorenz": loop(part(100_000), lorenz),
           "lorenz-array": loop(part(100_000), lorenz_array(jnp.stack))}
    if form in own:
        return own[form], make(shapes_of(form, part))
    pool = lambda a: jax.lax.reduce_window(a, -jnp.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2),
                                           [(0, 0), (0, 0), (1, 1), (1, 1)])
    f = {"max-pool-grad": jax.grad(lambda a: jnp.sum(jnp.square(pool(a)))), "rfft": jnp.fft.rfft,
         "top-k": lambda a: jax.lax.top_k(a, 10), "cumsum": jnp.cumsum, "median": lambda a: jnp.median(a, 1),
         "matvec": jnp.matmul, "cholesky": lambda a: jnp.linalg.cholesky(with_diagonal(a + a.T, jnp.eye)),
         "triangular-solve": lambda a, b: jax.scipy.linalg.solve_triangular(with_diagonal(a, jnp.eye), b, lower=True),
         "solve": jnp.linalg.solve, "qr": jnp.linalg.qr, "svd": lambda a: jnp.linalg.svd(a, full_matrices=False),
         "eigh": lambda a: jnp.linalg.eigh(a + a.T)}.get(form, jnp.matmul)
    kind = {"matmul-f64": "float64", "matmul-bf16": "bfloat16"}.get(form, "float32")
    return f, [a.astype(kind) for a in make(shapes_of(form, part))]


def in_torch(lib, form, part, make):
    torch = lib.torch
    functional = torch.nn.functional
    base = form.removesuffix("-grad")
    if base in CONVOLUTIONS:
        (x, w, y), stride, pad, groups = convolution(base, part)
        if form == base:
            return lambda a, b: functional.conv2d(a, b, stride=stride, padding=pad, groups=groups), make([x, w])
        backward = torch.ops.aten.convolution_backward
        f = lambda a, b, c: backward(c, a, b, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], groups,
                                     [True, True, False])[:2]
        return f, make([x, w, y])
    if form in ("fft", "fft2"):
        n = 1 << (20 if form == "fft" else 10)
        shape = (n,) if form == "fft" else (n, n)
        f = torch.fft.fft if form == "fft" else torch.fft.fft2
        return lambda re, im: f(torch.complex(re, im)), make([shape, shape])
    if form == "scatter-rows":
        rows = shapes_of(form, part)[0][0]
        at = torch.randint(0, 1000, (rows,))
        return lambda u, i: torch.zeros(1000, 64).index_add_(0, i, u), [*make(shapes_of(form, part)), at]

    def loop(steps, step):
        def run(*state):
            for _ in range(steps):
                state = step(*state)
            return state

        return run

    def stencil(u):
        u = u.clone()
        u[1:-1, 1:-1] = diffused(u)
        return (u,)

    own = {"attention": lambda *qkv: functional.scaled_dot_product_attention(*(a[None] for a in qkv)),
           "stencil": loop(100, stencil), "lorenz": loop(part(100_000), lorenz),
           "lorenz-array": loop(part(100_000), lorenz_array(torch.stack))}
    if form in own:
        return own[form], make(shapes_of(form, part))

    def pool_gradient(a):
        with torch.enable_grad():
            leaf = a.detach().requires_grad_()
            total = functional.max_pool2d(leaf, 3, 2, 1).square().sum()
            return torch.autograd.grad(total, leaf)[0]

    f = {"max-pool-grad": pool_gradient, "rfft": torch.fft.rfft, "top-k": lambda a: torch.topk(a, 10),
         "cumsum": lambda a: torch.cumsum(a, 0), "median": lambda a: torch.median(a, 1), "matvec": torch.matmul,
         "cholesky": lambda a: torch.linalg.cholesky(with_diagonal(a + a.T, torch.eye)),
         "triangular-solve": lambda a, b: torch.linalg.solve_triangular(with_diagonal(a, torch.eye), b, upper=False),
         "solve": torch.linalg.solve, "qr": torch.linalg.qr, "svd": lambda a: torch.linalg.svd(a, full_matrices=False),
         "eigh": lambda a: torch.linalg.eigh(a + a.T)}.get(form, torch.matmul)
    kind = {"matmul-f64": torch.float64, "matmul-bf16": torch.bfloat16}.get(form, torch.float32)
    return f, [a.to(kind) for a in make(shapes_of(form, part))]


def operation(lib, size, form):
    part = lambda extent: max(2, extent * size[0] // 1000)
    if hasattr(lib, "torch"):
        make = lambda shapes: [2 * lib.torch.rand(shape) - 1 for shape in shapes]
        return *in_torch(lib, form, part, make), False
    if form == "matmul-f64":
        lib.jax.config.update("jax_enable_x64", True)
    return *in_jax(lib, form, part, lambda shapes: [lib.uniform(shape, i) for i, shape in enumerate(shapes)]), False
