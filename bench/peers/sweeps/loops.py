"""Loops that carry something: simulations, filters, recurrences, root finding."""

from .library import grad, integers, lax, normal, np, positive, program, random, root, special, uniform, vmap


@program(normal(1000, scale=0.01), normal(1000, scale=0.01))
def wave_string(u, v):
    def step(_, s):
        u, v = s
        v = v.at[1:-1].add(0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]))
        return u + 0.1 * v, v

    return lax.fori_loop(0, 500, step, (u, v))


@program(uniform(256, 256), uniform(256, 256))
def gray_scott(u, v):
    lap = lambda a: np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a

    def step(_, s):
        u, v = s
        uvv = u * v * v
        return u + 0.16 * lap(u) - uvv + 0.06 * (1 - u), v + 0.08 * lap(v) + uvv - 0.12 * v

    return lax.fori_loop(0, 50, step, (u, v))


@program(integers(256, 256, high=2))
def game_of_life(x):
    def step(_, a):
        n = sum(np.roll(np.roll(a, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1)) - a
        return ((n == 3) | ((a == 1) & (n == 2))).astype(np.int32)

    return lax.fori_loop(0, 20, step, x)


@program(normal(128, 128))
def burgers(u):
    def step(_, u):
        dx = (np.roll(u, -1, 1) - np.roll(u, 1, 1)) / 2
        d2 = np.roll(u, -1, 1) + np.roll(u, 1, 1) + np.roll(u, -1, 0) + np.roll(u, 1, 0) - 4 * u
        return u - 0.01 * u * dx + 0.05 * d2

    return lax.fori_loop(0, 100, step, u)


@program(normal(200, 3), normal(200, 3, scale=0.01))
def gravity(x, v):
    def acceleration(x):
        d = x[:, None] - x[None]
        r2 = np.sum(d * d, axis=-1) + 0.01
        return -np.sum(d * (r2**-1.5)[..., None], axis=1) / 200

    def step(s, _):
        x, v = s
        v = v + 0.01 * acceleration(x)
        x = x + 0.01 * v
        return (x, v), np.sum(v * v)

    return lax.scan(step, (x, v), None, length=20)


@program(normal(64, 2), normal(64, 2))
def springs(x, v):
    def energy(x):
        d = x[1:] - x[:-1]
        return np.sum((np.sqrt(np.sum(d * d, axis=1) + 1e-6) - 1) ** 2)

    def step(s, _):
        x, v = s
        v = v - 0.01 * grad(energy)(x)
        return (x + 0.01 * v, v), None

    return lax.scan(step, (x, v), None, length=500)[0]


@program(normal(4))
def cart_pole(s):
    def step(s, _):
        x, v, a, w = s[0], s[1], s[2], s[3]
        f = -10 * np.sign(a)
        c, n = np.cos(a), np.sin(a)
        t = (f + 0.05 * w * w * n) / 1.1
        wd = (9.8 * n - c * t) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        s = np.array([x + 0.02 * v, v + 0.02 * (t - 0.05 * wd * c / 1.1), a + 0.02 * w, w + 0.02 * wd])
        return s, s

    return lax.scan(step, s * 0.01, None, length=1000)


@program(normal(256, 4))
def cart_poles(s):
    def step(s, _):
        x, v, a, w = s[:, 0], s[:, 1], s[:, 2], s[:, 3]
        f = -10 * np.sign(a)
        c, n = np.cos(a), np.sin(a)
        t = (f + 0.05 * w * w * n) / 1.1
        wd = (9.8 * n - c * t) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        s = np.stack([x + 0.02 * v, v + 0.02 * (t - 0.05 * wd * c / 1.1), a + 0.02 * w, w + 0.02 * wd], axis=1)
        return s, np.sum(s * s, axis=1)

    return lax.scan(step, s * 0.01, None, length=200)


@program(normal(2000))
def exponential_average(x):
    return lax.scan(lambda s, v: (0.9 * s + 0.1 * v,) * 2, np.float32(0), x)[1]


@program(normal(1000, 32))
def exponential_averages(x):
    return lax.scan(lambda s, v: (0.9 * s + 0.1 * v,) * 2, np.zeros(32), x)[1]


@program(normal(5000))
def garch(r):
    def step(v, x):
        v = 0.05 + 0.1 * x * x + 0.85 * v
        return v, np.log(v) + x * x / v

    return np.sum(lax.scan(step, np.float32(1), r)[1])


@program(normal(5000), uniform(3))
def garch_gradient(r, p):
    def loss(p):
        def step(v, x):
            v = p[0] + 0.1 * p[1] * x * x + 0.85 * p[2] * v
            return v, np.log(v) + x * x / v

        return np.sum(lax.scan(step, np.float32(1), r)[1])

    return grad(loss)(p)


@program(normal(64, 64))
def newton_schulz(a):
    a = a / np.sqrt(np.sum(a * a))

    def step(_, x):
        s = x @ x.T
        return 1.5 * x - 0.5 * s @ x

    return lax.fori_loop(0, 20, step, a)


@program(positive(64))
def power_iteration(a):
    def step(_, v):
        v = a @ v
        return v / np.sqrt(np.sum(v * v))

    return lax.fori_loop(0, 200, step, np.ones(64))


@program(positive(200), normal(200))
def conjugate_gradient(a, b):
    def step(s):
        x, r, p, rs, k = s
        ap = a @ p
        alpha = rs / (p @ ap)
        x, r = x + alpha * p, r - alpha * ap
        new = r @ r
        return x, r, r + new / rs * p, new, k + 1

    return lax.while_loop(lambda s: (s[3] > 1e-8) & (s[4] < 200), step, (np.zeros(200), b, b, b @ b, 0))[0]


@program(uniform(1000, low=0.5, high=5.0))
def newton_roots(a):
    def step(_, x):
        return x - (x**3 - a) / (3 * x * x)

    return lax.fori_loop(0, 20, step, np.ones(1000))


@program(uniform(10_000, low=0.1, high=2.0))
def while_roots(a):
    f = lambda s: (s[0] - (s[0] ** 2 - a) / (2 * s[0]), s[0])
    return lax.while_loop(lambda s: np.max(np.abs(s[0] - s[1])) > 1e-6, f, (np.ones(10_000), np.zeros(10_000)))[0]


@program(uniform(400, 600))
def mandelbrot(x):
    c = np.linspace(-2, 1, 600)[None] + 1j * np.linspace(-1, 1, 400)[:, None]

    def step(_, s):
        z, n = s
        z = np.where(n >= 0, z * z + c, z)
        return z, np.where(np.abs(z) < 2, n + 1, n)

    return lax.fori_loop(0, 30, step, (c * 0, np.zeros((400, 600), np.int32)))[1] + x


@program(uniform(100, 100), uniform(100))
def markov(p, s):
    p = p / np.sum(p, axis=1, keepdims=True)
    return lax.fori_loop(0, 100, lambda _, v: v @ p, s / np.sum(s))


@program(uniform(16, 16, low=0.1), uniform(500, 16, low=0.1))
def hidden_markov(p, e):
    p = p / np.sum(p, axis=1, keepdims=True)

    def step(a, b):
        a = (a @ p) * b
        s = np.sum(a)
        return a / s, np.log(s)

    return np.sum(lax.scan(step, np.ones(16) / 16, e)[1])


@program(normal(16, 16), normal(500, 16))
def viterbi(p, e):
    def step(a, b):
        scores = a[:, None] + p
        return np.max(scores, axis=0) + b, np.argmax(scores, axis=0)

    return lax.scan(step, np.zeros(16), e)


@program(normal(16, 16), normal(500, 16))
def log_forward(p, e):
    def step(a, b):
        return special.logsumexp(a[:, None] + p, axis=0) + b, None

    return special.logsumexp(lax.scan(step, np.zeros(16), e)[0])


@program(normal(16, 16), normal(500, 16))
def log_forward_gradient(p, e):
    def loss(p, e):
        def step(a, b):
            return special.logsumexp(a[:, None] + p, axis=0) + b, None

        return special.logsumexp(lax.scan(step, np.zeros(16), e)[0])

    return grad(loss, (0, 1))(p, e)


@program(integers(100, high=4), integers(100, high=4))
def alignment(a, b):
    def row(prev, x):
        costs = np.where(x == b, 2, -1)

        def cell(left, s):
            up, diagonal, c = s
            best = np.maximum(np.maximum(left - 1, up - 1), diagonal + c)
            return best, best

        line = lax.scan(cell, np.int32(0), (prev[1:], prev[:-1], costs))[1]
        line = np.concatenate([np.zeros(1, np.int32), line])
        return line, np.max(line)

    return lax.scan(row, np.zeros(101, np.int32), a)[1]


@program(normal(1000, 6))
def time_warping(x):
    d = np.sum((x[:200, None] - x[None, 200:400]) ** 2, axis=-1)

    def row(prev, costs):
        def cell(left, s):
            up, diagonal, c = s
            best = c + np.minimum(np.minimum(left, up), diagonal)
            return best, best

        inf = np.float32(1e30)
        line = lax.scan(cell, inf, (prev[1:], prev[:-1], costs))[1]
        return np.concatenate([np.full(1, inf), line]), None

    start = np.concatenate([np.zeros(1), np.full(200, 1e30)])
    return lax.scan(row, start, d)[0]


@program(normal(50, 4, 4), normal(50, 4, 2))
def riccati(a, b):
    a = 0.3 * a

    def step(p, ab):
        a, b = ab
        s = np.eye(2) + b.T @ p @ b
        k = np.linalg.solve(s, b.T @ p @ a)
        p = np.eye(4) + a.T @ p @ (a - b @ k)
        return p, k

    return lax.scan(step, np.eye(4), (a, b), reverse=True)


@program(normal(6), uniform(6))
def arm_kinematics(q, lengths):
    def reach(q):
        a = np.cumsum(q)
        return np.stack([np.sum(lengths * np.cos(a)), np.sum(lengths * np.sin(a))])

    jac = root.jacfwd(reach)

    def step(_, q):
        j = jac(q)
        e = np.array([1.0, 1.5]) - reach(q)
        return q + j.T @ np.linalg.solve(j @ j.T + 0.01 * np.eye(2), e)

    return lax.fori_loop(0, 50, step, q)


@program(normal(1000, 6), uniform(6))
def arm_kinematics_many(q, lengths):
    def reach(q):
        a = np.cumsum(q)
        return np.stack([np.sum(lengths * np.cos(a)), np.sum(lengths * np.sin(a))])

    return vmap(root.jacfwd(reach))(q)


@program(normal(10_000))
def euler_maruyama(x):
    def step(x, key):
        return x - 0.01 * x**3 + 0.1 * random.normal(key, (10_000,)), np.mean(x)

    return lax.scan(step, x, random.split(random.key(0), 50))


@program(normal(8))
def metropolis(x):
    energy = lambda x: np.sum(x**4 / 4 - x * x / 2) + 0.1 * np.sum(x[1:] * x[:-1])

    def step(x, key):
        a, b = random.split(key)
        y = x + 0.3 * random.normal(a, (8,))
        x = np.where(np.log(random.uniform(b)) < energy(x) - energy(y), y, x)
        return x, x

    return lax.scan(step, x, random.split(random.key(1), 1000))


@program(normal(100, 8))
def langevin_chains(x):
    energy = lambda x: np.sum(x**4 / 4 - x * x / 2) + 0.1 * np.sum(x[1:] * x[:-1])
    force = vmap(grad(energy))

    def step(x, key):
        return x - 0.01 * force(x) + 0.14 * random.normal(key, (100, 8)), None

    return lax.scan(step, x, random.split(random.key(1), 300))[0]


@program(normal(64, 64), normal(64))
def adam_quadratic(a, b):
    loss = lambda x: np.sum((a @ x - b) ** 2)

    def step(s, i):
        x, m, v = s
        g = grad(loss)(x)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - 0.01 * m / (1 - 0.9 ** (i + 1)) / (np.sqrt(v / (1 - 0.999 ** (i + 1))) + 1e-8)
        return (x, m, v), loss(x)

    z = np.zeros(64)
    return lax.scan(step, (z, z, z), np.arange(300.0))[1]


@program(normal(3))
def rosenbrock_descent(x):
    f = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    return lax.fori_loop(0, 2000, lambda _, x: x - 1e-4 * grad(f)(x), x)


@program(normal(5))
def newton_minimum(x):
    f = lambda x: np.sum(np.log(np.cosh(x - np.arange(5.0)))) + 0.1 * np.sum(x * x)

    def step(_, x):
        return x - np.linalg.solve(root.hessian(f)(x), grad(f)(x))

    return lax.fori_loop(0, 20, step, x)


@program(normal(2000, 2))
def kmeans(x):
    def step(_, c):
        d = np.sum((x[:, None] - c[None]) ** 2, axis=-1)
        near = np.argmin(d, axis=1)
        hot = (near[:, None] == np.arange(8)).astype(np.float32)
        return (hot.T @ x) / np.maximum(np.sum(hot, axis=0), 1)[:, None]

    return lax.fori_loop(0, 20, step, x[:8])


@program(normal(1000, 2))
def gaussian_mixture(x):
    def step(_, s):
        mean, logvar, logw = s
        d = -0.5 * np.sum((x[:, None] - mean) ** 2 / np.exp(logvar) + logvar, axis=-1) + logw
        r = np.exp(d - special.logsumexp(d, axis=1, keepdims=True))
        n = np.sum(r, axis=0)
        mean = (r.T @ x) / n[:, None]
        var = (r.T @ (x * x)) / n[:, None] - mean**2
        return mean, np.log(np.maximum(var, 1e-3)), np.log(n / 1000)

    return lax.fori_loop(0, 30, step, (x[:5], np.zeros((5, 2)), np.full(5, -1.6)))


@program(normal(32, 100, 24), normal(24, 64), normal(64, 64, scale=0.1))
def simple_rnn(x, w, u):
    def step(h, v):
        h = np.tanh(v @ w + h @ u)
        return h, h

    return lax.scan(step, np.zeros((32, 64)), x.transpose(1, 0, 2))[1]


@program(normal(32, 100, 24), normal(24, 64), normal(64, 64, scale=0.1))
def simple_rnn_gradient(x, w, u):
    def loss(w, u):
        def step(h, v):
            h = np.tanh(v @ w + h @ u)
            return h, np.sum(h * h)

        return np.sum(lax.scan(step, np.zeros((32, 64)), x.transpose(1, 0, 2))[1])

    return grad(loss, (0, 1))(w, u)


@program(normal(256, 64), normal(64, 16), uniform(64, 16))
def state_space(x, b, a):
    def step(h, v):
        h = np.exp(-a) * h + v[:, None] * b
        return h, np.sum(h * b, axis=1)

    return lax.scan(step, np.zeros((64, 16)), x)[1]


@program(uniform(252, 1000))
def barrier_option(u):
    def step(s, u):
        price, alive = s
        price = price * np.exp(0.01 * special.ndtri(u))
        return (price, alive & (price > 80)), None

    price, alive = lax.scan(step, (np.full(1000, 100.0), np.ones(1000, bool)), u * 0.98 + 0.01)[0]
    return np.mean(np.where(alive, np.maximum(price - 100, 0), 0))


@program(uniform(200, low=80.0, high=120.0))
def binomial_tree(strike):
    steps = 200
    s = 100 * np.exp(0.02 * (2 * np.arange(steps + 1.0) - steps))

    def price(k):
        v = np.maximum(k - s, 0)

        def back(i, v):
            held = 0.9999 * (0.51 * np.roll(v, -1) + 0.49 * v)
            return np.maximum(held, k - s * np.exp(0.02 * i))

        return lax.fori_loop(0, steps, back, v)[0]

    return vmap(price)(strike)


@program(uniform(500, low=50.0, high=150.0))
def crank_nicolson(s):
    n = 500
    low, diagonal, up = np.full(n, -0.2), np.full(n, 1.5), np.full(n, -0.3)

    def sweep(v):
        def forward(c, x):
            l, d, u, b = x
            m = 1 / (d - l * c[0])
            now = (u * m, (b - l * c[1]) * m)
            return now, now

        c, d = lax.scan(forward, (np.float32(0), np.float32(0)), (low, diagonal, up, v))[1]
        return lax.scan(lambda x, cd: (cd[1] - cd[0] * x,) * 2, np.float32(0), (c, d), reverse=True)[1]

    return lax.fori_loop(0, 20, lambda _, v: sweep(v), np.maximum(s - 100, 0))
