"""Functions of jax.numpy about shapes, places and functions of the caller's, made of others."""

from __future__ import annotations

import builtins
import functools
import operator
from typing import Any

from . import _neap
from ._dtypes import axis_of, iinfo
from ._neap import Array

_array = _neap._as_array


def array_repr(arr: Any) -> str:
    """repr() of an array."""
    return repr(_neap.asarray(arr))


def array_str(a: Any) -> str:
    """str() of an array."""
    return str(_neap.asarray(a))


def copy(a: Any) -> Array:
    """The array: it does not change, so that it is as good as a copy."""
    return _neap.asarray(a)


def fabs(x: Any) -> Array:
    """Absolute value; integers give float32."""
    return _neap.abs(_array(x) * 1.0)


def isreal(x: Any) -> Array:
    """Whether each element's imaginary part is 0."""
    return _neap.imag(x) == 0


def iscomplex(x: Any) -> Array:
    """Whether each element's imaginary part is not 0."""
    return _neap.imag(x) != 0


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return _array(x).dtype.kind == "c"


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def roll(a: Any, shift: Any, axis: int | tuple[int, ...] | None = None) -> Array:
    """Moves elements on by `shift`, round the end; along these axes, of which each has a shift of its own or all the same.
    None: of the array as a vector. A shift may be traced."""
    shifts = shift if isinstance(shift, (tuple, list)) else [shift]
    if not builtins.any(isinstance(by, Array) for by in shifts):
        return _neap.roll(a, shift, axis)
    x = _array(a)
    if axis is None:
        return roll(x.reshape(-1), shift, 0).reshape(x.shape)
    axes = [operator.index(along) for along in axis] if isinstance(axis, (tuple, list)) else [operator.index(axis)]
    moved = []
    for by in map(_array, shifts):
        if by.ndim > 1 or by.dtype.kind not in "iub":
            got = f"a shift of dtype {by.dtype} with {by.ndim} axes"
            raise _neap.UserError(_neap._message("roll", got, "integers: one, or a vector"))
        by = by.astype("int32") if by.dtype.kind == "b" else by
        moved += [by[i] for i in range(by.shape[0])] if by.ndim else [by]
    if 1 not in (len(moved), len(axes)) and len(moved) != len(axes):
        raise _neap.ShapeError(_neap._message("roll", f"{len(moved)} shifts along {len(axes)} axes", "one, or one for each"))
    for i in range(builtins.max(len(moved), len(axes))):
        along, by = axes[i if len(axes) > 1 else 0], moved[i if len(moved) > 1 else 0]
        along = axis_of("roll", x, along)
        n = x.shape[along]
        if n > 1:
            x = _neap.take(x, _rolled_from(by, n), along)
    return x


def _rolled_from(by: Array, n: int) -> Array:
    """Where the elements of a rolled axis come from: in a dtype that holds its places, of a remainder that the shift's own
    dtype gives, whose numbers may lie beyond all others."""
    if n <= iinfo(by.dtype).max:
        by = by % _neap.full((), n, by.dtype)
    places = "int32" if n < 1 << 30 else "int64"
    return (_neap.arange(n, dtype=places) - by.astype(places)) % n


def isscalar(element: Any) -> bool:
    """Whether it is a number, or an array without axes."""
    return isinstance(element, (bool, int, float, complex)) or (_neap._is_operand(element) and _array(element).ndim == 0)


def iterable(y: Any) -> bool:
    """Whether iter() takes it."""
    try:
        iter(y)
    except TypeError:
        return False
    return True


def block(arrays: Any) -> Array:
    """Joins nested lists of arrays: the innermost along the last axis, those around them along the one before, ..."""

    def depth(x: Any) -> int:
        return 1 + builtins.max(map(depth, x)) if isinstance(x, list) else 0

    def joined(x: Any, axis: int) -> Array:
        if not isinstance(x, list):
            a = _array(x)
            return a.reshape((1,) * (rank - a.ndim) + a.shape)
        return _neap.concatenate([joined(one, axis + 1) for one in x], axis=axis)

    def most(x: Any) -> int:
        return builtins.max(map(most, x)) if isinstance(x, list) else _array(x).ndim

    rank = builtins.max(depth(arrays), most(arrays))
    return joined(arrays, -depth(arrays))


def diagflat(v: Any, k: int = 0) -> Array:
    """The matrix with the flat array on diagonal k."""
    return _neap.diag(_neap.ravel(v), k)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The indices of the diagonal of a cube."""
    return (_neap.arange(n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """diag_indices() of an array's shape."""
    arr = _array(arr)
    return diag_indices(arr.shape[0], arr.ndim)


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """tril_indices() of a matrix's shape."""
    rows, columns = _array(arr).shape[-2:]
    return _neap.tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """triu_indices() of a matrix's shape."""
    rows, columns = _array(arr).shape[-2:]
    return _neap.triu_indices(rows, k, columns)


