"""The case `throughput` in JAX and PyTorch: each form of bench/cases/throughput.cpp, as their users call it."""

FORMS = ("negate", "add", "chain", "exp", "uniform", "transpose", "sum", "row-sums", "column-sums", "softmax", "cumsum",
         "sort", "gather", "gather-rows", "scatter-16", "scatter-64k", "scatter-16m", "matmul", "matmul-f16", "matmul-bf16")
LONG, SIDE, KEYS, TABLE = 1 << 28, 16384, 1 << 26, 1 << 24
BINS = {"scatter-16": 16, "scatter-64k": 1 << 16, "scatter-16m": TABLE}


def chain(xp):
    def f(x):
        y = xp.sqrt(abs(2 * x + 1))
        z = xp.maximum(y - x * x, 0.25 * x)
        return z / (1 + abs(z))

    return f


def shapes_of(form, part):
    """The shapes of the uniform arguments."""
    if form in ("transpose", "row-sums", "column-sums", "softmax"):
        return [(part(SIDE),) * 2]
    if form.startswith("matmul"):
        return [(part(8192),) * 2] * 2
    if form in ("sort", *BINS):
        return [(part(KEYS),)]
    return {"uniform": [], "gather": [(part(TABLE),)], "gather-rows": [(part(TABLE // 64), 64)],
            "add": [(part(LONG),)] * 2}.get(form, [(part(LONG),)])


def indices_of(form, part):
    """How many indices there are, below which limit; None where there are none."""
    if form in BINS:
        return part(KEYS), BINS[form]
    return {"gather": (part(KEYS), part(TABLE)), "gather-rows": (part(KEYS // 64), part(TABLE // 64))}.get(form)


def in_jax(lib, form, part):
    jax, jnp = lib.jax, lib.xp
    jax.config.update("jax_default_matmul_precision", "highest")  # f32 as f32, on GPUs too
    arguments = [lib.uniform(shape, i) for i, shape in enumerate(shapes_of(form, part))]
    if indices := indices_of(form, part):
        arguments.append(lib.indices(indices[:1], indices[1], 2))
    if form == "uniform":
        return lambda key: jax.random.uniform(key, (part(LONG),)), [lib.key(42)]
    if form in BINS:
        return lambda x, at: jnp.zeros(BINS[form]).at[at].add(x), arguments
    f = {"negate": lambda x: -x, "add": lambda x, y: x + y, "chain": chain(jnp), "exp": jnp.exp, "transpose": jnp.transpose,
         "sum": jnp.sum, "row-sums": lambda x: jnp.sum(x, 1), "column-sums": lambda x: jnp.sum(x, 0),
         "softmax": lambda x: jax.nn.softmax(x, 1), "cumsum": jnp.cumsum, "sort": jnp.sort,
         "gather": lambda x, at: x[at], "gather-rows": lambda x, at: x[at]}.get(form, jnp.matmul)
    kind = {"matmul-f16": "float16", "matmul-bf16": "bfloat16"}.get(form)
    return f, [a.astype(kind) for a in arguments] if kind else arguments


def in_torch(lib, form, part):
    torch = lib.torch
    arguments = [2 * torch.rand(shape) - 1 for shape in shapes_of(form, part)]
    if indices := indices_of(form, part):
        arguments.append(torch.randint(0, indices[1], indices[:1]))
    if form in BINS:
        return lambda x, at: torch.zeros(BINS[form]).index_add_(0, at, x), arguments
    f = {"negate": lambda x: -x, "add": lambda x, y: x + y, "chain": chain(torch), "exp": torch.exp,
         "uniform": lambda: torch.rand(part(LONG)), "transpose": lambda x: x.t().contiguous(), "sum": torch.sum,
         "row-sums": lambda x: x.sum(1), "column-sums": lambda x: x.sum(0), "softmax": lambda x: torch.softmax(x, 1),
         "cumsum": lambda x: torch.cumsum(x, 0), "sort": lambda x: torch.sort(x).values, "gather": lambda x, at: x[at],
         "gather-rows": lambda x, at: x[at]}.get(form, torch.matmul)
    kind = {"matmul-f16": torch.float16, "matmul-bf16": torch.bfloat16}.get(form)
    return f, [a.to(kind) for a in arguments] if kind else arguments


def throughput(lib, size, form):
    part = lambda extent: max(2, extent * size[0] // 1000)
    return *(in_torch if hasattr(lib, "torch") else in_jax)(lib, form, part), False
