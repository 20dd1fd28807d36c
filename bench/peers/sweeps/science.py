"""Linear algebra, spectra, special functions, statistics, finance, geometry."""

from .library import grad, hessian, integers, jacfwd, lax, linalg, normal, np, positive, program, random, special, uniform, vmap


@program(positive(100), normal(100))
def gaussian_log_density(a, x):
    l = np.linalg.cholesky(a)
    z = linalg.solve_triangular(l, x, lower=True)
    return -0.5 * z @ z - np.sum(np.log(np.diagonal(l)))


@program(positive(100), normal(100))
def gaussian_log_density_gradient(a, x):
    def f(a, x):
        l = np.linalg.cholesky(a)
        z = linalg.solve_triangular(l, x, lower=True)
        return -0.5 * z @ z - np.sum(np.log(np.diagonal(l)))

    return grad(f, (0, 1))(a, x)


@program(positive(8, (500,)), normal(500, 8))
def many_solves(a, b):
    return np.linalg.solve(a, b[..., None])[..., 0]


@program(positive(8, (500,)))
def many_choleskys(a):
    return np.linalg.cholesky(a)


@program(positive(4, (2000,)))
def many_eigenvalues(a):
    return np.linalg.eigvalsh(a)


@program(normal(200, 6, 4))
def many_factorizations(a):
    return np.linalg.qr(a)


@program(normal(300, 100), normal(300))
def least_squares(a, b):
    return np.linalg.lstsq(a, b)[0]


@program(normal(1000, 30), normal(1000))
def ridge(a, b):
    return np.linalg.solve(a.T @ a + 0.1 * np.eye(30), a.T @ b)


@program(normal(32, 32, scale=0.1))
def matrix_exponential(a):
    return linalg.expm(a)


@program(normal(64, 64, scale=0.1))
def matrix_power(a):
    return np.linalg.matrix_power(a, 13)


@program(normal(500, 500))
def principal_components(x):
    x = x - np.mean(x, axis=0)
    return np.linalg.eigh(x.T @ x / 500)[0]


@program(normal(200, 3), normal(200, 3))
def procrustes(a, b):
    u, _, vt = np.linalg.svd((a - np.mean(a, axis=0)).T @ (b - np.mean(b, axis=0)))
    return u @ vt


@program(normal(4096), normal(4096))
def fft_convolution(a, b):
    return np.fft.irfft(np.fft.rfft(a, n=8192) * np.fft.rfft(b, n=8192), n=8192)


@program(normal(200, 256))
def power_spectra(x):
    f = np.fft.rfft(x * np.hanning(256), axis=1)
    return np.real(f) ** 2 + np.imag(f) ** 2


@program(normal(256, 256))
def low_pass(x):
    k = np.fft.fftfreq(256)
    return np.real(np.fft.ifft2(np.fft.fft2(x) * np.exp(-100 * (k[:, None] ** 2 + k**2))))


@program(normal(128, 128))
def poisson_solve(f):
    k = 2 * np.pi * np.fft.fftfreq(128)
    k2 = k[:, None] ** 2 + k**2
    return np.real(np.fft.ifft2(np.where(k2 > 0, -np.fft.fft2(f) / np.where(k2 > 0, k2, 1), 0)))


@program(normal(64, 64, 64))
def fft_volume(x):
    return np.abs(np.fft.fftn(x))


@program(normal(64, 64))
def spectral_burgers(u):
    k = 2 * np.pi * np.fft.fftfreq(64)

    def step(_, f):
        u = np.real(np.fft.ifft2(f))
        n = np.fft.fft2(u * np.real(np.fft.ifft2(1j * k * f)))
        return (f - 0.01 * n) / (1 + 0.01 * (k[:, None] ** 2 + k**2))

    return np.abs(lax.fori_loop(0, 50, step, np.fft.fft2(u)))


@program(normal(1_000_000))
def normal_cdf(x):
    return special.ndtr(x)


@program(uniform(1_000_000, low=0.001, high=0.999))
def inverse_normal_cdf(x):
    return special.ndtri(x)


@program(uniform(300_000, low=0.1, high=20.0))
def log_gamma(x):
    return special.gammaln(x)


