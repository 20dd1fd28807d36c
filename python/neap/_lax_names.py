"""jax.lax's elementary functions: integers keep their dtype, and axes are named."""

from __future__ import annotations

import builtins
import enum
import itertools
from collections.abc import Sequence
from typing import Any

from . import _neap
from ._neap import Array, bitwise_count, broadcast_to, flip, left_shift, right_shift, sigmoid, where

_UNSIGNED = {"int8": "uint8", "int16": "uint16", "int32": "uint32", "int64": "uint64"}
_lax = _neap.lax


class RoundingMethod(enum.IntEnum):
    """Where round() takes halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Rounds to whole numbers; halves away from zero, or to even."""
    x = _neap._as_array(x)
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return _neap.rint(x)
    whole = _neap.trunc(x)
    return where(_neap.abs(x - whole) >= 0.5, whole + _neap.sign(x), whole)


def integer_pow(x: Any, y: int) -> Array:
    """Returns x to the y, by repeated multiplication."""
    return _neap.power(x, int(y))


def shift_right_arithmetic(x: Any, y: Any) -> Array:
    """Returns x >> y, filled with the sign bit (of unsigned integers: their highest)."""
    x, y = _neap._as_array(x), _neap._as_array(y)
    signed = {u: s for s, u in _UNSIGNED.items()}.get(str(x.dtype))
    if signed is None:
        return right_shift(x, where(y < 0, x.dtype.itemsize * 8, y))
    return right_shift(x.view(signed), y.view(signed) if y.dtype == x.dtype else y).view(str(x.dtype))


def shift_right_logical(x: Any, y: Any) -> Array:
    """Returns x >> y, filled with zeros."""
    x, y = _neap._as_array(x), _neap._as_array(y)
    unsigned = _UNSIGNED.get(str(x.dtype))
    if unsigned is None:
        return right_shift(x, y)
    return right_shift(x.view(unsigned), y.astype(unsigned)).view(str(x.dtype))


def select_n(which: Any, *cases: Any) -> Array:
    """Returns each element of the case that which (a bool, or an index) names."""
    which = _neap._as_array(which)
    if str(which.dtype) == "bool":
        return where(which, cases[-1], cases[0])
    out = _neap._as_array(cases[-1])
    for i in range(len(cases) - 2, -1, -1):
        out = where(which <= i, cases[i], out)
    return out


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Array:
    """The same bits as another dtype; of another width the last axis is made or dropped."""
    x = _neap._as_array(operand)
    return x if x.dtype == new_dtype else x.view(new_dtype)


def convert_element_type(operand: Any, new_dtype: Any) -> Array:
    """Returns the array in another dtype; complex numbers become real by their real part."""
    return _neap._as_array(operand).astype(new_dtype)


def broadcast(operand: Any, sizes: Sequence[int]) -> Array:
    """Adds axes of these sizes in front."""
    x = _neap._as_array(operand)
    return broadcast_to(x, (*sizes, *x.shape))