def mask_indices(n: int, mask_func: Any, k: int = 0, *, size: int | None = None) -> tuple[Array, ...]:
    """The indices where mask_func, such as triu, leaves the elements of a matrix of n rows."""
    return _neap.nonzero(mask_func(_neap.ones((n, n)), k), size=size)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = False) -> Array:
    """a with values on its main diagonal."""
    if inplace or wrap:
        raise TypeError("fill_diagonal: inplace and wrap are not there; write a = fill_diagonal(a, val)")
    a = _array(a)
    n = builtins.min(a.shape)
    values = _neap.ravel(val)
    return a.at[(_neap.arange(n),) * a.ndim].set(resize(values, n) if values.size != 1 else values[0])


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """split() along axis 1, of vectors along axis 0."""
    return _neap.split(ary, indices_or_sections, 0 if _array(ary).ndim == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """split() along axis 0."""
    return _neap.split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """split() along axis 2."""
    return _neap.split(ary, indices_or_sections, 2)


def resize(a: Any, new_shape: Any) -> Array:
    """The elements over and over, as many as a shape has."""
    shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    flat, count = _neap.ravel(a), 1
    for n in shape:
        count *= n
    if flat.size == 0 or count == 0:
        return _neap.zeros(shape, flat.dtype)
    return _neap.tile(flat, -(-count // flat.size))[:count].reshape(shape)


def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """Moves an axis before another."""
    a = _array(a)
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return _neap.moveaxis(a, axis, start - (axis < start))


def ix_(*args: Any) -> tuple[Array, ...]:
    """Indices of the grid of vectors: x[ix_(rows, columns)]."""
    vectors = [_neap.asarray(one) for one in args]
    vectors = [_neap.nonzero(v)[0] if v.dtype == _neap.bool_ else v for v in vectors]
    return tuple(v.reshape((1,) * i + (-1,) + (1,) * (len(vectors) - 1 - i)) for i, v in enumerate(vectors))


def choose(a: Any, choices: Any, mode: str = "clip") -> Array:
    """Takes each element from the choice whose number it is; mode: "clip" or "wrap"."""
    stacked = _neap.stack(_neap.broadcast_arrays(*[_array(c) for c in choices]))
    a = _array(a)
    a = _neap.remainder(a, len(choices)) if mode == "wrap" else _neap.clip(a, 0, len(choices) - 1)
    shape = _neap.broadcast_arrays(a, stacked[0])[0].shape
    wide = _neap.broadcast_to(stacked, (len(choices), *shape))
    return _neap.take_along_axis(wide, _neap.broadcast_to(a, shape)[None], 0)[0]


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = False) -> Array:
    """a with values at indices of the flat array."""
    if inplace:
        raise TypeError("put: inplace=True, and arrays do not change; write a = put(a, ind, v)")
    a, ind = _array(a), _neap.ravel(_neap.asarray(ind))
    if mode == "clip":
        ind = _neap.clip(ind, 0, a.size - 1)
    elif mode == "wrap":
        ind = _neap.remainder(ind, a.size)
    return _neap.ravel(a).at[ind].set(resize(_neap.asarray(v), ind.size)).reshape(a.shape)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = False) -> Array:
    """arr with values, over and over, where a mask is true."""
    if inplace:
        raise TypeError("place: inplace=True, and arrays do not change; write arr = place(arr, mask, vals)")
    arr, mask, vals = _array(arr), _array(mask) != 0, _neap.ravel(_neap.asarray(vals))
    turn = _neap.cumsum(_neap.ravel(mask), dtype=_neap.int32) - 1
    return _neap.where(mask, vals[_neap.remainder(turn, vals.size)].reshape(arr.shape).astype(arr.dtype), arr)


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Array:
    """At each element the last function, or number, whose condition is true; one function more is for the others."""
    x = _array(x)
    conditions = [_array(c) for c in (condlist if isinstance(condlist, (list, tuple)) else [condlist])]
    values = [f(x, *args, **kw) if callable(f) else f for f in funclist]
    result = values.pop() if len(values) == len(conditions) + 1 else 0
    for condition, value in zip(conditions, values, strict=True):
        result = _neap.where(condition, value, result)
    return _neap.broadcast_to(_neap.asarray(result), x.shape).astype(x.dtype)


def matvec(x1: Any, x2: Any, /) -> Array:
    """Multiplies matrices with vectors; other axes broadcast."""
    return _neap.matmul(x1, _array(x2)[..., None])[..., 0]


def vecmat(x1: Any, x2: Any, /) -> Array:
    """Multiplies vectors, conjugated, with matrices; other axes broadcast."""
    return _neap.matmul(_neap.conj(_array(x1))[..., None, :], x2)[..., 0, :]


def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Array:
    """Maps a function of vectors over the vectors along an axis."""
    from ._transforms import vmap

    rows = _neap.moveaxis(_array(arr), axis, -1)
    mapped = functools.partial(lambda v: _neap.asarray(func1d(v, *args, **kwargs)))
    for _ in range(rows.ndim - 1):
        mapped = vmap(mapped)
    result, outer = mapped(rows), rows.ndim - 1
    inner = result.ndim - outer
    for i in range(inner):
        result = _neap.moveaxis(result, outer + i, axis % rows.ndim + i)
    return result


def apply_over_axes(func: Any, a: Any, axes: Any) -> Array:
    """Applies func(a, axis) along one axis after the other, each of which stays, of extent 1."""
    a = _array(a)
    for axis in (axes,) if isinstance(axes, int) else axes:
        b = func(a, axis)
        a = b if b.ndim == a.ndim else _neap.expand_dims(b, axis)
    return a


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """Calls a function on the indices along each axis of a shape."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return function(*(_neap.iota(shape, i, dtype) for i in range(len(shape))), **kwargs)


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Array:
    """An array of the bytes of a buffer."""
    import numpy

    return _neap.array(numpy.frombuffer(buffer, _neap.dtype(dtype).dtype, count, offset))


def vectorize(pyfunc: Any, *, excluded: Any = ()) -> Any:
    """Maps a function of scalars over arrays, which broadcast; excluded: places of arguments that it gets as they are."""
    from ._transforms import vmap

    @functools.wraps(pyfunc)
    def mapped(*args: Any) -> Any:
        given = {i: a for i, a in enumerate(args) if i not in excluded}
        arrays = _neap.broadcast_arrays(*map(_array, given.values()))
        shape = arrays[0].shape if arrays else ()

        def one(*numbers: Any) -> Any:
            filled = dict(zip(given, numbers, strict=True))
            return pyfunc(*(filled.get(i, a) for i, a in enumerate(args)))

        if not shape:
            return one(*arrays)
        from ._tree import tree_map

        return tree_map(lambda y: y.reshape(shape + y.shape[1:]), vmap(one)(*map(_neap.ravel, arrays)))

    return mapped


class _Grid:
    """mgrid and ogrid: indexed with slices, whose step may be a count (5j)."""

    def __init__(self, sparse: bool):
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        axes = [_ticks(one) for one in (key if isinstance(key, tuple) else (key,))]
        if not isinstance(key, tuple):
            return axes[0]
        if self._sparse:
            return list(ix_(*axes))
        return _neap.stack(_neap.broadcast_arrays(*ix_(*axes)))


def _ticks(one: slice) -> Array:
    step = 1 if one.step is None else one.step
    start = 0 if one.start is None else one.start
    if isinstance(step, complex):
        return _neap.linspace(start, one.stop, int(builtins.abs(step)))
    return _neap.arange(start, one.stop, step)


class _Joined:
    """r_ and c_: indexed with slices, numbers and arrays, which it joins."""

    def __init__(self, columns: bool):
        self._columns = columns

    def __getitem__(self, key: Any) -> Array:
        parts = [_ticks(k) if isinstance(k, slice) else _neap.asarray(k) for k in (key if isinstance(key, tuple) else (key,))]
        if self._columns:
            return _neap.concatenate([_neap.atleast_1d(p)[:, None] if p.ndim < 2 else p for p in parts], axis=-1)
        return _neap.concatenate([_neap.atleast_1d(p) for p in parts])


class _Index:
    """s_ and index_exp: what stands between brackets, as it is."""

    def __init__(self, always_tuple: bool):
        self._always = always_tuple

    def __getitem__(self, key: Any) -> Any:
        return (key,) if self._always and not isinstance(key, tuple) else key


mgrid, ogrid, r_, c_, s_, index_exp = _Grid(False), _Grid(True), _Joined(False), _Joined(True), _Index(False), _Index(True)

__all__ = [
    "apply_along_axis", "apply_over_axes", "array_repr", "array_str", "block", "c_", "choose", "copy", "diag_indices",
    "diag_indices_from", "diagflat", "dsplit", "fabs", "fill_diagonal", "frombuffer", "fromfunction", "hsplit", "index_exp",
    "iscomplex", "iscomplexobj", "isreal", "isrealobj", "isscalar", "iterable", "ix_", "mask_indices", "matvec", "mgrid", "ogrid",
    "piecewise", "place", "put", "r_", "resize", "roll", "rollaxis", "s_", "tril_indices_from", "triu_indices_from", "vecmat",
    "vectorize", "vsplit",
]  # fmt: skip
