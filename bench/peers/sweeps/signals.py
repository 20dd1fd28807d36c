"""Radio and sound, codes, photographs."""

from .library import grad, integers, lax, normal, np, program, uniform, vmap


# Radio and sound


@program(normal(20_000), normal(20_000))
def adaptive_filter(x, d):
    windows = x[np.arange(19_969)[:, None] + np.arange(32)]

    def step(w, row):
        u, target = row
        error = target - w @ u
        return w + 0.01 * error * u, error

    return lax.scan(step, np.zeros(32), (windows, d[31:]))[1]


@program(normal(16, 4096), normal(16, 4096), normal(181))
def beamforming(re, im, angles):
    steering = np.exp(1j * np.pi * np.arange(16)[None, :] * np.sin(angles)[:, None])
    x = re + 1j * im
    covariance = x @ np.conj(x.T) / 4096
    return np.real(np.einsum("ai,ij,aj->a", np.conj(steering), covariance, steering))


@program(normal(64, 1024), normal(64, 1024))
def multicarrier(re, im):
    time = np.fft.ifft(re + 1j * im, axis=1)
    framed = np.concatenate([time[:, -64:], time], axis=1)
    back = np.fft.fft(framed[:, 64:], axis=1)
    return np.real(back), np.max(np.abs(framed) ** 2, axis=1)


@program(integers(2000, 2, high=2))
def convolutional_code(received):
    states = np.arange(64)
    before = np.stack([states >> 1, (states >> 1) | 32], axis=1)
    bit = states & 1
    register = (before << 1) | bit[:, None]

    def parity(v):
        for shift in (4, 2, 1):
            v = v ^ (v >> shift)
        return v & 1

    out = np.stack([parity(register & 0o171), parity(register & 0o133)], axis=-1)

    def step(cost, bits):
        total = cost[before] + np.sum(out != bits, axis=-1)
        return np.min(total, axis=1), np.argmin(total, axis=1).astype(np.uint8)

    return lax.scan(step, np.zeros(64, dtype=np.int32), received)


@program(normal(512, 400))
def linear_prediction(frames):
    r = np.stack([np.sum(frames[:, : 400 - k] * frames[:, k:], axis=1) for k in range(11)], axis=1)

    def one(r):
        a, e = np.zeros(11).at[0].set(1.0), r[0]
        for i in range(1, 11):
            k = -np.sum(a[:i] * r[i:0:-1]) / e
            a = a + k * np.concatenate([np.zeros(1), a[i - 1 :: -1], np.zeros(10 - i)])
            e = e * (1 - k * k)
        return a

    return vmap(one)(r)


@program(normal(100_000))
def goertzel(x):
    w = 2 * np.pi * np.arange(1, 9) * 0.01

    def step(s, v):
        return (v + 2 * np.cos(w) * s[0] - s[1], s[0]), None

    a, b = lax.scan(step, (np.zeros(8), np.zeros(8)), x)[0]
    return a * a + b * b - 2 * np.cos(w) * a * b


@program(normal(200_000))
def unwrapped_phase(x):
    return np.unwrap(np.mod(np.cumsum(np.abs(x)), 2 * np.pi))


# Codes


