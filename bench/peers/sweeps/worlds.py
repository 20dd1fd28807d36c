"""Simulations, robots, graphs, markets and codes."""

from .library import grad, hessian, integers, jacfwd, jvp, lax, linalg, nn, normal, np, positive, program, special, uniform, value_and_grad, vmap


@program(uniform(9, 100, 100, low=0.1))
def lattice_boltzmann(f):
    cx, cy = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1]), np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    w = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    shifts = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]

    def step(_, f):
        rho = np.sum(f, axis=0)
        ux, uy = np.tensordot(cx * 1.0, f, 1) / rho, np.tensordot(cy * 1.0, f, 1) / rho
        cu = 3 * (cx[:, None, None] * ux + cy[:, None, None] * uy)
        feq = rho * w[:, None, None] * (1 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy))
        f = f - 0.6 * (f - feq)
        return np.stack([np.roll(f[i], s, (0, 1)) for i, s in enumerate(shifts)])

    return lax.fori_loop(0, 20, step, f)


@program(integers(128, 128, high=2), uniform(40, 128, 128))
def ising(spins, u):
    s = 2 * spins - 1
    i, j = np.mgrid[0:128, 0:128]
    black = (i + j) % 2

    def step(s, x):
        u, parity = x
        n = np.roll(s, 1, 0) + np.roll(s, -1, 0) + np.roll(s, 1, 1) + np.roll(s, -1, 1)
        flip = (u < np.exp(-0.8 * s * n)) & (black == parity)
        return np.where(flip, -s, s), np.sum(s)

    return lax.scan(step, s, (u, np.arange(40) % 2))


@program(normal(200, 200))
def wave_absorbing(u):
    damp = np.exp(-0.01 * np.maximum(0, np.abs(np.arange(200.0) - 99.5) - 80) ** 2 * 0.1)
    damp = damp[:, None] * damp

    def step(_, s):
        u, v = s
        lap = np.pad(u, 1)[2:, 1:-1] + np.pad(u, 1)[:-2, 1:-1] + np.pad(u, 1)[1:-1, 2:] + np.pad(u, 1)[1:-1, :-2] - 4 * u
        return u * damp, (2 * u - v + 0.2 * lap) * damp

    return lax.fori_loop(0, 50, lambda i, s: step(i, s)[::-1], (u, u))[0]


@program(uniform(500, 2), normal(500, 2, scale=0.01))
def particles_in_cells(x, v):
    def step(_, s):
        x, v = s
        cell = np.clip((x * 16).astype(np.int32), 0, 15)
        flat = cell[:, 0] * 16 + cell[:, 1]
        count = np.zeros(256).at[flat].add(1.0)
        mean = np.zeros((256, 2)).at[flat].add(v) / np.maximum(count, 1)[:, None]
        v = 0.9 * v + 0.1 * mean[flat]
        return (x + v) % 1.0, v

    return lax.fori_loop(0, 50, step, (x, v))


@program(uniform(256, 3), uniform(256))
def smoothed_particles(x, m):
    d = x[:, None] - x[None]
    q = np.sqrt(np.sum(d * d, axis=-1) + 1e-12) / 0.2
    w = np.where(q < 1, 1 - 1.5 * q**2 + 0.75 * q**3, np.where(q < 2, 0.25 * (2 - q) ** 3, 0.0))
    rho = w @ m
    p = rho**1.4
    dw = np.where(q < 1, -3 * q + 2.25 * q**2, np.where(q < 2, -0.75 * (2 - q) ** 2, 0.0))
    return -np.einsum("ij,ijk->ik", m * (p / rho**2)[:, None] * dw / (q + 1e-6), d)


@program(normal(65, 65))
def multigrid(f):
    def smooth(u, f, n):
        def step(_, u):
            inner = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] + f[1:-1, 1:-1])
            return u.at[1:-1, 1:-1].set(0.8 * inner + 0.2 * u[1:-1, 1:-1])

        return lax.fori_loop(0, n, step, u)

    def cycle(u, f):
        u = smooth(u, f, 3)
        if u.shape[0] <= 5:
            return smooth(u, f, 10)
        r = np.zeros_like(u).at[1:-1, 1:-1].set(
            f[1:-1, 1:-1] - 4 * u[1:-1, 1:-1] + u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        )
        e = cycle(np.zeros_like(r[::2, ::2]), 4 * r[::2, ::2])
        fine = np.repeat(np.repeat(e, 2, 0), 2, 1)[:-1, :-1]
        return smooth(u + fine, f, 3)

    return cycle(np.zeros_like(f), f)