@program(uniform(100_000, low=0.1, high=5.0), uniform(100_000, low=0.1, high=5.0))
def incomplete_gamma(a, x):
    return special.gammainc(a, x)


@program(uniform(50_000, low=0.1, high=5.0), uniform(50_000, low=0.1, high=5.0), uniform(50_000))
def incomplete_beta(a, b, x):
    return special.betainc(a, b, x)


@program(normal(1_000_000))
def bessel(x):
    return special.i0e(x) + special.i1e(x)


@program(uniform(1_000_000, low=80.0, high=120.0))
def black_scholes(s):
    d1 = (np.log(s / 100) + 0.05) / 0.2
    return s * special.ndtr(d1) - 97 * special.ndtr(d1 - 0.2)


@program(uniform(100_000, low=80.0, high=120.0))
def black_scholes_greeks(s):
    def price(s, v):
        d1 = (np.log(s / 100) + 0.05) / v
        return s * special.ndtr(d1) - 97 * special.ndtr(d1 - v)

    return vmap(grad(price, (0, 1)), (0, None))(s, 0.2), vmap(grad(grad(price)), (0, None))(s, 0.2)


@program(uniform(10_000, low=5.0, high=20.0))
def implied_volatility(price):
    def value(v):
        d1 = (0.05 + v * v / 2) / v
        return 100 * special.ndtr(d1) - 95 * special.ndtr(d1 - v)

    def step(_, v):
        return np.clip(v - (value(v) - price) / (100 * np.exp(-0.5 * ((0.05 + v * v / 2) / v) ** 2) * 0.4 + 1e-3), 0.01, 3)

    return lax.fori_loop(0, 20, step, np.full(10_000, 0.3))


@program(uniform(20, low=0.5, high=1.5))
def asian_option(weights):
    z = random.normal(random.key(0), (10_000, 20))
    paths = 100 * np.exp(np.cumsum(0.05 * z * weights - 0.00125, axis=1))
    return np.mean(np.maximum(np.mean(paths, axis=1) - 100, 0))


@program(uniform(20, low=0.5, high=1.5))
def asian_option_gradient(weights):
    def price(weights):
        z = random.normal(random.key(0), (10_000, 20))
        paths = 100 * np.exp(np.cumsum(0.05 * z * weights - 0.00125, axis=1))
        return np.mean(np.maximum(np.mean(paths, axis=1) - 100, 0))

    return grad(price)(weights)


@program(normal(500, 50))
def covariance(x):
    return np.cov(x, rowvar=False)


@program(normal(10_000, 8))
def moments(x):
    m = np.mean(x, axis=0)
    d = x - m
    v = np.mean(d**2, axis=0)
    return m, v, np.mean(d**3, axis=0) / v**1.5, np.mean(d**4, axis=0) / v**2


@program(normal(2000))
def autocorrelation(x):
    x = x - np.mean(x)
    return vmap(lambda k: np.sum(np.where(np.arange(2000) >= k, x * x[(np.arange(2000) - k) % 2000], 0)))(np.arange(50))


@program(normal(1000))
def bootstrap(x):
    at = random.randint(random.key(0), (200, 1000), 0, 1000)
    return np.std(np.mean(x[at], axis=1))


@program(normal(1000, 3), normal(100))
def kernel_density(x, g):
    return np.mean(np.exp(-0.5 * ((g[:, None] - x[None, :, 0]) / 0.2) ** 2), axis=1)


@program(normal(200, 2), normal(200))
def gaussian_process(x, y):
    d = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    k = np.exp(-0.5 * d) + 0.1 * np.eye(200)
    return y @ np.linalg.solve(k, y) + np.linalg.slogdet(k)[1]


@program(normal(200, 2), normal(200), uniform(3))
def gaussian_process_gradient(x, y, p):
    def f(p):
        d = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
        k = p[0] * np.exp(-0.5 * d * p[1]) + (0.1 + p[2]) * np.eye(200)
        l = np.linalg.cholesky(k)
        z = linalg.solve_triangular(l, y, lower=True)
        return 0.5 * z @ z + np.sum(np.log(np.diagonal(l)))

    return grad(f)(p)


