"""Operations at shapes drawn at random: what nobody chose. Each seed draws one operation, its shapes, axes and type."""

import random
import string

from .library import PROGRAMS, Program, grad, integers, lax, nn, normal, np, ordered, positive, linalg

SEEDS = 12  # of each kind
KINDS = []


def kind(f):
    """Lists a function from a generator to the makers of arguments and the program of them."""
    KINDS.append(f)
    return f


def about(r, low, high):
    """A whole number between both, as often of each magnitude; mostly not a power of two."""
    n = round(low * (high / low) ** r.random())
    return 1 << (n.bit_length() - 1) if r.random() < 0.3 else n


def shape_of(r, rank, size):
    """A shape of `rank` axes with about `size` elements."""
    cuts = [r.random() + 0.15 for _ in range(rank)]
    shape = [max(1, round(size ** (c / sum(cuts)))) for c in cuts]
    return tuple(1 << (n.bit_length() - 1) if r.random() < 0.3 else n for n in shape)


def drawn(r, rank=None, size=None):
    return shape_of(r, rank or r.randint(1, 4), size or about(r, 1000, 2_000_000))


def numbers(r, shape):
    """A maker of numbers of a type that programs often have."""
    dtype = r.choice(["float32"] * 5 + ["int32"] * 2 + ["uint8", "bool"])
    if dtype == "float32":
        return normal(*shape)
    return integers(*shape, high=2 if dtype == "bool" else 100, dtype=dtype)


def axes_of(r, rank):
    return tuple(sorted(r.sample(range(rank), r.randint(1, rank))))


@kind
def reduction(r):
    shape = drawn(r)
    axes, name = axes_of(r, len(shape)), r.choice(["sum", "max", "mean", "prod", "any", "std", "min", "ptp"])
    return [numbers(r, shape)], lambda x: getattr(np, name)(x if name in ("sum", "any") else x.astype(np.float32), axis=axes)


@kind
def argument(r):
    shape = drawn(r)
    axis, name = r.randrange(len(shape)), r.choice(["argmax", "argmin"])
    return [numbers(r, shape)], lambda x: getattr(np, name)(x, axis=axis)


@kind
def transposed(r):
    shape = drawn(r, r.randint(2, 5))
    order = r.sample(range(len(shape)), len(shape))
    return [numbers(r, shape)], lambda x: np.transpose(x, order)


@kind
def transposed_sum(r):
    shape = drawn(r, r.randint(2, 4))
    order = r.sample(range(len(shape)), len(shape))
    other = tuple(shape[i] for i in order)
    return [normal(*shape), normal(*other)], lambda x, y: np.transpose(x, order) * 2 + y


@kind
def product(r):
    letters = string.ascii_lowercase
    batch, left, right, summed = r.randint(0, 1), r.randint(0, 2), r.randint(0, 2), r.randint(1, 2)
    names = letters[: batch + left + right + summed]
    b, m, n, k = names[:batch], names[batch : batch + left], names[batch + left : batch + left + right], names[batch + left + right :]
    work = about(r, 10_000, 100_000_000)
    size = dict(zip(names, shape_of(r, len(names), work)))
    mixed = lambda s: "".join(r.sample(s, len(s)))
    lhs, rhs, out = mixed(b + m + k), mixed(b + n + k), mixed(b + m + n)
    shapes = [tuple(size[c] for c in s) for s in (lhs, rhs)]
    return [normal(*shapes[0]), normal(*shapes[1])], lambda x, y: np.einsum(f"{lhs},{rhs}->{out}", x, y)


@kind
def matmul(r):
    m, k, n = (about(r, 1, 700) for _ in range(3))
    return [normal(m, k), normal(k, n)], lambda x, y: x @ y


@kind
def matmul_layouts(r):
    m, k, n = (about(r, 4, 500) for _ in range(3))
    left, right = r.random() < 0.5, r.random() < 0.5
    bias = r.random() < 0.5
    makers = [normal(*((k, m) if left else (m, k))), normal(*((n, k) if right else (k, n))), normal(n)]
    def f(x, y, b):
        z = (x.T if left else x) @ (y.T if right else y)
        return nn.gelu(z + b) if bias else z * b
    return makers, f


@kind
def batched_matmul(r):
    b, m, k, n = about(r, 2, 300), about(r, 1, 70), about(r, 1, 70), about(r, 1, 70)
    return [normal(b, m, k), normal(b, k, n)], lambda x, y: x @ y


@kind
def gathered_rows(r):
    rows, width, taken = about(r, 10, 100_000), about(r, 1, 100), about(r, 10, 20_000)
    return [numbers(r, (rows, width)), integers(taken, high=rows)], lambda x, i: x[i]


@kind
def gathered_along(r):
    shape = drawn(r, r.randint(2, 3), about(r, 1000, 500_000))
    axis = r.randrange(len(shape))
    return [normal(*shape), integers(*shape, high=shape[axis])], lambda x, i: np.take_along_axis(x, i, axis=axis)