@program(normal(1000))
def tridiagonal_sweep(d):
    def forward(s, d):
        c, x = s
        m = 1 / (4 - c)
        return (m, (d + x) * m), (m, (d + x) * m)

    _, (c, y) = lax.scan(forward, (0.0, 0.0), d)
    return lax.scan(lambda x, s: (s[1] + s[0] * x,) * 2, 0.0, (c, y), reverse=True)[1]


@program(normal(64, 12), normal(6, 3, scale=0.3))
def rigid_chains(q, offsets):
    def rotation(a):
        c, s = np.cos(a), np.sin(a)
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    def one(q):
        r, p = np.eye(3), np.zeros(3)
        for i in range(6):
            r = r @ rotation(q[i])
            p = p + r @ offsets[i]
        return p

    return vmap(one)(q), vmap(jacfwd(one))(q)


@program(normal(100, 3), normal(20, 2))
def extended_kalman(controls, marks):
    def motion(x, u):
        return x + 0.1 * np.array([u[0] * np.cos(x[2]), u[0] * np.sin(x[2]), u[1]])

    def sight(x, m):
        d = m - x[:2]
        return np.array([np.sqrt(d @ d + 1e-6), np.arctan2(d[1], d[0]) - x[2]])

    def step(s, u):
        x, p = s
        f = jacfwd(motion)(x, u)
        x, p = motion(x, u), f @ p @ f.T + 0.01 * np.eye(3)
        m = marks[0]
        h = jacfwd(sight)(x, m)
        k = p @ h.T @ np.linalg.inv(h @ p @ h.T + 0.1 * np.eye(2))
        return (x + k @ (np.array([1.0, 0.1]) - sight(x, m)), (np.eye(3) - k @ h) @ p), x

    return lax.scan(step, (np.zeros(3), np.eye(3)), controls)[1]


@program(normal(300, 3), normal(300, 3))
def closest_points(a, b):
    def step(_, s):
        r, t = s
        moved = a @ r.T + t
        d = np.sum((moved[:, None] - b[None]) ** 2, axis=-1)
        near = b[np.argmin(d, axis=1)]
        ca, cb = np.mean(a, axis=0), np.mean(near, axis=0)
        u, _, v = np.linalg.svd((near - cb).T @ (a - ca))
        r = u @ v
        return r, cb - r @ ca

    return lax.fori_loop(0, 5, step, (np.eye(3), np.zeros(3)))


@program(normal(50, 2), normal(4, 2, scale=0.1))
def trajectory(u, goal):
    def cost(u):
        def step(s, a):
            s = s + 0.1 * np.concatenate([s[2:], a])
            return s, np.sum(a * a) * 0.01

        s, c = lax.scan(step, np.zeros(4), u)
        return np.sum((s[:2] - goal[0]) ** 2) + np.sum(c)

    def descend(_, u):
        return u - 0.1 * grad(cost)(u)

    return lax.fori_loop(0, 20, descend, u)


@program(integers(2000, 2, high=300), uniform(2000))
def bellman_ford(edges, w):
    def step(_, d):
        return d.at[edges[:, 1]].min(d[edges[:, 0]] + w)

    return lax.fori_loop(0, 50, step, np.full(300, 1e9).at[0].set(0.0))


@program(integers(200, 200, high=2))
def triangles(a):
    a = ((a + a.T) > 1).astype(np.float32) * (1 - np.eye(200))
    return np.trace(a @ a @ a) / 6


@program(integers(5000, 2, high=1000))
def components(edges):
    def step(s):
        label, _ = s
        new = label.at[edges[:, 0]].min(label[edges[:, 1]]).at[edges[:, 1]].min(label[edges[:, 0]])
        return new, np.any(new != label)

    return lax.while_loop(lambda s: s[1], step, (np.arange(1000), np.array(True)))[0]


@program(uniform(64, 64))
def transitive_closure(w):
    return lax.fori_loop(0, 6, lambda _, r: ((r @ r) > 0.5).astype(np.float32), (w > 0.97).astype(np.float32))


@program(uniform(1000, 252), uniform(1000, 252))
def heston(u1, u2):
    z1, z2 = special.ndtri(u1 * 0.98 + 0.01), special.ndtri(u2 * 0.98 + 0.01)

    def step(s, z):
        x, v = s
        vp = np.maximum(v, 0)
        w = -0.7 * z[0] + 0.714 * z[1]
        return (x - 0.5 * vp / 252 + np.sqrt(vp / 252) * z[0], v + 2 * (0.04 - vp) / 252 + 0.3 * np.sqrt(vp / 252) * w), None

    x, _ = lax.scan(step, (np.zeros(1000), np.full(1000, 0.04)), (z1.T, z2.T))[0]
    return np.mean(np.maximum(np.exp(x) - 1, 0))