@program(uniform(300, 2), uniform(300, 2))
def sinkhorn(x, y):
    c = np.sum((x[:, None] - y[None]) ** 2, axis=-1) / 0.05

    def step(_, s):
        f, g = s
        f = -special.logsumexp(g[None] - c, axis=1)
        g = -special.logsumexp(f[:, None] - c, axis=0)
        return f, g

    return lax.fori_loop(0, 20, step, (np.zeros(300), np.zeros(300)))


@program(normal(100, 3))
def lennard_jones(x):
    x = 3 * x

    def energy(x):
        d = x[:, None] - x[None]
        r2 = np.sum(d * d, axis=-1) + np.eye(100)
        s = 1 / np.maximum(r2, 0.8) ** 3
        return np.sum(np.where(np.eye(100, dtype=bool), 0, s * s - s))

    return grad(energy)(x)


@program(normal(12))
def dihedral_hessian(x):
    def energy(x):
        p = x.reshape(4, 3)
        a, b, c = p[1] - p[0], p[2] - p[1], p[3] - p[2]
        n1, n2 = np.cross(a, b), np.cross(b, c)
        return 1 + np.cos(3 * np.arctan2(np.sqrt(b @ b) * (a @ n2), n1 @ n2))

    return hessian(energy)(x)


@program(uniform(200, 6, low=-1.0))
def robot_jacobians(q):
    def pose(q):
        t = np.eye(4)
        for k in range(6):
            c, s = np.cos(q[k]), np.sin(q[k])
            if k % 2:
                m = np.array([[c, 0, s, 0.1], [0, 1, 0, 0.2], [-s, 0, c, 0.3], [0, 0, 0, 1]])
            else:
                m = np.array([[c, -s, 0, 0.3], [s, c, 0, 0.1], [0, 0, 1, 0.2], [0, 0, 0, 1]])
            t = t @ m
        return t[:3, 3]

    return vmap(jacfwd(pose))(q)


@program(normal(1000, 3), normal(3), normal(3))
def camera_jacobian(points, rotation, shift):
    def project(r, t):
        a = np.sqrt(np.sum(r * r) + 1e-9)
        k = r / a
        p = points * np.cos(a) + np.cross(k, points) * np.sin(a) + k * (points @ k)[:, None] * (1 - np.cos(a)) + t
        return p[:, :2] / (p[:, 2:] + 5)

    return jacfwd(project, (0, 1))(rotation, shift)


@program(uniform(200, 200), uniform(64, 3))
def ray_spheres(x, balls):
    i = np.arange(200) / 100 - 1
    d = np.stack([np.broadcast_to(i, (200, 200)), np.broadcast_to(i[:, None], (200, 200)), np.ones((200, 200))], axis=-1)
    d = d / np.linalg.norm(d, axis=-1, keepdims=True)
    c = balls * 2 - 1 + np.array([0, 0, 4.0])
    b = d @ c.T
    q = b * b - np.sum(c * c, axis=1) + 0.04
    t = np.where(q > 0, b - np.sqrt(np.maximum(q, 0)), np.inf)
    return np.min(t, axis=-1) * (x >= 0)


@program(uniform(64, 64, 64))
def marching_gradients(x):
    return np.stack(np.gradient(x))


@program(normal(256, 256))
def sobel(x):
    gx = np.array([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]])
    conv = lambda k: lax.conv_general_dilated(x[None, None], k[None, None], (1, 1), "SAME")[0, 0]
    return np.sqrt(conv(gx) ** 2 + conv(gx.T) ** 2)


@program(uniform(256, 256))
def median_filter(x):
    p = np.pad(x, 1, mode="edge")
    return np.median(np.stack([p[i : i + 256, j : j + 256] for i in range(3) for j in range(3)]), axis=0)


@program(uniform(512, 512))
def integral_image(x):
    s = np.cumsum(np.cumsum(x, axis=0), axis=1)
    return s[16:, 16:] - s[:-16, 16:] - s[16:, :-16] + s[:-16, :-16]


@program(uniform(256, 256, 3))
def color_hsv(x):
    v, m = np.max(x, axis=-1), np.min(x, axis=-1)
    d = np.where(v == m, 1, v - m)
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    h = np.where(v == r, (g - b) / d, np.where(v == g, 2 + (b - r) / d, 4 + (r - g) / d))
    return np.stack([(h / 6) % 1.0, np.where(v > 0, (v - m) / np.maximum(v, 1e-6), 0), v], axis=-1)


