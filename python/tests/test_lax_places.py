"""jax.lax's places along an axis, products without named axes and transposed convolutions; rolls by a traced count."""

import neap as np
import numpy
import pytest
from neap import lax

X = numpy.random.default_rng(0).standard_normal((3, 5, 4)).astype("float32")
Y = numpy.random.default_rng(1).standard_normal((3, 2, 4)).astype("float32")


def same(ours, theirs):
    assert tuple(ours.shape) == theirs.shape
    numpy.testing.assert_allclose(numpy.asarray(ours), theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("start", [0, 2, 4, -1, 9, -20])
def test_starts_are_moved_so_that_all_lies_within(start):
    def at(size):
        return min(max(start + 5 if start < 0 else start, 0), 5 - size)

    there = slice(at(2), at(2) + 2)
    same(lax.dynamic_slice_in_dim(X, start, 2, 1), X[:, there])
    same(np.jit(lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, -2))(X, start), X[:, there])
    same(lax.dynamic_index_in_dim(X, start, 1), X[:, [at(1)]])
    same(lax.dynamic_index_in_dim(X, start, 1, keepdims=False), X[:, at(1)])
    updated, one = X.copy(), X.copy()
    updated[:, there] = Y
    one[:, at(1)] = Y[:, 0]
    same(lax.dynamic_update_slice_in_dim(X, Y, start, 1), updated)
    same(np.jit(lambda x, y, i: lax.dynamic_update_slice_in_dim(x, y, i, 1))(X, Y, start), updated)
    same(lax.dynamic_update_index_in_dim(X, Y[:, 0], start, 1), one)
    same(lax.dynamic_update_index_in_dim(X, Y[:, :1], start, 1), one)


def test_shapes_and_products():
    same(lax.slice_in_dim(X, 1, 4, 2, axis=1), X[:, 1:4:2])
    same(lax.index_in_dim(X, -1, 2, keepdims=False), X[..., -1])
    same(lax.full_like(X, 2, shape=(4,)), numpy.full(4, 2, "float32"))
    same(lax.full((2,), 1.5), numpy.full(2, 1.5, "float32"))
    same(lax.empty((2,), "int32") * 0, numpy.zeros(2, "int32"))
    assert lax.broadcast_shapes((2, 1), (3,)) == (2, 3)
    same(lax.broadcast_to_rank(X, 5), X[None, None])
    same(lax.collapse(X, 0, 2), X.reshape(15, 4))
    same(lax.collapse(X, -2), X.reshape(3, 20))
    same(lax.collapse(X, 1, 1), X.reshape(3, 1, 5, 4))
    same(lax.stack([X, X], 1), numpy.stack([X, X], 1))
    same(lax.unstack(X, 1)[3], X[:, 3])
    same(lax.tile(X, (1, 2, 1)), numpy.tile(X, (1, 2, 1)))
    assert str(lax.dtype(X)) == "float32"
    same(lax.dot(X[0], X[1].T), X[0] @ X[1].T)
    same(lax.dot(X[0, 0], X[1, 0]), numpy.asarray(X[0, 0] @ X[1, 0]))
    same(lax.batch_matmul(X, X.transpose(0, 2, 1)), X @ X.transpose(0, 2, 1))


def test_bad_input_is_told():
    for call in (lambda: lax.dynamic_slice_in_dim(X, 0, 2, 3), lambda: lax.collapse(X, 2, 1), lambda: lax.unstack(np.array(1.0)),
                 lambda: lax.slice_in_dim(X, 0, 99), lambda: lax.slice_in_dim(X, 3, 1), lambda: lax.slice_in_dim(X, 0, 2, -1),
                 lambda: lax.tile(X, (2,)), lambda: np.roll(X, np.array(1.0), 0),
                 lambda: lax.conv_transpose(X, X, (1, 1), "SAME"), lambda: lax.conv_transpose(X, X, 2, "SAME"),
                 lambda: np.roll(X, np.zeros((1, 1), "int32"), 0), lambda: lax.dot(X, X[0]),
                 lambda: lax.batch_matmul(X, X[0]), lambda: lax.index_in_dim(X, 5, 1),
                 lambda: np.roll(X, np.arange(3), (0, 1)), lambda: np.roll(X, np.array(1), 3),
                 lambda: lax.conv_transpose(X, X, (1,), "FULL")):  # fmt: skip
        with pytest.raises(np.UserError, match="expected"):
            call()


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3), (4, 1)])
def test_transposed_convolutions_are_gradients(padding, strides):
    x, w = (np.random.normal(np.random.key(i), s) for i, s in enumerate([(2, 8, 9, 3), (3, 2, 3, 4)]))

    def convolve(x):
        return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))

    y = np.random.normal(np.random.key(2), convolve(x).shape)
    back = np.vjp(convolve, x)[1](y)[0]
    ours = lax.conv_transpose(y, w, strides, padding, transpose_kernel=True)
    both = [slice(0, min(a, b)) for a, b in zip(back.shape, ours.shape, strict=True)]  # "SAME": of the largest x that y is of
    if padding == "VALID":
        numpy.testing.assert_allclose(numpy.asarray(ours)[tuple(both)], numpy.asarray(back)[tuple(both)], rtol=1e-4, atol=1e-5)
    else:
        assert ours.shape[1:3] == tuple(n * s for n, s in zip(y.shape[1:3], strides, strict=True))
        whole = np.zeros(ours.shape)
        again = np.vjp(convolve, whole)[1](y)[0]
        numpy.testing.assert_allclose(numpy.asarray(ours), numpy.asarray(again), rtol=1e-4, atol=1e-5)


def test_convolutions_by_short_names():
    x, w = (np.random.normal(np.random.key(i), s) for i, s in enumerate([(2, 3, 8, 9), (4, 3, 3, 2)]))
    same(lax.conv(x, w, (2, 1), "SAME"), numpy.asarray(lax.conv_general_dilated(x, w, (2, 1), "SAME")))
    general = lax.conv_with_general_padding(x, w, (1, 2), [(1, 2), (0, 1)], (2, 1), (1, 2))
    same(general, numpy.asarray(lax.conv_general_dilated(x, w, (1, 2), [(1, 2), (0, 1)], (2, 1), (1, 2))))


@pytest.mark.parametrize("by", [0, 1, -3, 7])
def test_rolls_by_a_traced_count(by):
    same(np.jit(lambda x, k: np.roll(x, k, 1))(X, by), numpy.roll(X, by, 1))
    same(np.jit(np.roll)(X, by), numpy.roll(X, by))
    same(np.jit(lambda x, k: np.roll(x, (k, 2), (0, 2)))(X, by), numpy.roll(X, (by, 2), (0, 2)))
    same(np.roll(X, np.array([by, 2]), (0, -1)), numpy.roll(X, (by, 2), (0, 2)))
    counts = np.array([by, 1, 2], "int32")
    same(np.vmap(np.roll)(X, counts), numpy.stack([numpy.roll(x, int(k)) for x, k in zip(X, [by, 1, 2])]))
    for dtype in ("int8", "uint8", "uint32", "int64", "uint64"):
        if by >= 0 or dtype[0] == "i":
            same(np.jit(np.roll)(numpy.arange(300), numpy.array(by, dtype)), numpy.roll(numpy.arange(300), by))
    same(np.roll(X, np.array([by, 2]), 0), numpy.roll(X, (by, 2), 0))
    grad = np.grad(lambda x, k: np.sum(np.roll(x, k, 1) * Y[:, :1]))(np.array(X), by)
    same(grad, numpy.roll(numpy.broadcast_to(Y[:, :1], X.shape), -by, 1))