@program(uniform(30, low=0.01, high=0.05))
def curve_bootstrap(rates):
    def step(s, x):
        total, i = s
        d = (1 - x * total) / (1 + x)
        return (total + d, i + 1), d

    return lax.scan(step, (0.0, 0), rates)[1]


@program(positive(50), normal(50, scale=0.01))
def efficient_portfolio(cov, mu):
    def step(_, w):
        w = w * np.exp(-0.05 * (cov @ w - 2 * mu))
        return w / np.sum(w)

    return lax.fori_loop(0, 200, step, np.full(50, 1 / 50))


@program(normal(1000, 20), normal(20, 20))
def value_at_risk(z, c):
    losses = np.sum(np.tanh(z @ c), axis=1)
    s = np.sort(losses)
    return s[50], np.mean(s[:50])


@program(integers(64, 100, high=4), integers(64, 100, high=4))
def edit_distances(a, b):
    def one(a, b):
        def row(prev, x):
            c, i = x
            match = prev[:-1] + (b != c)
            gap = prev[1:] + 1
            best = np.minimum(match, gap)
            cur = lax.associative_scan(np.minimum, np.concatenate([np.array([i + 1]), best]) - np.arange(101)) + np.arange(101)
            return cur, None

        return lax.scan(row, np.arange(101), (a, np.arange(100)))[0][-1]

    return vmap(one)(a, b)


@program(integers(100_000, high=2**31 - 1))
def xorshift(x):
    x = x.astype(np.uint32)

    def step(_, x):
        x = x ^ (x << 13)
        x = x ^ (x >> 17)
        return x ^ (x << 5)

    return lax.fori_loop(0, 20, step, x)


@program(integers(1000, 8, high=2**31 - 1))
def merkle_level(x):
    h = x.astype(np.uint32)
    for r in range(8):
        h = (h * np.uint32(2654435761) + np.roll(h, 1, axis=1)) ^ (h >> np.uint32(r + 1))
    return h[0::2] ^ h[1::2]


@program(integers(50_000, high=26))
def letter_pairs(x):
    return np.bincount(x[:-1] * 26 + x[1:], length=676).reshape(26, 26)


@program(integers(100_000, high=50), normal(100_000))
def rows_of_groups(g, x):
    order = np.argsort(g, stable=True)
    return g[order], np.cumsum(x[order])


@program(integers(20_000, high=1000), integers(20_000, high=1000))
def two_keys(a, b):
    return lax.sort((a, b, np.arange(20_000)), num_keys=2)


@program(normal(100_000))
def runs(x):
    up = (x > 0).astype(np.int32)

    def combine(a, b):
        return a[0] * b[0], a[1] * b[0] + b[1]

    return np.max(lax.associative_scan(combine, (up, up))[1])


@program(normal(40, 40))
def gram_schmidt(a):
    def step(i, q):
        v = a[:, i] - q @ (q.T @ a[:, i])
        return q.at[:, i].set(v / np.sqrt(v @ v))

    return lax.fori_loop(0, 40, step, np.zeros((40, 40)))


@program(positive(64))
def qr_eigenvalues(a):
    def step(_, a):
        q, r = np.linalg.qr(a)
        return r @ q

    return np.diagonal(lax.fori_loop(0, 10, step, a))


@program(positive(100), normal(100))
def lanczos(a, v):
    def step(s, _):
        v, before, beta = s
        w = a @ v - beta * before
        alpha = w @ v
        w = w - alpha * v
        beta = np.sqrt(w @ w)
        return (w / beta, v, beta), (alpha, beta)

    return lax.scan(step, (v / np.sqrt(v @ v), np.zeros(100), 0.0), None, length=30)[1]


@program(uniform(1000), normal(1000))
def natural_spline(x, y):
    x = np.cumsum(x + 0.1)
    h = np.diff(x)
    rhs = 6 * np.diff(np.diff(y) / h)
    diagonal = 2 * (h[1:] + h[:-1])
    return lax.linalg.tridiagonal_solve(
        np.concatenate([np.zeros(1), h[1:-1]]), diagonal, np.concatenate([h[1:-1], np.zeros(1)]), rhs[:, None]
    )


