"""Finance, robots, finite elements and grids, learning machines."""

from .library import grad, integers, jacfwd, lax, linalg, nn, normal, np, ordered, positive, program, uniform, value_and_grad, vmap


# Finance


@program(normal(50, 2000))
def american_option(z):
    dt, r, k = 0.02, 0.05, 1.1
    s = np.exp(np.cumsum((r - 0.02) * dt + 0.2 * np.sqrt(dt) * z, axis=0))

    def step(cash, s):
        payoff = np.maximum(k - s, 0)
        cash = cash * np.exp(-r * dt)
        basis = np.stack([np.ones(2000), s, s * s], axis=1) * (payoff > 0)[:, None]
        c = np.linalg.solve(basis.T @ basis + 1e-3 * np.eye(3), basis.T @ cash)
        return np.where((payoff > 0) & (payoff > basis @ c), payoff, cash), None

    return np.mean(lax.scan(step, np.maximum(k - s[-1], 0), s[-2::-1])[0])


@program(normal(40, 5000), uniform(40, low=0.02, high=0.05))
def forward_rates(z, rates):
    dt, vol = 0.25, 0.2

    def step(f, i):
        alive = np.arange(40) >= i
        weight = np.where(alive[:, None], vol * dt * f / (1 + dt * f), 0.0)
        drift = vol * np.cumsum(weight, axis=0)
        f = np.where(alive[:, None], f * np.exp((drift - vol * vol / 2) * dt + vol * np.sqrt(dt) * z[i]), f)
        return f, None

    return np.mean(lax.scan(step, np.broadcast_to(rates[:, None], (40, 5000)), np.arange(40))[0], axis=1)


@program(uniform(10_000, low=0.5, high=1.5), uniform(10_000, low=0.1, high=0.5))
def smile(k, t):
    alpha, beta, rho, nu = 0.2, 0.7, -0.3, 0.4
    m = k ** ((1 - beta) / 2)
    log = np.log(1 / k)
    z = nu / alpha * m * log
    x = np.log((np.sqrt(1 - 2 * rho * z + z * z) + z - rho) / (1 - rho))
    series = 1 + t * ((1 - beta) ** 2 / 24 * alpha**2 / m**2 + rho * beta * nu * alpha / 4 / m + (2 - 3 * rho**2) / 24 * nu**2)
    return alpha / (m * (1 + (1 - beta) ** 2 / 24 * log**2)) * np.where(np.abs(z) < 1e-6, 1, z / x) * series


@program(normal(200), normal(200, 200, scale=0.01))
def correlated_defaults(z, noise):
    threshold, factor = -2.0, 0.3
    p = 0.5 * (1 + lax.erf((threshold - np.sqrt(factor) * z) / np.sqrt(2 * (1 - factor))))

    def add(distribution, p):
        return distribution * (1 - p) + np.concatenate([np.zeros((1, 200)), distribution[:-1]]) * p, None

    start = np.zeros((101, 200)).at[0].set(1.0)
    probabilities = np.clip(p[None] + noise, 0, 1)[:100]
    return np.mean(lax.scan(add, start, probabilities)[0], axis=1)


# Robots


@program(normal(50, 6), normal(50, 2))
def linear_quadratic(x, u):
    a = np.eye(6) + 0.1 * np.eye(6, k=1)
    b = np.zeros((6, 2)).at[4, 0].set(0.1).at[5, 1].set(0.1)

    def backward(state, row):
        v, vx = state
        x, u = row
        qx, qu = 0.1 * x + a.T @ vx, 0.01 * u + b.T @ vx
        qxx, quu, qux = 0.1 * np.eye(6) + a.T @ v @ a, 0.01 * np.eye(2) + b.T @ v @ b, b.T @ v @ a
        k, gain = -np.linalg.solve(quu, qu), -np.linalg.solve(quu, qux)
        return (qxx + qux.T @ gain, qx + gain.T @ qu), (k, gain)

    _, (k, gain) = lax.scan(backward, (np.eye(6), x[-1]), (x, u), reverse=True)

    def forward(now, row):
        x, u, k, gain = row
        u = u + k + gain @ (now - x)
        return a @ now + b @ u, now

    return lax.scan(forward, x[0], (x, u, k, gain))[1]