@program(normal(128, 128))
def total_variation(x):
    f = lambda u: np.sum(np.sqrt((u[1:, :-1] - u[:-1, :-1]) ** 2 + (u[:-1, 1:] - u[:-1, :-1]) ** 2 + 1e-3)) + np.sum((u - x) ** 2)
    return lax.fori_loop(0, 50, lambda _, u: u - 0.02 * grad(f)(u), x)


@program(normal(100, 100))
def chambolle(x):
    div = lambda p: (p[0] - np.roll(p[0], 1, 0)) + (p[1] - np.roll(p[1], 1, 1))
    nabla = lambda u: np.stack([np.roll(u, -1, 0) - u, np.roll(u, -1, 1) - u])

    def step(_, p):
        g = nabla(div(p) - x)
        return (p + 0.2 * g) / (1 + 0.2 * np.sqrt(np.sum(g * g, axis=0)))

    return lax.fori_loop(0, 50, step, np.zeros((2, 100, 100)))


@program(normal(40, 40), normal(40))
def simplex_projection(a, b):
    def project(v):
        u = np.sort(v)[::-1]
        c = (np.cumsum(u) - 1) / np.arange(1.0, 41.0)
        return np.maximum(v - c[np.sum(u > c) - 1], 0)

    return lax.fori_loop(0, 50, lambda _, x: project(x - 0.005 * (a.T @ (a @ x - b))), np.ones(40) / 40)


@program(integers(200, 200, low=1, high=100))
def shortest_paths(d):
    return lax.fori_loop(0, 200, lambda k, d: np.minimum(d, d[:, k][:, None] + d[k][None]), d)


@program(uniform(500, 500))
def page_rank(a):
    a = (a > 0.95).astype(np.float32)
    p = a / np.maximum(np.sum(a, axis=0), 1)
    return lax.fori_loop(0, 50, lambda _, r: 0.85 * p @ r + 0.15 / 500, np.ones(500) / 500)


@program(integers(5000, 2, high=1000))
def label_propagation(edges):
    def step(_, label):
        label = label.at[edges[:, 0]].min(label[edges[:, 1]])
        return label.at[edges[:, 1]].min(label[edges[:, 0]])

    return lax.fori_loop(0, 20, step, np.arange(1000))


@program(uniform(100_000, 2))
def monte_carlo_pi(x):
    return 4 * np.mean(np.sum(x * x, axis=1) < 1)


@program(uniform(64, low=0.1))
def quantum_gates(a):
    s = np.zeros(1024, np.complex64).at[0].set(1)
    for k in range(10):
        c, i = np.cos(a[k]), 1j * np.sin(a[k])
        t = s.reshape(1 << k, 2, -1)
        s = np.stack([c * t[:, 0] - i * t[:, 1], c * t[:, 1] - i * t[:, 0]], axis=1).reshape(-1)
    return np.abs(s)


@program(normal(100, 100), normal(100, 100))
def complex_products(a, b):
    z = a + 1j * b
    return np.abs(z @ np.conj(z.T))


@program(uniform(1000, low=-3.0, high=3.0))
def taylor_derivatives(x):
    f = lambda x: np.sin(x) * np.exp(-x * x)
    return vmap(grad(grad(grad(f))))(x)


@program(normal(100, 20), normal(20))
def fisher_information(x, w):
    f = lambda w, x: np.log(1 / (1 + np.exp(-x @ w)))
    g = vmap(grad(f), (None, 0))(w, x)
    return g.T @ g / 100


@program(normal(30))
def rastrigin_hessian(x):
    return hessian(lambda x: 10 * 30 + np.sum(x * x - 10 * np.cos(2 * np.pi * x)) + 0.1 * np.sum(x) ** 2)(x)


@program(normal(20, 20))
def log_determinant_gradient(a):
    return grad(lambda a: np.linalg.slogdet(a @ a.T + np.eye(20))[1])(a)


@program(normal(6, 6))
def eigenvalue_gradient(a):
    return grad(lambda a: np.sum(np.linalg.eigvalsh(a + a.T) ** 3))(a)
