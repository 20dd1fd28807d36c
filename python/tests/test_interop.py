"""NumPy, PyTorch, JAX and ml_dtypes beside Neap, both ways."""

import copy
import gc
import pickle

import neap
import numpy
import pytest


def test_numpy_arrays_become_arrays():
    for dtype in ("bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64"):
        a = numpy.ones((2, 3), dtype)
        x = neap.array(a)
        assert x.dtype == a.dtype and x.dtype == dtype
        assert numpy.array_equal(numpy.asarray(x), a)
        assert numpy.asarray(x).dtype == a.dtype
    assert neap.array(numpy.arange(6).reshape(2, 3).T).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert neap.array(numpy.arange(3, dtype=">i4")).tolist() == [0, 1, 2]
    assert neap.array([numpy.float32(1), 2.0]).shape == (2,)


def test_numpy_beside_neap():
    x, a = neap.arange(3.0), numpy.arange(3, dtype=numpy.float32)
    for y in (x + a, a + x, a * x, x - a):
        assert isinstance(y, neap.Array)
    assert (x * numpy.float32(2)).dtype == neap.float32
    assert (x * numpy.float64(2)).dtype == neap.float32  # a float of Python, too
    assert (x * numpy.arange(3.0)).dtype == neap.float64
    assert neap.jit(lambda v: v + 1)(a).tolist() == [1.0, 2.0, 3.0]
    assert neap.sin(a).dtype == neap.float32
    assert numpy.sum(numpy.asarray(x)) == 3
    assert x[numpy.array([0, 2])].tolist() == [0.0, 2.0]
    assert x[numpy.int64(1)].item() == 1.0
    assert neap.zeros(tuple(numpy.array([2, 3]))).shape == (2, 3)


def test_numpy_dtypes():
    assert numpy.dtype(neap.float32) == numpy.float32
    assert numpy.zeros(2, neap.int8).dtype == numpy.int8
    assert neap.zeros(2, numpy.float16).dtype == neap.float16
    assert neap.zeros(2, numpy.dtype("u4")).dtype == neap.uint32
    assert neap.float32 == numpy.float32 and neap.float32 == numpy.dtype("f4")


def test_the_buffer_protocol_shares_memory():
    x = neap.arange(6.0).reshape(2, 3)
    view = memoryview(x)
    assert view.readonly and view.shape == (2, 3) and view.format == "f"
    a = numpy.asarray(x)
    assert not a.flags.writeable and not a.flags.owndata
    del x, view
    gc.collect()
    assert a.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert numpy.array(neap.ones(2), copy=True).flags.writeable
    assert numpy.asarray(neap.ones(2), dtype=numpy.float64).dtype == numpy.float64
    with pytest.raises(TypeError):
        neap.jit(lambda v: numpy.asarray(v))(neap.ones(2))


def test_dlpack_with_numpy():
    a = numpy.arange(6, dtype=numpy.float32)
    before = neap.memory.live_bytes()
    x = neap.from_dlpack(a)
    assert x.tolist() == a.tolist()
    a[0] = 7
    assert x[0].item() == 7.0  # the same memory
    assert neap.memory.live_bytes() > before
    b = numpy.from_dlpack(neap.arange(3))
    assert b.tolist() == [0, 1, 2]
    assert neap.from_dlpack(a[::2]).tolist() == [7.0, 2.0, 4.0]
    assert neap.from_dlpack(a, copy=True).tolist() == a.tolist()
    del x, b
    gc.collect()
    assert neap.memory.live_bytes() == before


def test_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = numpy.array([1.5, 2.5], ml_dtypes.bfloat16)
    x = neap.array(a)
    assert x.dtype == neap.bfloat16 and x.dtype == ml_dtypes.bfloat16
    assert numpy.asarray(x).dtype == ml_dtypes.bfloat16
    assert numpy.asarray(x * 2).tolist() == [3.0, 5.0]
    assert x.tolist() == [1.5, 2.5]
    assert neap.zeros((0, 3), ml_dtypes.bfloat16).shape == (0, 3)
    assert pickle.loads(pickle.dumps(x)).dtype == neap.bfloat16


def test_dlpack_with_torch():
    torch = pytest.importorskip("torch")
    t = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    x = neap.from_dlpack(t)
    t[0, 0] = 5
    assert x[0, 0].item() == 5.0
    half = neap.from_dlpack(torch.ones(3, dtype=torch.bfloat16))
    assert half.dtype == neap.bfloat16
    back = torch.from_dlpack(neap.arange(3.0) * 2)
    assert back.tolist() == [0.0, 2.0, 4.0]
    assert torch.from_dlpack(half).dtype == torch.bfloat16
    assert neap.array(t).shape == (2, 3)


def test_dlpack_with_jax():
    jax = pytest.importorskip("jax")
    j = jax.numpy.arange(6, dtype=jax.numpy.float32)
    x = neap.from_dlpack(j)
    assert x.tolist() == j.tolist()
    back = jax.dlpack.from_dlpack(neap.arange(6.0))
    assert back.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_copies_and_pickles():
    x = neap.arange(3.0)
    assert copy.deepcopy(x).tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(neap.float32)) is neap.float32
    assert x.tobytes() == numpy.asarray(x).tobytes()


def test_a_shared_array_outlives_its_module_names():
    a = numpy.ones(4, numpy.float32)
    x = neap.from_dlpack(a)
    y = neap.jit(lambda v: v)(x)
    del a, x
    gc.collect()
    assert y.tolist() == [1.0] * 4