@program(positive(40), normal(40), normal(80, 40))
def quadratic_program(p, q, a):
    factor = linalg.cho_factor(p + 1e-6 * np.eye(40) + a.T @ a)

    def step(_, s):
        x, z, y = s
        x = linalg.cho_solve(factor, 1e-6 * x - q + a.T @ (z - y))
        ax = a @ x
        z = np.clip(ax + y, -1, 1)
        return x, z, y + ax - z

    return lax.fori_loop(0, 100, step, (np.zeros(40), np.zeros(80), np.zeros(80)))[0]


@program(normal(200, 3), integers(600, 2, high=200), normal(600, 3, scale=0.1))
def pose_graph(poses, edges, measured):
    def residual(a, b, m):
        c, s = np.cos(a[2]), np.sin(a[2])
        d = b[:2] - a[:2]
        return np.stack([c * d[0] + s * d[1], -s * d[0] + c * d[1], b[2] - a[2]]) - m

    i, j = edges[:, 0], edges[:, 1]
    r = vmap(residual)(poses[i], poses[j], measured)
    da, db = vmap(jacfwd(residual, argnums=(0, 1)))(poses[i], poses[j], measured)
    g = np.zeros((200, 3)).at[i].add(np.einsum("eij,ei->ej", da, r)).at[j].add(np.einsum("eij,ei->ej", db, r))
    h = np.zeros((200, 200, 3, 3))
    for x, p in ((i, da), (j, db)):
        for y, q in ((i, da), (j, db)):
            h = h.at[x, y].add(np.einsum("eki,ekj->eij", p, q))
    h = h.transpose(0, 2, 1, 3).reshape(600, 600) + np.eye(600)
    return poses - np.linalg.solve(h, g.reshape(-1)).reshape(200, 3)


@program(normal(500, 2), normal(200, 2), uniform(200))
def particle_filter(particles, moves, ranges):
    n = 500

    def step(p, row):
        move, seen = row
        p = p + 0.1 * move
        weights = np.exp(-((np.sqrt(np.sum(p * p, axis=1)) - seen) ** 2))
        total = np.cumsum(weights / np.sum(weights))
        chosen = np.searchsorted(total, (np.arange(n) + 0.5) / n)
        return p[np.minimum(chosen, n - 1)], np.mean(p, axis=0)

    return lax.scan(step, particles, (moves, ranges))[1]


# Finite elements and grids


@program(uniform(4225, 2), integers(8192, 3, high=4225), normal(4225))
def stiffness_products(points, triangles, x):
    p = points[triangles]
    e = np.roll(p, -1, axis=1) - np.roll(p, 1, axis=1)
    area = np.abs(e[:, 0, 0] * e[:, 1, 1] - e[:, 0, 1] * e[:, 1, 0]) / 2 + 1e-3
    local = np.einsum("tid,tjd->tij", e, e) / (4 * area[:, None, None])

    def times(x):
        return np.zeros(4225).at[triangles].add(np.einsum("tij,tj->ti", local, x[triangles])) + x

    def step(_, s):
        x, r, p, rr = s
        ap = times(p)
        alpha = rr / (p @ ap)
        x, r = x + alpha * p, r - alpha * ap
        new = r @ r
        return x, r, r + new / rr * p, new

    return lax.fori_loop(0, 30, step, (np.zeros(4225), x, x, x @ x))[0]


@program(normal(10_000), integers(60_000, high=10_000), ordered(60_000, high=10_000), normal(60_000))
def sparse_products(x, columns, rows, values):
    def step(_, x):
        y = np.zeros(10_000).at[rows].add(values * x[columns])
        return y / np.sqrt(np.sum(y * y))

    return lax.fori_loop(0, 20, step, x)


@program(uniform(40, 40, 3))
def cloth(start):
    def step(s, _):
        x, old = s
        new = x + 0.99 * (x - old) + np.array([0.0, -1e-3, 0.0])

        def pulled(x, axis):
            a, b = (x[:-1], x[1:]) if axis == 0 else (x[:, :-1], x[:, 1:])
            d = b - a
            length = np.sqrt(np.sum(d * d, axis=-1, keepdims=True) + 1e-9)
            c = 0.25 * d * (1 - 0.025 / length)
            if axis == 0:
                return x.at[:-1].add(c).at[1:].add(-c)
            return x.at[:, :-1].add(c).at[:, 1:].add(-c)

        for _ in range(4):
            new = pulled(pulled(new, 0), 1)
        return (new.at[0].set(start[0]), x), None

    return lax.scan(step, (start, start), None, length=50)[0][0]


