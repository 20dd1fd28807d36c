"""Arrays that are moved, masked, searched and counted."""

from .library import integers, lax, normal, np, ordered, program, uniform, vmap


@program(normal(2000, 500))
def normalise_rows(x):
    return x / np.sqrt(np.sum(x * x, axis=1, keepdims=True))


@program(normal(500, 2000))
def standardise_columns(x):
    return (x - np.mean(x, axis=0)) / np.std(x, axis=0)


@program(normal(100_000, 3))
def center_points(x):
    return x - np.mean(x, axis=0)


@program(normal(100_000, 3), normal(3, 3))
def rotate_points(x, r):
    return x @ r.T


@program(normal(100_000, 3), normal(100_000, 3))
def cross_products(x, y):
    return np.cross(x, y)


@program(normal(100_000, 4), normal(100_000, 4))
def quaternions(p, q):
    pw, px, py, pz = p[:, 0], p[:, 1], p[:, 2], p[:, 3]
    qw, qx, qy, qz = q[:, 0], q[:, 1], q[:, 2], q[:, 3]
    return np.stack([pw * qw - px * qx - py * qy - pz * qz, pw * qx + px * qw + py * qz - pz * qy,
                     pw * qy - px * qz + py * qw + pz * qx, pw * qz + px * qy - py * qx + pz * qw], axis=1)  # fmt: skip


@program(integers(1_000_000, high=256))
def histogram(x):
    return np.bincount(x, length=256)


@program(uniform(1_000_000))
def histogram_bins(x):
    return np.histogram(x, bins=50, range=(0.0, 1.0))[0]


@program(ordered(10_000, high=1_000_000), integers(1_000_000, high=1_000_000))
def search_sorted(a, v):
    return np.searchsorted(a, v)


@program(normal(1000, 1000))
def upper_triangle(x):
    return np.triu(x) + np.tril(x, -1).T


@program(normal(256, 256, 16))
def flip_both(x):
    return np.flip(x, axis=(0, 1))


@program(normal(64, 64, 64, 8))
def swap_axes(x):
    return np.transpose(x, (2, 1, 0, 3))


@program(normal(200, 200, 200))
def reverse_axes(x):
    return np.transpose(x, (2, 1, 0))


@program(normal(1000, 1000), normal(1000, 1000))
def interleave_columns(a, b):
    return np.stack([a, b], axis=2).reshape(1000, 2000)


@program(normal(500, 1000), normal(300, 1000), normal(200, 1000))
def concatenate_rows(a, b, c):
    return np.concatenate([a, b * 2, c + 1], axis=0)


@program(normal(1000, 500), normal(1000, 300), normal(1000, 200))
def concatenate_columns(a, b, c):
    return np.concatenate([a, b * 2, c + 1], axis=1)


@program(normal(1000, 1000))
def pad_reflect(x):
    return np.pad(x, 8, mode="reflect")


@program(normal(1000, 1000))
def pad_edge(x):
    return np.pad(x, ((0, 0), (5, 5)), mode="edge")


@program(normal(1000, 1000))
def tile(x):
    return np.tile(x[:250, :250], (4, 4))


@program(normal(1000, 100))
def repeat_columns(x):
    return np.repeat(x, 10, axis=1)


@program(normal(1_000_000))
def differences(x):
    return np.diff(x, n=2)


@program(normal(1_000_000))
def clipped_cumsum(x):
    return np.clip(np.cumsum(x), -100, 100)


@program(normal(1000, 1000))
def running_maximum(x):
    return lax.cummax(x, axis=1)


@program(normal(1000, 1000))
def argsort_rows(x):
    return np.argsort(x, axis=1)


@program(integers(1_000_000, high=1000))
def sort_integers(x):
    return np.sort(x)


@program(normal(1_000_000))
def ranks(x):
    order = np.argsort(x)
    return np.zeros(1_000_000, np.int32).at[order].set(np.arange(1_000_000, dtype=np.int32))


@program(normal(1000, 1000), integers(1000, 10, high=1000))
def take_along(x, at):
    return np.take_along_axis(x, at, axis=1)


@program(normal(10_000, 64), integers(100_000, high=10_000))
def embedding(table, at):
    return table[at]


@program(normal(10_000, 64), integers(2000, 20, high=10_000))
def embedding_bag(table, at):
    return np.mean(table[at], axis=1)


@program(normal(512, 512), uniform(100_000, 2, high=510.0))
def bilinear_samples(image, points):
    y, x = points[:, 0], points[:, 1]
    y0, x0 = np.floor(y).astype(np.int32), np.floor(x).astype(np.int32)
    fy, fx = y - y0, x - x0
    top = image[y0, x0] * (1 - fx) + image[y0, x0 + 1] * fx
    bottom = image[y0 + 1, x0] * (1 - fx) + image[y0 + 1, x0 + 1] * fx
    return top * (1 - fy) + bottom * fy


@program(uniform(1_000_000), uniform(1000), normal(1000))
def interpolate(x, grid, values):
    return np.interp(x, np.sort(grid), values)


@program(normal(1_000_000))
def polynomial(x):
    return np.polyval(np.array([0.1, -0.5, 2.0, 1.0, -3.0]), x)


