"""Images and signals: filters, morphology, warps, frames, transforms."""

from .library import integers, lax, nn, normal, np, program, uniform, vmap


@program(uniform(512, 512))
def bilateral_filter(x):
    total, weights = 0.0, 0.0
    for i in (-2, -1, 0, 1, 2):
        for j in (-2, -1, 0, 1, 2):
            y = np.roll(np.roll(x, i, 0), j, 1)
            w = np.exp(-(i * i + j * j) / 8 - (x - y) ** 2 / 0.02)
            total, weights = total + w * y, weights + w
    return total / weights


@program(integers(512, 512, high=256, dtype="uint8"))
def dilation(x):
    return lax.reduce_window(x, np.uint8(0), lax.max, (5, 5), (1, 1), "SAME")


@program(uniform(512, 512))
def opening(x):
    eroded = -lax.reduce_window(-x, -np.inf, lax.max, (7, 7), (1, 1), "SAME")
    return lax.reduce_window(eroded, -np.inf, lax.max, (7, 7), (1, 1), "SAME")


@program(integers(512, 512, 3, high=256, dtype="uint8"))
def luminance_histogram(x):
    grey = (x.astype(np.int32) @ np.array([77, 150, 29])) >> 8
    return np.bincount(grey.ravel(), length=256)


@program(integers(512, 512, high=256, dtype="uint8"))
def equalise(x):
    counts = np.bincount(x.ravel(), length=256)
    levels = np.cumsum(counts)
    return (levels * 255 // levels[-1]).astype(np.uint8)[x]


@program(uniform(480, 640, 3))
def yuv_halved(x):
    m = np.array([[0.299, 0.587, 0.114], [-0.147, -0.289, 0.436], [0.615, -0.515, -0.1]])
    yuv = np.einsum("hwc,dc->dhw", x, m)
    return yuv[0], yuv[1:].reshape(2, 240, 2, 320, 2).mean(axis=(2, 4))


@program(uniform(256, 256), normal(2, 3, scale=0.1))
def affine_warp(x, m):
    i, j = np.mgrid[0:256, 0:256]
    u = np.clip((1 + m[0, 0]) * i + m[0, 1] * j + 10 * m[0, 2], 0, 254.999)
    v = np.clip(m[1, 0] * i + (1 + m[1, 1]) * j + 10 * m[1, 2], 0, 254.999)
    p, q = u.astype(np.int32), v.astype(np.int32)
    a, b = u - p, v - q
    return (1 - a) * ((1 - b) * x[p, q] + b * x[p, q + 1]) + a * ((1 - b) * x[p + 1, q] + b * x[p + 1, q + 1])


@program(uniform(512, 512))
def unsharp(x):
    k = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16
    rows = vmap(lambda r: np.convolve(r, k, mode="same"))(x)
    blurred = vmap(lambda r: np.convolve(r, k, mode="same"))(rows.T).T
    return np.clip(x + 0.7 * (x - blurred), 0, 1)


@program(uniform(512, 512))
def gradient_directions(x):
    gx, gy = np.gradient(x)
    bins = np.floor((np.arctan2(gy, gx) / np.pi + 1) * 4.5).astype(np.int32) % 9
    weights = np.sqrt(gx * gx + gy * gy)
    cells = (bins[..., None] == np.arange(9)) * weights[..., None]
    return cells.reshape(64, 8, 64, 8, 9).sum(axis=(1, 3))


@program(uniform(128, 128), uniform(9, 9))
def template_match(x, t):
    n = 9 * 9
    means = lax.reduce_window(x, 0.0, lax.add, (9, 9), (1, 1), "VALID") / n
    squares = lax.reduce_window(x * x, 0.0, lax.add, (9, 9), (1, 1), "VALID") / n
    t = t - np.mean(t)
    products = lax.conv_general_dilated(x[None, None], t[None, None], (1, 1), "VALID")[0, 0]
    return products / np.sqrt((squares - means * means + 1e-6) * n * np.sum(t * t))


@program(integers(256, 256, high=2))
def distance_sweeps(x):
    d = np.where(x == 1, 0.0, 1e6)

    def step(_, d):
        near = np.minimum(np.minimum(np.roll(d, 1, 0), np.roll(d, -1, 0)), np.minimum(np.roll(d, 1, 1), np.roll(d, -1, 1)))
        return np.minimum(d, near + 1)

    return lax.fori_loop(0, 30, step, d)


@program(normal(64, 3, 32, 32))
def image_patches(x):
    return x.reshape(64, 3, 8, 4, 8, 4).transpose(0, 2, 4, 1, 3, 5).reshape(64, 64, 48)


@program(normal(16, 64, 16, 16))
def pixel_shuffle(x):
    return x.reshape(16, 16, 2, 2, 16, 16).transpose(0, 1, 4, 2, 5, 3).reshape(16, 16, 32, 32)


@program(integers(32, 224, 224, 3, high=256, dtype="uint8"))
def normalise_images(x):
    return (x.astype(np.float32) / 255 - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])