@program(integers(128, 128, high=8))
def sandpile(x):
    def step(_, x):
        falls = x // 4
        padded = np.pad(falls, 1)
        return x - 4 * falls + padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]

    return lax.fori_loop(0, 100, step, x)


@program(normal(32, 32, 32))
def heat_volume(x):
    def step(_, x):
        return x + 0.1 * (sum(np.roll(x, s, a) for a in range(3) for s in (-1, 1)) - 6 * x)

    return lax.fori_loop(0, 50, step, x)


@program(normal(1000, 4))
def stiff_reactions(start):
    def rate(y):
        return np.stack([-0.04 * y[0] + 1e2 * y[1] * y[2], 0.04 * y[0] - 1e2 * y[1] * y[2] - 3e1 * y[1] ** 2, 3e1 * y[1] ** 2, -y[3]])

    def one(y0):
        def step(y, _):
            def newton(_, z):
                j = np.eye(4) - 0.01 * jacfwd(rate)(z)
                return z - np.linalg.solve(j, z - y - 0.01 * rate(z))

            return lax.fori_loop(0, 3, newton, y), None

        return lax.scan(step, np.abs(y0), None, length=20)[0]

    return vmap(one)(start)


# Learning machines


@program(integers(20_000, 16, high=32), normal(20_000))
def histogram_splits(bins, gradient):
    places = bins + 32 * np.arange(16)
    sums = np.zeros(512).at[places].add(gradient[:, None]).reshape(16, 32)
    counts = np.zeros(512).at[places].add(1.0).reshape(16, 32)
    left, n = np.cumsum(sums, axis=1), np.cumsum(counts, axis=1)
    total, all_ = left[:, -1:], n[:, -1:]
    gain = left**2 / (n + 1) + (total - left) ** 2 / (all_ - n + 1)
    return np.argmax(gain.reshape(-1)), np.max(gain)


@program(normal(5000, 10), integers(50, 63, high=10), normal(50, 63), normal(50, 64))
def forest(x, features, thresholds, leaves):
    def tree(features, thresholds, leaves):
        node = np.zeros(5000, dtype=np.int32)
        for _ in range(6):
            value = np.take_along_axis(x, features[node][:, None], axis=1)[:, 0]
            node = 2 * node + 1 + (value > thresholds[node])
        return leaves[node - 63]

    return np.sum(vmap(tree)(features, thresholds, leaves), axis=0)


@program(normal(300, 2), normal(300, 20))
def neighbour_embedding(y, x):
    p = np.exp(-np.sum((x[:, None] - x[None]) ** 2, axis=-1) / 10)
    p = p * (1 - np.eye(300))
    p = p / np.sum(p)

    def loss(y):
        q = 1 / (1 + np.sum((y[:, None] - y[None]) ** 2, axis=-1))
        q = q * (1 - np.eye(300))
        return np.sum(p * (np.log(p + 1e-9) - np.log(q / np.sum(q) + 1e-9)))

    return grad(loss)(y)


@program(normal(2000, 16), normal(500, 16))
def nearest_labels(x, q):
    d = np.sum(q * q, 1)[:, None] + np.sum(x * x, 1)[None] - 2 * q @ x.T
    values, places = lax.top_k(-d, 5)
    return values, places


@program(normal(32, 60, 16), normal(48, 16, scale=0.2), normal(48, 16, scale=0.2), integers(32, high=16))
def gated_unit_step(x, w, u, label):
    def loss(w, u):
        def step(h, x):
            a, b = x @ w.T, h @ u.T
            r, z = nn.sigmoid(a[:, :16] + b[:, :16]), nn.sigmoid(a[:, 16:32] + b[:, 16:32])
            n = np.tanh(a[:, 32:] + r * b[:, 32:])
            return (1 - z) * n + z * h, None

        h = lax.scan(step, np.zeros((32, 16)), x.transpose(1, 0, 2))[0]
        return -np.mean(np.take_along_axis(nn.log_softmax(h), label[:, None], axis=1))

    value, (dw, du) = value_and_grad(loss, argnums=(0, 1))(w, u)
    return value, w - 0.1 * dw, u - 0.1 * du