@kind
def taken(r):
    shape = drawn(r, r.randint(2, 3), about(r, 1000, 500_000))
    axis = r.randrange(len(shape))
    return [normal(*shape), integers(about(r, 2, 500), high=shape[axis])], lambda x, i: np.take(x, i, axis=axis)


@kind
def scattered(r):
    rows, width, added = about(r, 4, 50_000), about(r, 1, 60), about(r, 10, 30_000)
    name = r.choice(["add", "set", "max"])
    makers = [normal(rows, width), integers(added, high=rows), normal(added, width)]
    return makers, lambda x, i, u: getattr(x.at[i], name)(u)


@kind
def scattered_columns(r):
    rows, width, added = about(r, 4, 500), about(r, 4, 600), about(r, 4, 600)
    return [normal(rows, width), integers(added, high=width), normal(rows, added)], lambda x, i, u: x.at[:, i].add(u)


@kind
def ordering(r):
    shape = drawn(r, r.randint(1, 3), about(r, 1000, 300_000))
    axis, name = r.randrange(len(shape)), r.choice(["sort", "argsort", "median"])
    return [numbers(r, shape)], lambda x: getattr(np, name)(x, axis=axis)


@kind
def running(r):
    shape = drawn(r)
    axis, name = r.randrange(len(shape)), r.choice(["cumsum", "cumprod", "cummax"])
    f = lax.cummax if name == "cummax" else getattr(np, name)
    return [normal(*shape, scale=0.1)], lambda x: f(x, axis=axis)


@kind
def window(r):
    rank = r.randint(1, 3)
    shape = drawn(r, rank, about(r, 1000, 500_000))
    sides = tuple(min(n, r.randint(1, 7)) for n in shape)
    strides = tuple(r.randint(1, 3) for _ in shape)
    padding, (start, f) = r.choice(["SAME", "VALID"]), r.choice([(0.0, lax.add), (-float("inf"), lax.max)])
    return [normal(*shape)], lambda x: lax.reduce_window(x, start, f, sides, strides, padding)


