"""Arrays: making, printing, arithmetic, indexing, updates, reductions."""

import math

import neap as np
import pytest


def values(x):
    return np.asarray(x).tolist()


def test_numbers_have_default_dtypes():
    assert np.array(1.5).dtype == np.float32
    assert np.array(1).dtype == np.int32
    assert np.array(True).dtype == np.bool_
    assert np.array(1j).dtype == np.complex64
    assert np.array([1, 2.5]).dtype == np.float32
    assert np.array([]).shape == (0,)
    assert np.array([[1, 2], [3, 4]], dtype=np.uint8).tolist() == [[1, 2], [3, 4]]


def test_nested_lists():
    assert np.array([[1, 2], [3, 4]]).shape == (2, 2)
    with pytest.raises(np.ShapeError, match=r"test_arrays.py:\d+"):
        np.array([[1, 2], [3]])
    x = np.array([1.0, 2.0])
    assert values(np.array([x, x * 2])) == [[1.0, 2.0], [2.0, 4.0]]
    with pytest.raises(np.DTypeError, match="int64"):
        np.array([2**40])
    assert np.array([2**40], dtype=np.int64).tolist() == [2**40]


def test_scalars_are_weak():
    x = np.array([1.0, 2.0], dtype=np.bfloat16)
    assert (x * 2.0).dtype == np.bfloat16
    assert (2 + x).dtype == np.bfloat16
    assert (np.array([1, 2]) * 2.0).dtype == np.float32
    assert (np.array([1, 2], dtype=np.uint8) + 1).dtype == np.uint8