@program(normal(8, 64, 32), normal(32, 96, scale=0.2), normal(32, 32, scale=0.2), normal(32, 128, scale=0.2), normal(128, 32, scale=0.1))
def transformer_step(x, wqkv, wo, w1, w2):
    def normalised(x):
        m = np.mean(x, axis=-1, keepdims=True)
        return (x - m) / np.sqrt(np.mean((x - m) ** 2, axis=-1, keepdims=True) + 1e-5)

    def loss(p):
        wqkv, wo, w1, w2 = p
        q, k, v = (a.reshape(8, 64, 4, 8) for a in np.split(normalised(x) @ wqkv, 3, axis=-1))
        s = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(8.0)
        s = np.where(np.tril(np.ones((64, 64), dtype=bool)), s, -1e9)
        h = x + np.einsum("bhqk,bkhd->bqhd", nn.softmax(s), v).reshape(8, 64, 32) @ wo
        h = h + nn.gelu(normalised(h) @ w1) @ w2
        return np.mean((h[:, :-1] - x[:, 1:]) ** 2)

    p = (wqkv, wo, w1, w2)
    value, g = value_and_grad(loss)(p)
    moments = [(0.1 * d, 0.001 * d * d) for d in g]
    return value, [w - 1e-3 * m / (np.sqrt(v) + 1e-8) for w, (m, v) in zip(p, moments)]


@program(normal(4, 32, 32, 8), normal(3, 3, 8, 16, scale=0.1), normal(3, 3, 16, 16, scale=0.1), normal(3, 3, 24, 8, scale=0.1))
def hourglass_gradient(x, a, b, c):
    names = ("NHWC", "HWIO", "NHWC")

    def conv(x, k, stride=1):
        return lax.conv_general_dilated(x, k, (stride, stride), "SAME", dimension_numbers=names)

    def loss(a, b, c):
        down = nn.relu(conv(x, a, 2))
        low = nn.relu(conv(down, b))
        up = np.repeat(np.repeat(low, 2, axis=1), 2, axis=2)
        return np.mean((conv(np.concatenate([up, x], axis=-1), c) - x) ** 2)

    return grad(loss, argnums=(0, 1, 2))(a, b, c)


@program(normal(32, 40, 9), normal(9, 9), integers(32, 40, high=9))
def random_field_gradient(scores, transitions, labels):
    def loss(scores, transitions):
        def step(alpha, s):
            return nn.logsumexp(alpha[:, :, None] + transitions, axis=1) + s, None

        alpha = lax.scan(step, scores[:, 0], scores[:, 1:].transpose(1, 0, 2))[0]
        path = np.sum(np.take_along_axis(scores, labels[..., None], axis=2)) + np.sum(transitions[labels[:, :-1], labels[:, 1:]])
        return np.sum(nn.logsumexp(alpha, axis=1)) - path

    return grad(loss, argnums=(0, 1))(scores, transitions)


@program(normal(200, 5), normal(200, 40), uniform(40))
def curve_fits(p, noise, t):
    def model(p):
        return p[0] * np.exp(-np.abs(p[1]) * t) + p[2] * np.sin(p[3] * t + p[4])

    def one(p, y):
        def step(_, s):
            p, damping = s
            r, j = model(p) - y, jacfwd(model)(p)
            d = np.linalg.solve(j.T @ j + damping * np.eye(5), j.T @ r)
            better = np.sum((model(p - d) - y) ** 2) < np.sum(r * r)
            return np.where(better, p - d, p), np.where(better, damping / 3, damping * 2)

        return lax.fori_loop(0, 15, step, (p, 0.1))[0]

    return vmap(one)(p, noise)


@program(normal(1000, 20))
def adaptive_steps(x):
    def f(y):
        return -y + 0.1 * np.sin(3 * y)

    def step(s):
        t, y, h = s
        k1 = f(y)
        k2 = f(y + h * k1)
        error = np.max(np.abs(h * (k2 - k1) / 2)) + 1e-12
        good = error < 1e-3
        y = np.where(good, y + h * (k1 + k2) / 2, y)
        t = np.where(good, t + h, t)
        return t, y, np.clip(h * np.sqrt(0.8e-3 / error), 1e-4, 0.2)

    return lax.while_loop(lambda s: s[0] < 2.0, step, (np.array(0.0), x, np.array(0.01)))[1]