@program(normal(20, 3), normal(5, 3))
def thin_plates(x, y):
    r2 = lambda a, b: np.sum((a[:, None] - b[None]) ** 2, axis=-1)
    k = r2(x, x) * np.log(r2(x, x) + 1e-6) + 0.1 * np.eye(20)
    w = np.linalg.solve(k, x)
    return r2(y, x) * np.log(r2(y, x) + 1e-6) @ w


@program(uniform(100, low=-1), uniform(100, low=-1))
def legendre_quadrature(a, b):
    def step(s, k):
        p0, p1 = s
        return (p1, ((2 * k + 1) * a * p1 - k * p0) / (k + 1)), None

    (p0, p1), _ = lax.scan(step, (np.ones(100), a), np.arange(1.0, 30.0))
    return np.sum(p1 * b), p0


@program(normal(10, 30), normal(30, 30, scale=0.2), normal(30, 5))
def hidden_hessian(x, w, v):
    loss = lambda p: np.sum(np.tanh(np.tanh(x @ w) @ p) ** 2)
    return hessian(lambda p: loss(p.reshape(30, 5)))(v.reshape(-1))


@program(normal(256, 10), normal(10), normal(10))
def hessian_vectors(x, w, d):
    loss = lambda w: np.mean(np.logaddexp(0, -(x @ w))) + 0.1 * w @ w
    return jvp(grad(loss), (w,), (d,))[1]


@program(normal(8, 128, 32), normal(32, 96, scale=0.2), normal(32, 32, scale=0.2))
def linear_attention(x, wqkv, wo):
    q, k, v = np.split(x @ wqkv, 3, axis=-1)
    q, k = nn.elu(q) + 1, nn.elu(k) + 1

    def step(s, t):
        q, k, v = t
        m, z = s[0] + k[:, :, None] * v[:, None, :], s[1] + k
        return (m, z), np.einsum("bd,bde->be", q, m) / np.sum(q * z, axis=-1, keepdims=True)

    t = lambda a: np.swapaxes(a, 0, 1)
    return t(lax.scan(step, (np.zeros((8, 32, 32)), np.zeros((8, 32))), (t(q), t(k), t(v)))[1]) @ wo


@program(normal(4, 100, 20))
def connectionist_loss(logits):
    logp = nn.log_softmax(logits, axis=-1)
    labels = np.arange(1, 11)
    path = np.zeros(21, np.int32).at[1::2].set(labels)

    def one(logp):
        def step(a, lp):
            one = np.concatenate([np.full(1, -1e9), a[:-1]])
            two = np.concatenate([np.full(2, -1e9), a[:-2]])
            two = np.where(path == 0, -1e9, two)
            return np.logaddexp(np.logaddexp(a, one), two) + lp[path], None

        a = lax.scan(step, np.full(21, -1e9).at[0].set(0.0), logp)[0]
        return -np.logaddexp(a[-1], a[-2])

    return value_and_grad(lambda logp: np.sum(vmap(one)(logp)))(logp)


@program(normal(16, 1000), normal(1000, 1000, scale=0.03))
def beam_search(start, w):
    def step(s, _):
        score, state = s
        logits = nn.log_softmax(np.tanh(state) @ w, axis=-1)
        best, at = lax.top_k((score[:, None] + logits).reshape(-1), 16)
        return (best, state[at // 1000] * 0.9 + nn.one_hot(at % 1000, 1000)), at % 1000

    return lax.scan(step, (np.zeros(16), start), None, length=10)


@program(normal(1000, 64), integers(1000, high=10))
def prototype_loss(x, y):
    one = nn.one_hot(y, 10)
    centers = one.T @ x / np.sum(one, axis=0)[:, None]
    d = np.sum((x[:, None] - centers[None]) ** 2, axis=-1)
    return np.mean(nn.logsumexp(-d, axis=1) + d[np.arange(1000), y])


@program(normal(500, 30), normal(500))
def lasso(x, y):
    step = 1e-3

    def iterate(_, w):
        z = w - step * (x.T @ (x @ w - y))
        return np.sign(z) * np.maximum(np.abs(z) - 0.05 * step, 0)

    return lax.fori_loop(0, 100, iterate, np.zeros(30))


@program(normal(500, 20), integers(500, high=2))
def newton_logistic(x, y):
    def step(_, w):
        p = nn.sigmoid(x @ w)
        h = x.T @ (x * (p * (1 - p))[:, None]) + 0.1 * np.eye(20)
        return w + linalg.solve(h, x.T @ (y - p) - 0.1 * w, assume_a="pos")

    return lax.fori_loop(0, 6, step, np.zeros(20))
