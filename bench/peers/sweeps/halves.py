"""Numbers of 16 and 8 bits: what networks compute in them."""

from .library import integers, lax, nn, normal, np, program


def narrow(x):
    return x.astype(np.bfloat16)


@program(normal(256, 512), normal(512, 512))
def bfloat_layer(x, w):
    return nn.relu(narrow(x) @ narrow(w))


@program(normal(64, 1000, dtype="float16"))
def half_softmax(x):
    return nn.softmax(x, axis=1)


@program(normal(1_000_000, dtype="float16"), normal(1_000_000, dtype="float16"))
def half_axpy(x, y):
    return 2 * x + y


@program(normal(512, 1024, dtype="float16"), normal(1024), normal(1024))
def half_layer_norm(x, scale, bias):
    y = x.astype(np.float32)
    y = (y - np.mean(y, axis=1, keepdims=True)) / np.sqrt(np.var(y, axis=1, keepdims=True) + 1e-5)
    return (y * scale + bias).astype(np.float16)


@program(normal(1_000_000))
def to_bfloat(x):
    return narrow(x)


@program(normal(1000, 1000, dtype="float16"))
def half_sum(x):
    return np.sum(x, axis=0), np.max(x, axis=1)


@program(normal(2, 8, 128, 32))
def bfloat_attention(x):
    q = k = v = narrow(x)
    p = nn.softmax((q @ np.swapaxes(k, -1, -2)).astype(np.float32) / 5.6, axis=-1)
    return narrow(p) @ v


@program(normal(256, 512), integers(512, 256, low=-127, high=128, dtype="int8"), normal(256))
def dequantised_layer(x, w, scale):
    return x @ (w.astype(np.float32) * scale)


@program(normal(256, 1024))
def quantise_rows(x):
    scale = np.max(np.abs(x), axis=1, keepdims=True) / 127
    return np.clip(np.round(x / scale), -127, 127).astype(np.int8), scale


@program(integers(256, 512, low=-127, high=128, dtype="int8"), integers(512, 256, low=-127, high=128, dtype="int8"))
def integer_product(x, w):
    return lax.dot_general(x, w, (((1,), (0,)), ((), ())), preferred_element_type=np.int32)


@program(integers(1_000_000, high=256, dtype="uint8"), integers(1_000_000, high=256, dtype="uint8"))
def saturating_add(x, y):
    return np.minimum(x.astype(np.uint16) + y, 255).astype(np.uint8)


@program(integers(1_000_000, high=256, dtype="uint8"))
def nibbles(x):
    return np.stack([x >> 4, x & 15], axis=1).reshape(-1)


@program(integers(500_000, high=256, dtype="uint8"), normal(16))
def codebook(x, table):
    return np.stack([table[x >> 4], table[x & 15]], axis=1).reshape(-1)


@program(integers(1_000_000, high=2**31 - 1))
def bit_counts(x):
    return np.sum(lax.population_count(x))


@program(normal(1_000_000))
def sign_bits(x):
    return np.packbits(x > 0)


@program(integers(100_000, high=256, dtype="uint8"))
def bits_apart(x):
    return np.unpackbits(x)


@program(normal(64, 256), normal(4, 256, 64), normal(4, 64, 256))
def bfloat_tower(x, a, b):
    def layer(h, w):
        return h + narrow(nn.gelu(h @ narrow(w[0]))) @ narrow(w[1]), None

    return lax.scan(layer, narrow(x), (a, b))[0]
