"""Layers, losses and training steps."""

from .library import grad, hessian, integers, jacfwd, jvp, lax, nn, normal, np, program, random, uniform, value_and_grad, vmap


def layer_norm(x, g, b):
    m = np.mean(x, axis=-1, keepdims=True)
    return (x - m) / np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-5) * g + b


@program(normal(64, 128, 256), normal(256), normal(256))
def layer_norms(x, g, b):
    return layer_norm(x, g, b)


@program(normal(64, 128, 256), normal(256), normal(256))
def layer_norm_gradient(x, g, b):
    return grad(lambda x, g, b: np.sum(layer_norm(x, g, b) ** 2), (0, 1, 2))(x, g, b)


@program(normal(2048, 768), normal(768))
def rms_norm(x, g):
    return x * lax.rsqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6) * g


@program(normal(16, 64, 28, 28), normal(64), normal(64))
def batch_norm(x, g, b):
    m = np.mean(x, axis=(0, 2, 3), keepdims=True)
    v = np.var(x, axis=(0, 2, 3), keepdims=True)
    return nn.relu((x - m) * lax.rsqrt(v + 1e-5) * g[:, None, None] + b[:, None, None])


@program(normal(8, 64, 32, 32))
def group_norm(x):
    y = x.reshape(8, 8, 8 * 32 * 32)
    y = (y - np.mean(y, axis=2, keepdims=True)) / np.sqrt(np.var(y, axis=2, keepdims=True) + 1e-5)
    return y.reshape(x.shape)


@program(normal(1024, 1024))
def gelu(x):
    return nn.gelu(x)


@program(normal(1024, 1024))
def gelu_exact_gradient(x):
    return grad(lambda x: np.sum(nn.gelu(x, approximate=False)))(x)


@program(normal(1024, 1024), normal(1024, 1024))
def swiglu(a, b):
    return nn.silu(a) * b


@program(normal(4096, 1000), integers(4096, high=1000))
def cross_entropy(x, label):
    return -np.mean(np.take_along_axis(nn.log_softmax(x, axis=1), label[:, None], axis=1))


@program(normal(4096, 1000), integers(4096, high=1000))
def cross_entropy_gradient(x, label):
    return grad(lambda x: -np.mean(np.take_along_axis(nn.log_softmax(x, axis=1), label[:, None], axis=1)))(x)


@program(normal(100_000), integers(100_000, high=2))
def logistic_loss(x, y):
    return np.mean(nn.softplus(x) - y * x)


@program(normal(1000, 20), integers(1000, high=2), normal(20))
def logistic_hessian(x, y, w):
    return hessian(lambda w: np.mean(nn.softplus(x @ w) - y * (x @ w)))(w)


@program(normal(2, 8, 256, 64), normal(2, 8, 256, 64), normal(2, 8, 256, 64))
def causal_attention(q, k, v):
    s = np.einsum("bhid,bhjd->bhij", q, k) / 8
    s = np.where(np.tril(np.ones((256, 256), bool)), s, -1e30)
    return np.einsum("bhij,bhjd->bhid", nn.softmax(s, axis=-1), v)


@program(normal(2, 8, 256, 64), normal(2, 8, 256, 64), normal(2, 8, 256, 64))
def causal_attention_gradient(q, k, v):
    def loss(q, k, v):
        s = np.einsum("bhid,bhjd->bhij", q, k) / 8
        s = np.where(np.tril(np.ones((256, 256), bool)), s, -1e30)
        return np.sum(np.einsum("bhij,bhjd->bhid", nn.softmax(s, axis=-1), v) ** 2)

    return grad(loss, (0, 1, 2))(q, k, v)


@program(normal(4, 4, 64), normal(4, 512, 4, 64), normal(4, 512, 4, 64))
def decoding_attention(q, k, v):
    p = nn.softmax(np.einsum("bhd,bthd->bht", q, k) / 8, axis=-1)
    return np.einsum("bht,bthd->bhd", p, v)


@program(normal(2, 128, 8, 64))
def rotary_embedding(x):
    a = np.arange(128.0)[:, None] / 10_000.0 ** (np.arange(32) / 32)
    c, s = np.cos(a)[:, None], np.sin(a)[:, None]
    x1, x2 = x[..., :32], x[..., 32:]
    return np.concatenate([x1 * c - x2 * s, x1 * s + x2 * c], axis=-1)


@program(normal(128, 784), normal(784, 256, scale=0.05), normal(256, 10, scale=0.1), integers(128, high=10))
def mlp_step(x, w1, w2, label):
    def loss(w1, w2):
        y = nn.relu(x @ w1) @ w2
        return -np.mean(np.take_along_axis(nn.log_softmax(y), label[:, None], axis=1))

    g = grad(loss, (0, 1))(w1, w2)
    return w1 - 0.1 * g[0], w2 - 0.1 * g[1]