def reshape(operand: Any, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> Array:
    """The same elements, row-major, in another shape; dimensions: in the order of these axes."""
    x = operand if dimensions is None else _neap.transpose(operand, tuple(dimensions))
    return _neap.reshape(x, new_sizes)


def squeeze(array: Any, dimensions: Sequence[int]) -> Array:
    """Drops these axes of extent 1."""
    return _neap.squeeze(array, tuple(dimensions))


def rev(operand: Any, dimensions: Sequence[int]) -> Array:
    """Turns round the order along these axes."""
    return flip(operand, tuple(dimensions))


def transpose(operand: Any, permutation: Sequence[int]) -> Array:
    """Puts axis permutation[i] at place i."""
    return _neap.transpose(operand, tuple(permutation))


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """Pads each axis before, after and between its elements; negative: cuts."""
    low, high, interior = ([int(axis[i]) for axis in padding_config] for i in range(3))
    x = _neap._as_array(operand)
    return _lax._pad(x, _neap._operand_as(padding_value, x.dtype), low, high, interior)


def concatenate(operands: Sequence[Any], dimension: int) -> Array:
    """Joins arrays along an axis."""
    return _neap.concatenate(list(operands), dimension)


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Cuts an axis into parts of these sizes."""
    return list(_neap.split(operand, list(itertools.accumulate(sizes))[:-1], axis))


def _reduction(name: str, run: Any, doc: str) -> Any:
    def reducing(operand: Any, axes: Sequence[int]) -> Array:
        x = _neap._as_array(operand)
        return run(x, tuple(axes)).astype(x.dtype) if len(axes) else x

    reducing.__name__ = reducing.__qualname__ = name
    reducing.__doc__ = doc
    return reducing


reduce_sum = _reduction("reduce_sum", _neap.sum, "Adds up the elements along these axes, in their dtype.")
reduce_prod = _reduction("reduce_prod", _neap.prod, "Multiplies the elements along these axes, in their dtype.")
reduce_max = _reduction("reduce_max", _neap.max, "The largest element along these axes.")
reduce_min = _reduction("reduce_min", _neap.min, "The smallest element along these axes.")


def argmax(operand: Any, axis: int, index_dtype: Any = "int32") -> Array:
    """The index of the first largest element along an axis."""
    return _neap.argmax(operand, axis).astype(index_dtype)


def argmin(operand: Any, axis: int, index_dtype: Any = "int32") -> Array:
    """The index of the first smallest element along an axis."""
    return _neap.argmin(operand, axis).astype(index_dtype)


def _keys_of(x: Array) -> list[Array]:
    return [_neap.real(x), _neap.imag(x)] if str(x.dtype).startswith("complex") else [x]


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sorts along an axis; of several arrays the first num_keys say the order of all. It is stable."""
    del is_stable
    several = isinstance(operand, tuple | list)
    arrays = [_neap._as_array(x) for x in (operand if several else [operand])]
    keys = [k for x in arrays[:num_keys] for k in _keys_of(x)]
    if len(arrays) == 1 and len(keys) == 1:
        out = [_neap.sort(arrays[0], dimension)]
    else:
        order = _neap.argsort(keys[0], dimension) if len(keys) == 1 else _neap.lexsort(keys[::-1], dimension)
        out = [_neap.take_along_axis(x, order, dimension) for x in arrays]
    return tuple(out) if several else out[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Array, Array]:
    """Sorts keys along an axis, and values with them."""
    return sort((keys, values), dimension, is_stable)


def top_k(operand: Any, k: int, *, axis: int = -1) -> tuple[Array, Array]:
    """The k largest along an axis, and their indices."""
    x = _neap._as_array(operand)
    if axis in (-1, x.ndim - 1):
        values, indices = _neap.top_k(x, k)
        return values, indices
    values, indices = _neap.top_k(_neap.moveaxis(x, axis, -1), k)
    return _neap.moveaxis(values, -1, axis), _neap.moveaxis(indices, -1, axis)


def approx_max_k(operand: Any, k: int, reduction_dimension: int = -1) -> tuple[Array, Array]:
    """The k largest along an axis, and their indices: exactly."""
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(operand: Any, k: int, reduction_dimension: int = -1) -> tuple[Array, Array]:
    """The k smallest along an axis, and their indices: exactly."""
    x = _neap._as_array(operand)
    axis = reduction_dimension % builtins.max(x.ndim, 1)
    order = _neap.argsort(x, axis)
    first = _neap._slice(order, [0] * x.ndim, [k if i == axis else n for i, n in enumerate(x.shape)])
    return _neap.take_along_axis(x, first, axis), first


def dot_general(lhs: Any, rhs: Any, dimension_numbers: Any, precision: Any = None, preferred_element_type: Any = None) -> Array:
    """Contracts and batches axes: ((lhs, rhs), (batch of lhs, of rhs)). preferred_element_type is the result's dtype, in
    which products are added up where it holds more."""
    x, y = _neap._as_array(lhs), _neap._as_array(rhs)
    dtype = _neap.promote_types(x.dtype, y.dtype)
    if preferred_element_type is not None:
        whole = all(d.kind in "iub" for d in (x.dtype, y.dtype, _neap.dtype(preferred_element_type)))
        wide = preferred_element_type if whole else _neap.promote_types(dtype, preferred_element_type)
        x, y, dtype = x.astype(wide), y.astype(wide), preferred_element_type
    return _neap.dot_general(x, y, dimension_numbers, precision).astype(dtype)


def fft(x: Any, fft_type: Any, fft_lengths: Sequence[int]) -> Array:
    """Transforms the last axes: "FFT", "IFFT", "RFFT" or "IRFFT"."""
    kind, axes = str(getattr(fft_type, "name", fft_type)).upper(), tuple(range(-len(fft_lengths), 0))
    run = {"FFT": _neap.fft.fftn, "IFFT": _neap.fft.ifftn, "RFFT": _neap.fft.rfftn, "IRFFT": _neap.fft.irfftn}.get(kind)
    if run is None:
        raise _neap.OptionError(_neap._message("fft", f'"{kind}"', '"FFT", "IFFT", "RFFT" or "IRFFT"'))
    return run(x, tuple(fft_lengths), axes)


population_count, logistic, shift_left = bitwise_count, sigmoid, left_shift