@program(integers(1000, 1000, high=256, dtype="uint8"), integers(1000, 1000, high=256, dtype="uint8"))
def blend_bytes(a, b):
    return ((a.astype(np.uint16) * 3 + b.astype(np.uint16)) // 4).astype(np.uint8)


@program(integers(1000, 1000, 3, high=256, dtype="uint8"))
def grey_bytes(x):
    return (x[..., 0].astype(np.float32) * 0.299 + x[..., 1] * 0.587 + x[..., 2] * 0.114).astype(np.uint8)


@program(integers(1_000_000, low=-1000, high=1000), integers(1_000_000, low=1, high=50))
def floor_modulo(a, b):
    return a // b + a % b


@program(integers(1_000_000, high=1 << 30, dtype="uint32"))
def hash_words(x):
    x = (x ^ (x >> 16)) * np.uint32(0x45D9F3B)
    x = (x ^ (x >> 16)) * np.uint32(0x45D9F3B)
    return x ^ (x >> 16)


@program(normal(1000, 1000))
def masked_mean(x):
    mask = x > 0.5
    return np.sum(np.where(mask, x, 0), axis=1) / np.maximum(np.sum(mask, axis=1), 1)


@program(normal(1000, 1000))
def any_and_all(x):
    return np.any(x > 3, axis=1), np.all(x < 3, axis=0)


@program(normal(1_000_000))
def count_signs(x):
    return np.sum(x[1:] * x[:-1] < 0)


@program(normal(300, 300))
def outer_sums(x):
    return np.sum(x[:, :, None] * x[:, None, :], axis=0)


@program(normal(50, 40, 30), normal(30, 20), normal(40, 10))
def tucker(core, a, b):
    return np.einsum("ijk,kl,jm->iml", core, a, b)


@program(normal(64, 32, 48), normal(64, 48, 24))
def batched_einsum(a, b):
    return np.einsum("bij,bjk->bik", a, b)


@program(normal(200, 30), normal(300, 30))
def manhattan(a, b):
    return np.sum(np.abs(a[:, None] - b[None]), axis=2)


@program(normal(1000, 64), normal(500, 64))
def cosine_similarities(a, b):
    unit = lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)
    return unit(a) @ unit(b).T


@program(normal(100, 64, 64))
def diagonals(x):
    return np.trace(x, axis1=1, axis2=2), np.diagonal(x, axis1=1, axis2=2)


@program(normal(400, 50), normal(400, 50))
def pearson(a, b):
    c = lambda x: x - np.mean(x, axis=0)
    a, b = c(a), c(b)
    return (a.T @ b) / np.sqrt(np.outer(np.sum(a * a, axis=0), np.sum(b * b, axis=0)))


@program(normal(1000, 1000))
def checkerboard(x):
    i = np.arange(1000)
    return np.where((i[:, None] + i[None]) % 2 == 0, x, -x)


@program(normal(1024, 1024))
def pool_mean(x):
    return np.mean(x.reshape(256, 4, 256, 4), axis=(1, 3))


@program(normal(256, 256, 4))
def upsample(x):
    return np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)


@program(normal(8, 64, 64, 16))
def space_to_depth(x):
    return x.reshape(8, 32, 2, 32, 2, 16).transpose(0, 1, 3, 2, 4, 5).reshape(8, 32, 32, 64)


@program(normal(20_000, 8), integers(20_000, high=100))
def group_means(x, group):
    sums = np.zeros((100, 8)).at[group].add(x)
    return sums / np.maximum(np.bincount(group, length=100), 1)[:, None]


@program(normal(20_000), integers(20_000, high=100))
def group_maxima(x, group):
    return np.full(100, -1e30).at[group].max(x)


@program(normal(100, 100), integers(100, high=100))
def permute_matrix(a, p):
    return a[p][:, p]


@program(normal(1000, 3, 3))
def determinants(m):
    return np.linalg.det(m)


@program(normal(1000, 3, 3))
def inverses(m):
    return np.linalg.inv(m + 4 * np.eye(3))


@program(normal(10_000, 4), integers(10_000, high=4))
def one_hot_loss(x, label):
    return -np.sum(np.where(np.arange(4) == label[:, None], x - np.log(np.sum(np.exp(x), axis=1, keepdims=True)), 0))


@program(normal(256, 1000))
def quantiles(x):
    return np.quantile(x, np.array([0.1, 0.5, 0.9]), axis=1)


@program(normal(1000, 100))
def sliding_windows(x):
    at = np.arange(91)[:, None] + np.arange(10)
    return np.mean(x[:, at], axis=2)


@program(normal(100_000))
def moving_average(x):
    c = np.cumsum(np.concatenate([np.zeros(1), x]))
    return (c[50:] - c[:-50]) / 50


@program(normal(1000), normal(64))
def convolve_vectors(x, k):
    return np.convolve(x, k, mode="same")


@program(normal(4, 4, 250, 250))
def mirror_sum(x):
    return x + x[..., ::-1] + x[..., ::-1, :]


@program(normal(500, 500), integers(3, high=400))
def traced_slices(x, at):
    return sum(lax.dynamic_slice(x, (at[k], at[k]), (64, 64)) for k in range(3))


@program(normal(512, 64), integers(512, high=64))
def batched_shifts(x, by):
    return vmap(lambda row, k: row[(np.arange(64) - k) % 64])(x, by)