@program(integers(1 << 16, high=1 << 31))
def chacha_blocks(counters):
    def rotated(v, n):
        return (v << n) | (v >> (32 - n))

    c = counters.astype(np.uint32)
    s = [c * 0 + np.uint32(k * 0x9E3779B1 & 0xFFFFFFFF) for k in range(15)] + [c]

    def quarter(s, a, b, c, d):
        s[a] = s[a] + s[b]
        s[d] = rotated(s[d] ^ s[a], 16)
        s[c] = s[c] + s[d]
        s[b] = rotated(s[b] ^ s[c], 12)
        s[a] = s[a] + s[b]
        s[d] = rotated(s[d] ^ s[a], 8)
        s[c] = s[c] + s[d]
        s[b] = rotated(s[b] ^ s[c], 7)

    def double_round(_, s):
        s = list(s)
        for i in range(4):
            quarter(s, i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(s, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
        return tuple(s)

    return np.stack(lax.fori_loop(0, 10, double_round, tuple(s)), axis=1)


@program(integers(100_000, high=256, dtype="uint8"), integers(256, high=1 << 31))
def table_checksum(data, table):
    t = table.astype(np.uint32)

    def step(c, byte):
        return (c >> 8) ^ t[(c ^ byte) & 255], None

    return lax.scan(step, np.uint32(0xFFFFFFFF), data.astype(np.uint32))[0]


@program(integers(300_000, high=256, dtype="uint8"))
def base64(x):
    a, b, c = (x.reshape(-1, 3)[:, i].astype(np.int32) for i in range(3))
    sextets = np.stack([a >> 2, (a & 3) << 4 | b >> 4, (b & 15) << 2 | c >> 6, c & 63], axis=1)
    shifted = np.where(sextets < 26, 65, np.where(sextets < 52, 71, np.where(sextets < 62, -4, 0)))
    return (sextets + shifted).astype(np.uint8).reshape(-1)


@program(integers(1 << 18, high=1 << 18))
def halton(i):
    def radical(base, digits):
        n, value, scale = i, np.zeros(i.shape), 1.0
        for _ in range(digits):
            scale = scale / base
            value = value + scale * (n % base)
            n = n // base
        return value

    return np.stack([radical(2, 18), radical(3, 12), radical(5, 8)], axis=1)


@program(integers(20_000, high=1 << 31), integers(20_000, high=1 << 31))
def bloom_filter(added, asked):
    def places(v):
        v = v.astype(np.uint32)
        return np.stack([(v * np.uint32(m)) >> 15 for m in (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)], axis=-1)

    bits = np.zeros(1 << 17, dtype=bool).at[places(added)].set(True)
    return np.all(bits[places(asked)], axis=-1)


# Photographs


@program(uniform(256, 256), uniform(256, 256))
def structural_similarity(x, y):
    def mean(v):
        return lax.reduce_window(v, 0.0, lax.add, (8, 8), (1, 1), "VALID") / 64

    a, b = mean(x), mean(y)
    va, vb, c = mean(x * x) - a * a, mean(y * y) - b * b, mean(x * y) - a * b
    return np.mean((2 * a * b + 1e-4) * (2 * c + 9e-4) / ((a * a + b * b + 1e-4) * (va + vb + 9e-4)))


@program(uniform(512, 512))
def corners(x):
    gy, gx = np.gradient(x)
    k = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16

    def blurred(v):
        v = np.pad(v, 2, mode="edge")
        v = sum(k[i] * v[i : 512 + i] for i in range(5))
        return sum(k[i] * v[:, i : 512 + i] for i in range(5))

    a, b, c = blurred(gx * gx), blurred(gy * gy), blurred(gx * gy)
    response = a * b - c * c - 0.05 * (a + b) ** 2
    top = lax.reduce_window(response, -np.inf, lax.max, (5, 5), (1, 1), "SAME")
    return np.where(response == top, response, 0)


@program(uniform(256, 256), uniform(256, 256))
def optical_flow(x, y):
    gy, gx = np.gradient(x)
    t = y - x

    def summed(v):
        return lax.reduce_window(v, 0.0, lax.add, (15, 15), (1, 1), "SAME")

    a, b, c, d, e = (summed(v) for v in (gx * gx, gx * gy, gy * gy, gx * t, gy * t))
    det = a * c - b * b + 1e-6
    return (b * e - c * d) / det, (b * d - a * e) / det


@program(uniform(512, 512))
def block_transform_code(x):
    n = np.arange(8)
    d = np.cos(np.pi * (2 * n[None] + 1) * n[:, None] / 16) * np.where(n == 0, np.sqrt(1 / 8), 0.5)[:, None]
    blocks = x.reshape(64, 8, 64, 8).transpose(0, 2, 1, 3)
    q = 1.0 + n[:, None] + n[None]
    codes = np.round((d @ blocks @ d.T) * 255 / q)
    return (d.T @ (codes * q / 255) @ d).transpose(0, 2, 1, 3).reshape(512, 512), np.sum(codes != 0)


@program(uniform(480, 640))
def demosaic(x):
    p = np.pad(x, 1, mode="reflect")
    i, j = np.mgrid[0:480, 0:640]
    cross = (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / 4
    diagonal = (p[:-2, :-2] + p[2:, 2:] + p[2:, :-2] + p[:-2, 2:]) / 4
    row, column = (p[1:-1, :-2] + p[1:-1, 2:]) / 2, (p[:-2, 1:-1] + p[2:, 1:-1]) / 2
    even_i, even_j = i % 2 == 0, j % 2 == 0
    red = np.where(even_i & even_j, x, np.where(even_i, row, np.where(even_j, column, diagonal)))
    green = np.where(even_i == even_j, cross, x)
    blue = np.where(~even_i & ~even_j, x, np.where(~even_i, row, np.where(~even_j, column, diagonal)))
    return np.stack([red, green, blue], axis=-1)


@program(uniform(128, 128))
def lines(x):
    edges = np.abs(x[1:, 1:] - x[:-1, :-1]) > 0.6
    i, j = np.mgrid[0:127, 0:127]
    angles = np.arange(90) * (np.pi / 90)
    rho = np.round(i[..., None] * np.cos(angles) + j[..., None] * np.sin(angles)).astype(np.int32) + 180
    votes = np.zeros((400, 90), dtype=np.int32)
    return votes.at[rho, np.arange(90)].add(edges[..., None].astype(np.int32))


@program(uniform(64, 64))
def non_local_means(x):
    p = np.pad(x, 3, mode="reflect")
    total, weights = 0.0, 0.0
    for di in range(-3, 4):
        for dj in range(-3, 4):
            y = p[3 + di : 67 + di, 3 + dj : 67 + dj]
            distance = lax.reduce_window((x - y) ** 2, 0.0, lax.add, (5, 5), (1, 1), "SAME")
            w = np.exp(-distance / 0.1)
            total, weights = total + w * y, weights + w
    return total / weights


@program(uniform(256, 256), uniform(33, 33, 2, low=-1, high=1))
def gradient_noise(_, directions):
    u = np.arange(256) / 8.0
    cell = np.floor(u).astype(np.int32)
    f = u - cell
    fade = f * f * f * (f * (f * 6 - 15) + 10)

    def corner(a, b):
        g = directions[cell[:, None] + a, cell[None] + b]
        return g[..., 0] * (f[:, None] - a) + g[..., 1] * (f[None] - b)

    top = corner(0, 0) + fade[:, None] * (corner(1, 0) - corner(0, 0))
    bottom = corner(0, 1) + fade[:, None] * (corner(1, 1) - corner(0, 1))
    return top + fade[None] * (bottom - top)


@program(normal(3, scale=0.1))
def sphere_tracing(light):
    i, j = np.mgrid[0:200, 0:200] / 100.0 - 1
    d = np.stack([i, j, np.ones((200, 200))], axis=-1)
    d = d / np.sqrt(np.sum(d * d, axis=-1, keepdims=True))

    def distance(p):
        q = p - np.array([0.0, 0.0, 3.0])
        ball = np.sqrt(np.sum(q * q, axis=-1)) - 1
        bumps = 0.1 * np.sin(5 * p[..., 0]) * np.sin(5 * p[..., 1]) * np.sin(5 * p[..., 2])
        return np.minimum(ball + bumps, p[..., 1] + 1.2)

    t = lax.fori_loop(0, 40, lambda _, t: t + 0.7 * distance(d * t[..., None]), np.zeros((200, 200)))
    p = d * t[..., None]
    n = grad(lambda p: np.sum(distance(p)))(p)
    return np.where(t < 10, np.maximum(0, np.sum(n * (light + np.array([0.5, 0.7, -0.5])), axis=-1)), 0)