def test_operators():
    x, y = np.array([7.0, -7.0]), np.array([2.0, 2.0])
    assert values(x + y) == [9.0, -5.0]
    assert values(10 - x) == [3.0, 17.0]
    assert values(x // y) == [3.0, -4.0]
    assert values(x % y) == [1.0, 1.0]
    assert values(2**y) == [4.0, 4.0]
    assert values(-x) == [-7.0, 7.0]
    assert values(abs(x)) == [7.0, 7.0]
    assert values(x > y) == [True, False]
    assert values(x == y) == [False, False]
    assert values(~np.array([True, False])) == [False, True]
    assert values(np.array([6]) ^ 3) == [5]
    assert float(x @ y) == 0.0
    assert [v.tolist() for v in divmod(x, 2.0)] == [[3.0, -4.0], [1.0, 1.0]]
    with pytest.raises(TypeError):
        x + "text"
    assert (x == "text") is False


def test_numbers_of_python():
    x = np.array(2.5)
    assert float(x) == 2.5
    assert int(x) == 2
    assert bool(x)
    assert x.item() == 2.5
    assert [10, 20, 30][np.array(1)] == 20
    assert f"{x:.2f}" == "2.50"
    assert complex(np.array(1 + 2j)) == 1 + 2j
    with pytest.raises(np.ShapeError):
        bool(np.array([1, 2]))
    with pytest.raises(TypeError):
        len(x)
    assert [r.tolist() for r in np.array([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]


def test_repr():
    assert repr(np.array([1.0, 2.0])) == "Array([1., 2.], dtype=float32)"
    assert repr(np.arange(4).reshape(2, 2)) == "Array([[0, 1],\n       [2, 3]], dtype=int32)"
    assert str(np.arange(3)) == "[0 1 2]"
    assert "traced" in repr(_traced())
    assert repr(np.spec((2, 3), np.bfloat16)).startswith("Array(bfloat16[2,3]")


def _traced():
    kept = []
    np.jit(lambda x: kept.append(x) or x)(np.array(1.0))
    return kept[0]


def test_indexing():
    x = np.arange(24).reshape(2, 3, 4)
    assert int(x[1, 2, 3]) == 23
    assert x[0].shape == (3, 4)
    assert x[..., -1].tolist() == [[3, 7, 11], [15, 19, 23]]
    assert x[:, None].shape == (2, 1, 3, 4)
    assert x[0, ::-1, 1:3].tolist() == [[9, 10], [5, 6], [1, 2]]
    assert x[0, [0, 2]].tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    assert x[0, np.array([0, 2]), np.array([1, 3])].tolist() == [1, 11]
    assert x[x > 21].tolist() == [22, 23]
    assert x[0, 100 * np.ones((), np.int32)].tolist() == [8, 9, 10, 11]  # an index in an array is clipped
    with pytest.raises(np.IndexError):
        x[5]
    with pytest.raises(IndexError):  # noqa: PT012
        x[0, 0, 0, 0]
    with pytest.raises(TypeError, match="at"):
        x[0] = 1


def test_updates():
    x = np.zeros(4)
    assert x.at[1].set(5.0).tolist() == [0.0, 5.0, 0.0, 0.0]
    assert x.at[[0, 0]].add(1.0).tolist() == [2.0, 0.0, 0.0, 0.0]
    assert (x + 2).at[:2].multiply(3).tolist() == [6.0, 6.0, 2.0, 2.0]
    assert (x + 2).at[0].divide(4).tolist() == [0.5, 2.0, 2.0, 2.0]
    assert x.at[np.array(9)].set(1.0).tolist() == [0.0] * 4
    assert np.arange(4.0).at[np.arange(4) > 2].set(0.0).tolist() == [0.0, 1.0, 2.0, 0.0]
    assert np.jit(lambda v: v.at[v > 1].set(0))(np.arange(4.0)).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert np.arange(4.0).at[1:3].get().tolist() == [1.0, 2.0]
    assert np.arange(4.0).at[1].apply(lambda v: v * 10).tolist() == [0.0, 10.0, 2.0, 3.0]


def test_reductions():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert float(x.sum()) == 10.0
    assert x.sum(axis=0, keepdims=True).tolist() == [[4.0, 6.0]]
    assert np.sum(x, axis=(0, 1)).shape == ()
    assert float(np.prod(x)) == 24.0
    assert np.sum(x, where=x > 1.5).item() == 9.0
    assert np.max(x, axis=1).tolist() == [2.0, 4.0]
    assert x.var(ddof=1).item() == pytest.approx(5 / 3)
    assert np.mean(np.array([1, 2])).dtype == np.float32
    assert np.sum(np.ones(3, np.int8), dtype=np.int64).dtype == np.int64
    assert np.cumsum(x, axis=1).tolist() == [[1.0, 3.0], [3.0, 7.0]]
    assert np.argmax(x).item() == 3
    assert np.quantile(x, 0.5).item() == 2.5
    assert bool(np.any(x > 3)) and not bool(np.all(x > 3))


def test_shapes():
    x = np.arange(6).reshape((2, 3))
    assert x.T.shape == (3, 2)
    assert x.transpose(1, 0).shape == (3, 2)
    assert np.moveaxis(np.zeros((2, 3, 4)), (0, 1), (-1, -2)).shape == (4, 3, 2)
    assert np.concatenate([x, x], axis=1).shape == (2, 6)
    assert np.concatenate([x, x], axis=None).shape == (12,)
    assert np.stack([x, x]).shape == (2, 2, 3)
    assert [p.shape for p in np.split(np.arange(6), [1, 4])] == [(1,), (3,), (2,)]
    assert [p.shape for p in np.split(np.arange(6), 3)] == [(2,)] * 3
    assert np.pad(x, 1).shape == (4, 5)
    assert np.pad(np.arange(3), (1, 2), mode="edge").tolist() == [0, 0, 1, 2, 2, 2]
    assert np.expand_dims(x, (0, -1)).shape == (1, 2, 3, 1)
    assert np.squeeze(np.zeros((1, 2, 1)), axis=0).shape == (2, 1)
    assert np.repeat(np.arange(3), np.array([1, 0, 2])).tolist() == [0, 2, 2]
    assert np.tile(np.arange(2), 2).tolist() == [0, 1, 0, 1]
    assert np.roll(np.arange(4), 1).tolist() == [3, 0, 1, 2]
    assert np.flip(x, 1).tolist() == [[2, 1, 0], [5, 4, 3]]
    assert np.where(x > 2, x, 0).tolist() == [[0, 0, 0], [3, 4, 5]]
    assert [i.tolist() for i in np.where(x > 3)] == [[1, 1], [1, 2]]
    assert np.meshgrid(np.arange(2), np.arange(3))[0].shape == (3, 2)


def test_making():
    assert np.arange(5).dtype == np.int32
    assert np.arange(0, 1, 0.25).tolist() == [0.0, 0.25, 0.5, 0.75]
    assert np.linspace(0, 1, 5).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert np.linspace(0, 1, 4, endpoint=False).tolist() == [0.0, 0.25, 0.5, 0.75]
    assert np.eye(2, 3, k=1).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert np.full((2,), 7).dtype == np.int32
    assert np.zeros_like(np.ones((2, 2), np.float16)).dtype == np.float16
    assert np.float32(3).dtype == np.float32


def test_searching():
    assert np.unique(np.array([3, 1, 3, 2])).tolist() == [1, 2, 3]
    assert np.nonzero(np.array([0, 5, 0, 6]))[0].tolist() == [1, 3]
    assert np.sort(np.array([3, 1, 2]), descending=True).tolist() == [3, 2, 1]
    assert np.argsort(np.array([3, 1, 2])).tolist() == [1, 2, 0]
    assert np.bincount(np.array([0, 2, 2])).tolist() == [1, 0, 2]
    assert np.searchsorted(np.arange(4), 2, side="right").item() == 3
    assert np.take(np.arange(4) * 10, np.array([1, 3])).tolist() == [10, 30]
    values_, indices = np.top_k(np.array([1, 5, 3]), 2)
    assert (values_.tolist(), indices.tolist()) == ([5, 3], [1, 2])


def test_products():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2)
    expected = [[10.0, 13.0], [28.0, 40.0]]
    assert (a @ b).tolist() == expected
    assert np.einsum("ij,jk->ik", a, b).tolist() == expected
    assert np.tensordot(a, b, axes=([1], [0])).tolist() == expected
    assert np.dot_general(a, b, (((1,), (0,)), ((), ()))).tolist() == expected
    assert np.convolve(np.array([1.0, 2.0]), np.array([1.0, 1.0])).tolist() == [1.0, 3.0, 2.0]


def test_names_mean_what_numpy_s_do():
    assert np.remainder(-7, 3).item() == 2
    assert np.fmod(np.array(-7.0), 3.0).item() == -1.0
    assert np.divide(1, 2).item() == 0.5
    assert np.power(np.array([2, 3]), 2).dtype == np.int32
    assert np.floor(np.array([3, 4])).dtype == np.int32 and np.floor(2.5).item() == 2.0
    assert np.abs(np.array([True])).dtype == np.bool_ and np.abs(-3).item() == 3
    assert np.nn.softmax(np.zeros(4)).tolist() == [0.25] * 4
    assert np.lax.clamp(0, np.array([-1, 5]), 3).tolist() == [0, 3]
    assert math.isclose(np.gammaln(5.0).item(), math.log(24), rel_tol=1e-6)


def test_dtypes():
    assert np.float32 == "float32" and np.float32 == "f32" and np.float32 is np.f32
    assert np.finfo(np.bfloat16).eps == 2.0**-7
    assert np.iinfo("int8").min == -128
    assert np.result_type(np.int32, 1.0) == np.float32
    assert np.promote_types(np.int8, np.uint8) == np.int16
    assert np.isdtype(np.float16, "real floating")
    assert np.can_cast(np.int8, np.int16) and not np.can_cast(np.float32, np.int32)
    assert {np.float32: 1}[np.zeros(1).dtype] == 1
    with pytest.raises(TypeError):
        np.zeros(2, dtype="no such thing")


def test_nothing_is_equal_to_none():
    x = np.array([1.0, 2.0])
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert x.dtype != None and np.device("cpu") != None  # noqa: E711
    with pytest.raises(TypeError):
        x + None