@program(normal(32, 28, 28, 8), normal(8), normal(8))
def instance_norm(x, scale, bias):
    mean, variance = np.mean(x, axis=(1, 2), keepdims=True), np.var(x, axis=(1, 2), keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * scale + bias


@program(normal(8, 32, 32, 64), normal(3, 3, 1, 64))
def depthwise_convolution(x, k):
    return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=64)


@program(normal(100_000), normal(64))
def fir_filter(x, h):
    return np.convolve(x, h, mode="valid")


@program(normal(32, 20_000), normal(3, scale=0.2), normal(2, scale=0.2))
def iir_filters(x, b, a):
    def step(s, x):
        y = b[0] * x + s[0]
        return (b[1] * x + s[1] - a[0] * y, b[2] * x - a[1] * y), y

    return lax.scan(step, (np.zeros(32), np.zeros(32)), x.T)[1].T


@program(normal(50_000))
def short_time_spectra(x):
    frames = x[np.arange(0, 50_000 - 512, 128)[:, None] + np.arange(512)]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(512) / 512)
    return np.abs(np.fft.rfft(frames * window, axis=1)) ** 2


@program(normal(300, 257), uniform(40, 257))
def mel_cepstra(p, mel):
    logs = np.log(p * p @ mel.T + 1e-6)
    basis = np.cos(np.pi / 40 * (np.arange(40)[:, None] + 0.5) * np.arange(13))
    return logs @ basis


@program(normal(64, 4096))
def analytic_signals(x):
    f = np.fft.fft(x, axis=1)
    h = np.where(np.arange(4096) == 0, 1.0, np.where(np.arange(4096) < 2048, 2.0, np.where(np.arange(4096) == 2048, 1.0, 0.0)))
    return np.abs(np.fft.ifft(f * h, axis=1))


@program(normal(100_000))
def haar_wavelets(x):
    details = []
    for _ in range(5):
        a, b = x[0::2], x[1::2]
        x = (a + b) * 0.70710678
        details.append((a - b) * 0.70710678)
    return [x, *details]


@program(normal(100_000))
def decimate(x):
    return np.mean(x.reshape(-1, 10), axis=1), np.max(x.reshape(-1, 10), axis=1)


@program(normal(100_000))
def zero_crossings(x):
    return np.sum((x[1:] > 0) != (x[:-1] > 0)), np.nonzero(x > 4.0, size=8, fill_value=-1)[0]


@program(normal(10_000))
def peaks(x):
    inner = (x[1:-1] > x[:-2]) & (x[1:-1] > x[2:])
    return lax.top_k(np.where(inner, x[1:-1], -np.inf), 20)


@program(normal(2000))
def running_medians(x):
    return np.median(x[np.arange(1990)[:, None] + np.arange(11)], axis=1)


@program(normal(200, 1000))
def detrend(x):
    t = np.arange(1000.0) - 499.5
    slope = x @ t / np.sum(t * t)
    return x - np.mean(x, axis=1, keepdims=True) - slope[:, None] * t


@program(normal(16, 16, 64, 64))
def bilinear_upsampling(x):
    y = 0.5 * (x + np.concatenate([x[:, :, 1:], x[:, :, -1:]], axis=2))
    rows = np.stack([x, y], axis=3).reshape(16, 16, 128, 64)
    z = 0.5 * (rows + np.concatenate([rows[..., 1:], rows[..., -1:]], axis=3))
    return np.stack([rows, z], axis=4).reshape(16, 16, 128, 128)


@program(normal(8, 16, 16, 32), normal(8, 16, 16, 9))
def local_attention(x, logits):
    w = nn.softmax(logits, axis=-1)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return sum(w[..., 3 * i + j, None] * padded[:, i : i + 16, j : j + 16] for i in range(3) for j in range(3))
