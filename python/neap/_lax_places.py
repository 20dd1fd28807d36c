"""jax.lax's functions of places along one axis, of shapes, and its products without named axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _neap
from ._dtypes import axis_of
from ._lax_names import dot_general
from ._neap import Array, dynamic_slice, dynamic_update_slice

_array = _neap._as_array


def _starts(x: Array, axis: int, start: Any) -> list[Any]:
    # Where one index is traced, all have its dtype.
    start = _array(start)
    zero = _neap.zeros((), start.dtype)
    return [start if i == axis else zero for i in range(x.ndim)]


def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0) -> Array:
    """Returns slice_size elements along an axis from a start on that may be traced; a start that is too large or too small
    (negative ones count from the end) is moved, so that all of them lie within."""
    x = _array(operand)
    axis = axis_of("dynamic_slice_in_dim", x, axis)
    sizes = [slice_size if i == axis else n for i, n in enumerate(x.shape)]
    return dynamic_slice(x, _starts(x, axis, start_index), sizes)


def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Array:
    """Returns what lies at an index along an axis; the axis stays, of extent 1, unless keepdims is False."""
    out = dynamic_slice_in_dim(operand, index, 1, axis)
    return out if keepdims else _neap.squeeze(out, (axis,))


def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int) -> Array:
    """Returns operand with update in it, from start_index along an axis on and from 0 along the others."""
    x = _array(operand)
    axis = axis_of("dynamic_update_slice_in_dim", x, axis)
    return dynamic_update_slice(x, _neap._operand_as(update, x.dtype), _starts(x, axis, start_index))


def dynamic_update_index_in_dim(operand: Any, update: Any, index: Any, axis: int) -> Array:
    """Returns operand with update at an index along an axis; update may lack the axis."""
    x = _array(operand)
    axis = axis_of("dynamic_update_index_in_dim", x, axis)
    y = _neap._operand_as(update, x.dtype)
    return dynamic_update_slice_in_dim(x, _neap.expand_dims(y, axis) if y.ndim < x.ndim else y, index, axis)


def slice_in_dim(operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0) -> Array:
    """Returns operand[start_index:limit_index:stride] along an axis; negative indices count from the end."""
    x = _array(operand)
    axis = axis_of("slice_in_dim", x, axis)
    n = x.shape[axis]
    start, limit = (i + n if i is not None and i < 0 else i for i in (start_index, limit_index))
    if not 0 <= (start or 0) <= (n if limit is None else limit) <= n or stride < 1:
        got = f"{start_index}:{limit_index}:{stride} of an axis of {n}"
        expected = f"a start, a limit from there to {n}, a stride of 1 or more"
        raise _neap.IndexError(_neap._message("slice_in_dim", got, expected))
    return x[tuple(slice(start_index, limit_index, stride) if i == axis else slice(None) for i in range(x.ndim))]


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """Returns what lies at an index along an axis; the axis stays, of extent 1, unless keepdims is False."""
    x = _array(operand)
    axis = axis_of("index_in_dim", x, axis)
    if not -x.shape[axis] <= index < x.shape[axis]:
        got = f"index {index} of an axis of {x.shape[axis]}"
        raise _neap.IndexError(_neap._message("index_in_dim", got, f"{-x.shape[axis]} to {x.shape[axis] - 1}"))
    at = index % x.shape[axis]
    out = slice_in_dim(x, at, at + 1, 1, axis)
    return out if keepdims else _neap.squeeze(out, (axis,))


def full(shape: Sequence[int], fill_value: Any, dtype: Any = None) -> Array:
    """Returns an array of one value."""
    return _neap.full(shape, fill_value, dtype) if dtype is not None else _neap.full(shape, fill_value)


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Sequence[int] | None = None) -> Array:
    """Returns an array of one value, of the shape and dtype of another unless given."""
    x = _array(x)
    return _neap.full(x.shape if shape is None else shape, fill_value, x.dtype if dtype is None else dtype)


def empty(shape: Sequence[int], dtype: Any = "float32") -> Array:
    """Returns an array of any elements: zeros."""
    return _neap.zeros(shape, dtype)


def broadcast_to_rank(x: Any, rank: int) -> Array:
    """Adds axes of extent 1 in front, up to so many."""
    x = _array(x)
    return x.reshape((1,) * (rank - x.ndim) + tuple(x.shape))


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Makes one axis of those from start_dimension up to stop_dimension, which is none of them; of none one of extent 1."""
    x = _array(operand)
    lo, hi, _ = slice(start_dimension, stop_dimension).indices(x.ndim)
    if hi < lo:
        got = f"axes {start_dimension} to {stop_dimension} of {x.ndim}"
        raise _neap.ShapeError(_neap._message("collapse", got, "a start, and a stop no less"))
    return x.reshape((*x.shape[:lo], math.prod(x.shape[lo:hi]), *x.shape[hi:]))


def stack(arrays: Sequence[Any], axis: int = 0) -> Array:
    """Joins arrays of one shape along an axis that it makes."""
    return _neap.stack(list(arrays), axis)


def unstack(x: Any, axis: int = 0) -> tuple[Array, ...]:
    """Returns what lies at each index along an axis."""
    x = _array(x)
    if x.ndim == 0:
        raise _neap.ShapeError(_neap._message("unstack", "an array without axes", "one axis or more"))
    return tuple(index_in_dim(x, i, axis, keepdims=False) for i in range(x.shape[axis_of("unstack", x, axis)]))


def tile(operand: Any, reps: Sequence[int]) -> Array:
    """Repeats an array along each of its axes."""
    x = _array(operand)
    if len(reps) != x.ndim:
        raise _neap.ShapeError(_neap._message("tile", f"{len(reps)} counts for {x.ndim} axes", "one for each"))
    return _neap.tile(operand, tuple(reps))


def dtype(x: Any) -> Any:
    """Returns the dtype of an array or a number, or that which a name or a type stands for."""
    return _neap.dtype(x) if isinstance(x, (str, type)) else _array(x).dtype


def dot(
    lhs: Any, rhs: Any, *, dimension_numbers: Any = None, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """Returns the product of vectors or matrices, in any pair; with dimension_numbers, what dot_general does."""
    x, y = _array(lhs), _array(rhs)
    if dimension_numbers is not None:
        return dot_general(x, y, dimension_numbers, precision, preferred_element_type)
    if x.ndim not in (1, 2) or y.ndim not in (1, 2):
        raise _neap.ShapeError(_neap._message("dot", f"arrays of {x.ndim} and {y.ndim} axes", "vectors or matrices"))
    return dot_general(x, y, (((x.ndim - 1,), (0,)), ((), ())), precision, preferred_element_type)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Array:
    """Returns the products of the matrices in the last two axes; the axes before them are alike."""
    del precision
    x, y = _array(lhs), _array(rhs)
    if x.ndim != y.ndim or x.ndim < 2 or x.shape[:-2] != y.shape[:-2]:
        got = f"{tuple(x.shape)} and {tuple(y.shape)}"
        raise _neap.ShapeError(_neap._message("batch_matmul", got, "as many axes, those before the last two alike"))
    return _neap.matmul(x, y)