@program(normal(16, 3, 32, 32), normal(16, 3, 3, 3), normal(32, 16, 3, 3, scale=0.1), normal(2048, 10, scale=0.05))
def small_cnn_gradient(x, k1, k2, w):
    conv = lambda x, k: lax.conv_general_dilated(x, k, (2, 2), "SAME")

    def loss(k1, k2, w):
        return np.sum(nn.log_softmax(nn.relu(conv(nn.relu(conv(x, k1)), k2)).reshape(16, -1) @ w)[:, 0])

    return grad(loss, (0, 1, 2))(k1, k2, w)


@program(normal(8, 32, 28, 28), normal(32, 1, 3, 3), normal(64, 32, 1, 1))
def separable_convolution(x, d, p):
    y = lax.conv_general_dilated(x, d, (1, 1), "SAME", feature_group_count=32)
    return lax.conv_general_dilated(nn.relu(y), p, (1, 1), "SAME")


@program(normal(8, 16, 1000), normal(32, 16, 5))
def dilated_convolution(x, k):
    return lax.conv_general_dilated(x, k, (1,), [(8, 8)], rhs_dilation=(4,))


@program(normal(2, 28, 28, 28, 8), normal(3, 3, 3, 8, 16))
def volume_convolution(x, k):
    return lax.conv_general_dilated(x, k, (1, 1, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))


@program(normal(8, 16, 16, 32), normal(4, 4, 32, 16))
def upsampling_convolution(x, k):
    return lax.conv_general_dilated(x, k, (1, 1), [(2, 2), (2, 2)], lhs_dilation=(2, 2), dimension_numbers=("NHWC", "HWIO", "NHWC"))


@program(normal(16, 64, 64, 8))
def max_pool(x):
    return lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