def convolution_of(r):
    rank = r.randint(1, 3)
    space = [about(r, 4, {1: 2000, 2: 70, 3: 20}[rank]) for _ in range(rank)]
    sides = [min(n, r.randint(1, 7 if rank < 3 else 4)) for n in space]
    groups = r.choice([1, 1, 1, 2, 4])
    n, c, o = about(r, 1, 9), groups * about(r, 1, 40), groups * about(r, 1, 40)
    strides, dilation = r.choice([1, 1, 2, 3]), r.choice([1, 1, 1, 2])
    padding = r.choice(["SAME", "VALID"]) if all(dilation * (k - 1) < s for k, s in zip(sides, space)) else "SAME"
    letters = "DHW"[-rank:]
    plan = r.choice([("NC" + letters, "OI" + letters, "NC" + letters), ("N" + letters + "C", letters + "IO", "N" + letters + "C")])
    size = {"N": n, "C": c, **dict(zip(letters, space))}
    kernel = {"O": o, "I": c // groups, **dict(zip(letters, sides))}
    makers = [normal(*(size[a] for a in plan[0])), normal(*(kernel[a] for a in plan[1]))]

    def f(x, w):
        return lax.conv_general_dilated(
            x, w, (strides,) * rank, padding, rhs_dilation=(dilation,) * rank, dimension_numbers=plan, feature_group_count=groups
        )

    return makers, f


@kind
def convolution(r):
    return convolution_of(r)


@kind
def convolution_gradient(r):
    makers, f = convolution_of(r)
    return makers, grad(lambda x, w: np.sum(f(x, w) ** 2), argnums=(0, 1))


@kind
def transform(r):
    rank, name = r.randint(1, 2), r.choice(["fft", "rfft", "ifft", "fft2", "rfft2"])
    shape = drawn(r, max(rank, 2 if name.endswith("2") else 1), about(r, 500, 300_000))
    return [normal(*shape)], lambda x: getattr(np.fft, name)(x)


@kind
def joined(r):
    shape = drawn(r, r.randint(1, 3), about(r, 1000, 500_000))
    axis = r.randrange(len(shape))
    other = tuple(about(r, 1, n + 1) if i == axis else n for i, n in enumerate(shape))
    return [normal(*shape), normal(*other)], lambda x, y: np.concatenate([x, y, x], axis=axis)


@kind
def padded(r):
    shape = drawn(r, r.randint(1, 3), about(r, 1000, 500_000))
    widths = [(r.randint(0, 4), r.randint(0, 4)) for _ in shape]
    mode = r.choice(["constant", "edge", "wrap"])
    return [normal(*shape)], lambda x: np.pad(x, [(min(a, n), min(b, n)) for (a, b), n in zip(widths, shape)], mode=mode)


@kind
def sliced(r):
    shape = drawn(r, r.randint(1, 4))
    parts = tuple(slice(r.randint(0, n // 3), n - r.randint(0, n // 3), r.choice([1, 1, 2, 3, -1])) for n in shape)
    parts = tuple(slice(None, None, -1) if p.step == -1 else p for p in parts)
    return [numbers(r, shape)], lambda x: x[parts]


@kind
def repeated(r):
    shape = drawn(r, r.randint(1, 3), about(r, 500, 200_000))
    axis, times, name = r.randrange(len(shape)), r.randint(2, 5), r.choice(["repeat", "tile", "roll"])
    calls = {
        "repeat": lambda x: np.repeat(x, times, axis=axis),
        "tile": lambda x: np.tile(x, [times if i == axis else 1 for i in range(len(shape))]),
        "roll": lambda x: np.roll(x, times, axis=axis),
    }
    return [numbers(r, shape)], calls[name]


@kind
def stacked(r):
    shape = drawn(r, r.randint(1, 3), about(r, 500, 200_000))
    axis = r.randrange(len(shape) + 1)
    return [normal(*shape)] * 3, lambda x, y, z: np.stack([x, y + 1, z * x], axis=axis)


@kind
def reshaped(r):
    a, b, c = (about(r, 2, 120) for _ in range(3))
    d = about(r, 1, 12)
    return [normal(a, b, c * d)], lambda x: np.swapaxes(x.reshape(a, b * c, d), 1, 2).reshape(a * d, b * c) + 1


@kind
def normalised(r):
    shape = drawn(r, r.randint(2, 4), about(r, 1000, 1_000_000))
    axis, name = r.randrange(len(shape)), r.choice(["softmax", "log_softmax", "logsumexp", "standardize"])
    return [normal(*shape)], lambda x: getattr(nn, name)(x, axis=axis)


@kind
def broadcast(r):
    shape = drawn(r, r.randint(2, 4))
    cut = lambda: tuple(1 if r.random() < 0.5 else n for n in shape)
    return [normal(*cut()), normal(*cut()), normal(*cut())], lambda x, y, z: np.tanh(x + y) * z + x * y


@kind
def outer_reduction(r):
    n, m, d = about(r, 10, 2000), about(r, 10, 2000), about(r, 1, 8)
    name = r.choice(["sum", "min", "max"])
    return [normal(n, d), normal(m, d)], lambda x, y: getattr(np, name)(np.sum((x[:, None] - y[None]) ** 2, -1), axis=1)


@kind
def selection(r):
    rows, width = about(r, 1, 500), about(r, 20, 5000)
    k = min(width, about(r, 1, 60))
    return [normal(rows, width)], lambda x: lax.top_k(x, k)


@kind
def segments(r):
    n, groups, width = about(r, 100, 100_000), about(r, 2, 5000), about(r, 1, 20)
    return [normal(n, width), ordered(n, high=groups)], lambda x, i: np.zeros((groups, width)).at[i].add(x)


@kind
def counted(r):
    n, bins = about(r, 1000, 1_000_000), about(r, 2, 5000)
    name = r.choice(["bincount", "searchsorted", "digitize"])
    calls = {
        "bincount": lambda x, e: np.bincount(x, length=bins),
        "searchsorted": lambda x, e: np.searchsorted(e, x.astype(np.float32)),
        "digitize": lambda x, e: np.digitize(x.astype(np.float32), e),
    }
    return [integers(n, high=bins), lambda g: ordered(bins, high=bins)(g).astype("float32")], calls[name]


@kind
def solved(r):
    batch, n, m = about(r, 1, 50), about(r, 2, 120), about(r, 1, 20)
    name = r.choice(["solve", "cholesky", "inv", "det", "eigh", "qr", "svd"])
    calls = {
        "solve": lambda a, b: np.linalg.solve(a, b),
        "eigh": lambda a, b: np.linalg.eigh(a)[0],
        "svd": lambda a, b: np.linalg.svd(a, compute_uv=False),
        "qr": lambda a, b: np.linalg.qr(a)[1],
    }
    return [positive(n, (batch,)), normal(batch, n, m)], calls.get(name, lambda a, b: getattr(np.linalg, name)(a))


@kind
def triangular(r):
    batch, n, m = about(r, 1, 30), about(r, 2, 200), about(r, 1, 50)
    lower, trans = r.random() < 0.5, r.choice([0, 1])
    makers = [positive(n), normal(n, m)]
    return makers, lambda a, b: linalg.solve_triangular(a, b, lower=lower, trans=trans)


for made in KINDS:
    for seed in range(SEEDS):
        drawer = random.Random(f"{made.__name__} {seed}")
        makers, f = made(drawer)
        PROGRAMS[f"any_{made.__name__}_{seed}"] = Program(f, tuple(makers))