@program(normal(16, 64, 64, 8))
def average_pool_gradient(x):
    return grad(lambda x: np.sum((lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME") / 9) ** 2))(x)


@program(normal(512, 32), normal(512, 32))
def contrastive_gradient(a, b):
    def loss(a, b):
        s = a @ b.T * 0.1
        return -np.mean(np.diagonal(nn.log_softmax(s, axis=1)))

    return grad(loss, (0, 1))(a, b)


@program(normal(1000, 16), integers(4000, 2, high=1000), normal(16, 32))
def message_passing(x, edges, w):
    m = nn.relu((x[edges[:, 0]] - x[edges[:, 1]]) @ w)
    return np.zeros((1000, 32)).at[edges[:, 1]].add(m)


@program(normal(1000, 16), integers(4000, 2, high=1000), normal(16, 32))
def message_passing_gradient(x, edges, w):
    def loss(x, w):
        m = nn.relu((x[edges[:, 0]] - x[edges[:, 1]]) @ w)
        return np.sum(np.zeros((1000, 32)).at[edges[:, 1]].add(m) ** 2)

    return grad(loss, (0, 1))(x, w)


@program(normal(1000, 8), integers(5000, 2, high=1000), normal(8))
def graph_attention(x, edges, a):
    e = nn.leaky_relu(np.sum((x[edges[:, 0]] + x[edges[:, 1]]) * a, axis=1))
    top = np.full(1000, -1e30).at[edges[:, 1]].max(e)
    p = np.exp(e - top[edges[:, 1]])
    s = np.zeros(1000).at[edges[:, 1]].add(p)
    return np.zeros((1000, 8)).at[edges[:, 1]].add(x[edges[:, 0]] * (p / s[edges[:, 1]])[:, None])


@program(normal(256, 2), normal(2, 32), normal(32, 32, scale=0.2), normal(32, scale=0.2))
def physics_informed(x, a, b, c):
    def u(p):
        return np.tanh(np.tanh(p @ a) @ b) @ c

    def loss(x):
        def residual(p):
            h = hessian(u)(p)
            return h[0, 0] + h[1, 1] + u(p)

        return np.mean(vmap(residual)(x) ** 2)

    return loss(x)


@program(normal(256, 2), normal(2, 32), normal(32, 32, scale=0.2), normal(32, scale=0.2))
def physics_informed_gradient(x, a, b, c):
    def loss(a, b, c):
        u = lambda p: np.tanh(np.tanh(p @ a) @ b) @ c

        def residual(p):
            h = hessian(u)(p)
            return h[0, 0] + h[1, 1] + u(p)

        return np.mean(vmap(residual)(x) ** 2)

    return grad(loss, (0, 1, 2))(a, b, c)


@program(normal(64, 16), normal(16, 64), normal(64, 16, scale=0.2))
def flow_divergence(x, a, b):
    f = lambda x: np.tanh(x @ a) @ b
    return vmap(lambda x: np.trace(jacfwd(f)(x)))(x)


@program(normal(64, 16), normal(16, 64), normal(64, 16, scale=0.2), normal(64, 16))
def hutchinson(x, a, b, e):
    f = lambda x: np.tanh(x @ a) @ b
    return np.sum(jvp(f, (x,), (e,))[1] * e, axis=1)


@program(normal(128, 32), normal(32, 16), normal(16, 32), normal(128, 16))
def variational_autoencoder(x, e, d, noise):
    def loss(e, d):
        m = x @ e
        s = nn.softplus(m)
        z = m + s * noise
        kl = 0.5 * np.sum(m * m + s * s - 2 * np.log(s) - 1, axis=1)
        return np.mean(np.sum((np.tanh(z @ d) - x) ** 2, axis=1) + kl)

    return value_and_grad(loss, (0, 1))(e, d)


@program(normal(512, 64))
def dropout(x):
    return np.where(random.bernoulli(random.key(0), 0.9, (512, 64)), x / 0.9, 0)


@program(normal(64, 1000))
def gumbel_samples(x):
    return np.argmax(x + random.gumbel(random.key(3), (64, 1000)), axis=1)


@program(normal(64, 1000))
def top_k_masks(x):
    top = lax.top_k(x, 10)[0]
    return np.where(x >= top[:, -1:], x, -np.inf)


@program(normal(32, 1000))
def nucleus(x):
    p = np.sort(nn.softmax(x, axis=1), axis=1)[:, ::-1]
    return np.sum(np.cumsum(p, axis=1) < 0.9, axis=1)


@program(uniform(256, 10), integers(256, high=10))
def focal_loss_gradient(x, label):
    def loss(x):
        p = np.take_along_axis(nn.softmax(x, axis=1), label[:, None], axis=1)
        return -np.mean((1 - p) ** 2 * np.log(p))

    return grad(loss)(x)


@program(normal(1000, 4), normal(1000, 4))
def huber_gradient(a, b):
    return grad(lambda a: np.mean(np.where(np.abs(a - b) < 1, 0.5 * (a - b) ** 2, np.abs(a - b) - 0.5)))(a)


@program(uniform(500, 4), uniform(300, 4))
def box_overlaps(a, b):
    corner = lambda x: (x[:, :2], x[:, :2] + x[:, 2:])
    (a0, a1), (b0, b1) = corner(a), corner(b)
    side = np.maximum(np.minimum(a1[:, None], b1) - np.maximum(a0[:, None], b0), 0)
    inter = side[..., 0] * side[..., 1]
    area = lambda x: x[:, 2] * x[:, 3]
    return inter / (area(a)[:, None] + area(b) - inter)


@program(uniform(100, 4), uniform(100))
def non_maximum_suppression(x, score):
    lo, hi = x[:, :2], x[:, :2] + x[:, 2:]
    side = np.maximum(np.minimum(hi[:, None], hi) - np.maximum(lo[:, None], lo), 0)
    inter = side[..., 0] * side[..., 1]
    area = x[:, 2] * x[:, 3]
    over = inter / (area[:, None] + area - inter) > 0.5
    order = np.argsort(-score)
    over = over[order][:, order]

    def step(i, keep):
        return np.where(over[i] & (np.arange(100) > i) & keep[i], False, keep)

    return lax.fori_loop(0, 100, step, np.ones(100, bool)), order


@program(normal(64, 20), normal(20, 5), normal(32, 20))
def gaussian_kernel_gradient(x, w, c):
    def loss(w):
        d = np.sum(((x @ w)[:, None] - (c @ w)[None]) ** 2, axis=-1)
        return np.sum(np.exp(-0.5 * d))

    return grad(loss)(w)


@program(normal(8, 256), normal(12, 256, 256, scale=0.05), normal(12, 256, 256, scale=0.05))
def residual_tower(x, a, b):
    return lax.scan(lambda h, w: (h + nn.relu(h @ w[0]) @ w[1], None), x, (a, b))[0]


@program(normal(8, 256), normal(12, 256, 256, scale=0.05), normal(12, 256, 256, scale=0.05))
def residual_tower_gradient(x, a, b):
    loss = lambda a, b: np.sum(lax.scan(lambda h, w: (h + nn.relu(h @ w[0]) @ w[1], None), x, (a, b))[0] ** 2)
    return grad(loss, (0, 1))(a, b)


@program(normal(64, 50), normal(50, 30), normal(30))
def per_example_norms(x, w, v):
    loss = lambda w, x: np.sum(np.tanh(x @ w) * v)
    g = vmap(grad(loss), (None, 0))(w, x)
    return np.sqrt(np.sum(g * g, axis=(1, 2)))


@program(normal(128, 64), normal(64, 4, 16, 16, scale=0.2), normal(128, 4))
def mixture_of_experts(x, w, gate):
    p = nn.softmax(gate, axis=1)
    y = np.einsum("bi,ieko->beko", x, w)
    return np.einsum("be,beko->bko", p, y)
