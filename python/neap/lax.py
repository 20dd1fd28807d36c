"""jax.lax's names for what Neap has of it."""

from __future__ import annotations

import builtins
import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import _lax_linalg as linalg
from . import _neap
from ._array_api import broadcast_shapes
from ._control import associative_scan, cond, fori_loop, map, scan, switch, while_loop
from ._lax_names import (
    RoundingMethod, approx_max_k, approx_min_k, argmax, argmin, bitcast_convert_type, broadcast, concatenate,
    convert_element_type, dot_general, fft, integer_pow, logistic, pad, population_count, reduce_max, reduce_min, reduce_prod,
    reduce_sum, reshape, rev, round, select_n,
    shift_left, shift_right_arithmetic, shift_right_logical, sort, sort_key_val, split, squeeze, top_k, transpose,
)  # fmt: skip
from ._lax_places import (
    batch_matmul, broadcast_to_rank, collapse, dot, dtype, dynamic_index_in_dim, dynamic_slice_in_dim,
    dynamic_update_index_in_dim, dynamic_update_slice_in_dim, empty, full, full_like, index_in_dim, slice_in_dim, stack, tile,
    unstack,
)  # fmt: skip
from ._neap import (
    Array, abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, cbrt, ceil,
    clamp, clz, complex, conj, conv_general, cos, cosh, digamma, dynamic_slice, dynamic_update_slice, erf, erf_inv, erfc, exp,
    exp2, expand_dims, expm1, floor, imag, lgamma, log, log1p, nextafter, pow, real, reciprocal, rsqrt, sign, sin, sinh, sqrt,
    square, stop_gradient, tan, tanh,
)  # fmt: skip
from ._neap import _slice as slice
from ._neap import equal as eq
from ._neap import greater as gt
from ._neap import greater_equal as ge
from ._neap import isfinite as is_finite
from ._neap import less as lt
from ._neap import less_equal as le
from ._neap import maximum as max
from ._neap import minimum as min
from ._neap import multiply as mul
from ._neap import negative as neg
from ._neap import not_equal as ne
from ._neap import subtract as sub
from ._neap import where as select
from ._neap.lax import broadcast_in_dim, div, reduce_precision, rem
from ._neap.special import betainc, polygamma, zeta
from ._neap.special import gammainc as igamma
from ._neap.special import gammaincc as igammac
from ._neap.special import i0e as bessel_i0e
from ._neap.special import i1e as bessel_i1e
from ._solvers import custom_linear_solve, custom_root
from ._tree import tree_flatten, tree_unflatten

_lax = _neap.lax


class GatherScatterMode(enum.Enum):
    """What happens to windows that do not lie within the array."""

    CLIP = "clip"
    FILL_OR_DROP = "fill"
    PROMISE_IN_BOUNDS = "promise_in_bounds"

    @staticmethod
    def from_any(mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """Returns the mode that a name stands for; None: FILL_OR_DROP."""
        if isinstance(mode, GatherScatterMode):
            return mode
        names = {None: "fill", "drop": "fill"}
        try:
            return GatherScatterMode(names.get(mode, mode))
        except ValueError:
            expected = '"clip", "fill", "drop" or "promise_in_bounds"'
            raise _neap.OptionError(_neap._message("GatherScatterMode", f'"{mode}"', expected)) from None


class GatherDimensionNumbers(NamedTuple):
    """Which axes gather() reads where."""

    offset_dims: Sequence[int]
    collapsed_slice_dims: Sequence[int]
    start_index_map: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    start_indices_batching_dims: Sequence[int] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which axes scatter() and its kin write where."""

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


class ConvDimensionNumbers(NamedTuple):
    """The axes of a convolution: of lhs the batch, the features, then space; of rhs the features of the result, those that
    are added up, then space; of the result the batch, the features, then space."""

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


def _running(name: str) -> Callable:
    run = getattr(_neap, name)

    def running(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
        x = _neap._as_array(operand)
        return run(x, axis, reverse=reverse).astype(x.dtype)

    running.__name__ = running.__qualname__ = name
    running.__doc__ = run.__doc__
    return running


cumsum, cumprod = _running("cumsum"), _running("cumprod")
cummax, cummin, cumlogsumexp = _running("cummax"), _running("cummin"), _running("cumlogsumexp")


def iota(dtype: Any, size: int) -> Array:
    """Returns 0 to size - 1."""
    return _neap.iota((size,), 0, dtype)


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Array:
    """Returns an array whose elements are their indices along an axis."""
    wanted = _neap.dtype(dtype)
    return _neap.iota(shape, dimension, "float64").astype(wanted) if wanted.kind == "c" else _neap.iota(shape, dimension, wanted)


def gather(
    operand: Any, start_indices: Any, dimension_numbers: GatherDimensionNumbers, slice_sizes: Sequence[int], *,
    unique_indices: bool = False, indices_are_sorted: bool = False, mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> Array:  # fmt: skip
    """Returns windows of these sizes that start at start_indices [..., k]. With the mode "fill" one that does not lie within
    the array is fill_value: NaN unless given (integers: the lowest value; unsigned: the highest; bools: True)."""
    how = GatherScatterMode.from_any(mode)
    if fill_value is None or how is not GatherScatterMode.FILL_OR_DROP:
        return _lax._gather(operand, start_indices, dimension_numbers, slice_sizes, how.value)
    x, start = _neap._as_array(operand), _neap._as_array(start_indices)
    out = _lax._gather(x, start, dimension_numbers, slice_sizes, "clip")
    axes = dimension_numbers.start_index_map
    last = _neap.array([x.shape[i] - slice_sizes[i] for i in axes], "int64")
    within = _neap.all(_neap.logical_and(start >= 0, start.astype("int64") <= last), -1)
    batch = [i for i in range(out.ndim) if i not in dimension_numbers.offset_dims]
    within = _lax.broadcast_in_dim(within, out.shape, batch)
    return _neap.where(within, out, _neap._operand_as(fill_value, x.dtype))


def _scatter_function(name: str, run: Callable, doc: str) -> Callable:
    def scatter_of(
        operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
        indices_are_sorted: bool = False, unique_indices: bool = False, mode: str | GatherScatterMode | None = None,
    ) -> Array:  # fmt: skip
        how = GatherScatterMode.from_any(mode)
        if how is GatherScatterMode.PROMISE_IN_BOUNDS:  # XLA drops what breaks the promise
            how = GatherScatterMode.FILL_OR_DROP
        x = _neap._as_array(operand)
        if str(x.dtype) == "bool" and name in ("scatter_min", "scatter_max"):
            y = _neap._as_array(updates).astype("uint8")
            return run(x.astype("uint8"), scatter_indices, y, dimension_numbers, how.value).astype("bool")
        return run(x, scatter_indices, updates, dimension_numbers, how.value)

    scatter_of.__name__ = scatter_of.__qualname__ = name
    scatter_of.__doc__ = doc
    return scatter_of


scatter = _scatter_function("scatter", _lax._scatter, "Returns operand with windows that start at the indices replaced.")
scatter_add = _scatter_function("scatter_add", _lax._scatter_add, "Returns operand with the updates added to windows.")
scatter_mul = _scatter_function("scatter_mul", _lax._scatter_mul, "Returns operand with windows multiplied by the updates.")
scatter_min = _scatter_function("scatter_min", _lax._scatter_min, "Returns operand with the smaller of both in windows.")
scatter_max = _scatter_function("scatter_max", _lax._scatter_max, "Returns operand with the larger of both in windows.")


def conv_dimension_numbers(lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any) -> ConvDimensionNumbers:
    """Returns the axes that None (batch, features, space; features of the result, those added up, space), three strings such
    as ("NHWC", "HWIO", "NHWC") or ConvDimensionNumbers name."""
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    op, rank = "conv_general_dilated", len(lhs_shape)
    if len(rhs_shape) != rank:
        raise _neap.ShapeError(_neap._message(op, f"arrays of {rank} and {len(rhs_shape)} axes", "as many"))
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(rank))] * 3)
    lhs, rhs, out = dimension_numbers
    for spec, first, names in ((lhs, "NC", "lhs"), (rhs, "OI", "rhs"), (out, "NC", "out")):
        space = set(rhs) - set("OI")
        if len(spec) != rank or set(spec) != space | set(first):
            expected = f"{first} and the spatial axes of the others, {rank} letters"
            raise _neap.OptionError(_neap._message(op, f'"{spec}" for the axes of {names}', expected))
    order = [c for c in rhs if c not in "OI"]
    axes = [tuple(spec.index(c) for c in [*first, *order]) for spec, first in ((lhs, "NC"), (rhs, "OI"), (out, "NC"))]
    return ConvDimensionNumbers(*axes)


def padtype_to_pads(
    in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int], padding: str
) -> list[tuple[int, int]]:
    """Returns the pairs that "SAME", "SAME_LOWER" or "VALID" stand for."""
    if padding.upper() == "VALID":
        return [(0, 0)] * len(in_shape)
    if padding.upper() not in ("SAME", "SAME_LOWER"):
        raise _neap.OptionError(_neap._message("padding", f'"{padding}"', '"SAME", "SAME_LOWER", "VALID" or pairs'))
    pads = []
    for n, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        total = builtins.max((-(-n // stride) - 1) * stride + window - n, 0)
        less = total // 2
        pads.append((less, total - less) if padding.upper() == "SAME" else (total - less, less))
    return pads


def _dilated(extents: Sequence[int], dilation: Sequence[int] | None) -> list[int]:
    return [builtins.max(0, 1 + d * (n - 1)) for n, d in zip(extents, dilation or [1] * len(extents), strict=True)]


def conv_general_dilated(
    lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None, rhs_dilation: Sequence[int] | None = None, dimension_numbers: Any = None,
    feature_group_count: int = 1, batch_group_count: int = 1, precision: Any = None, preferred_element_type: Any = None,
) -> Array:  # fmt: skip
    """Convolves with axes in any order, which dimension_numbers names (see conv_dimension_numbers)."""
    del precision
    x, w = _neap._as_array(lhs), _neap._as_array(rhs)
    if preferred_element_type is not None:
        x, w = x.astype(preferred_element_type), w.astype(preferred_element_type)
    dims = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    if isinstance(padding, str):
        space = [x.shape[i] for i in dims.lhs_spec[2:]]
        windows = _dilated([w.shape[i] for i in dims.rhs_spec[2:]], rhs_dilation)
        padding = padtype_to_pads(space, windows, window_strides, padding)
    return _lax._conv_general_dilated(
        x, w, window_strides, padding, lhs_dilation, rhs_dilation, dims, feature_group_count, batch_group_count
    )


def conv(
    lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """Convolves [batch, features, space...] with [features of the result, features, space...]; padding: "SAME" or "VALID"."""
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


def conv_with_general_padding(
    lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None, rhs_dilation: Sequence[int] | None, precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:  # fmt: skip
    """Convolves as conv() does, with pairs of padding and dilations."""
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


def _transposed_pads(window: int, stride: int, padding: str) -> tuple[int, int]:
    """Returns what the transposed convolution pads where the one that it transposes has this padding."""
    kind = padding.upper()
    if kind not in ("SAME", "VALID"):
        raise _neap.OptionError(_neap._message("conv_transpose", f'"{padding}"', '"SAME", "VALID" or pairs'))
    total = window + stride - 2 + (0 if kind == "SAME" else builtins.max(window - stride, 0))
    low = window - 1 if kind == "VALID" or stride > window - 1 else -(-total // 2)
    return low, total - low


def conv_transpose(
    lhs: Any, rhs: Any, strides: Sequence[int], padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None, dimension_numbers: Any = None, transpose_kernel: bool = False,
    precision: Any = None, preferred_element_type: Any = None, use_consistent_padding: bool = False,
) -> Array:  # fmt: skip
    """Convolves with lhs spread by strides, as the gradient of a convolution does. Without dimension_numbers features are the
    last axis: ("NHWC", "HWIO", "NHWC"). padding: that of the convolution if it is a name; pairs: what is padded here, or with
    use_consistent_padding that of the convolution, too. transpose_kernel: rhs is that of the convolution, turned round."""
    x, w = _neap._as_array(lhs), _neap._as_array(rhs)
    if dimension_numbers is None:
        space = "DHW"[-(x.ndim - 2) :] if 3 <= x.ndim <= 5 else ""
        dimension_numbers = (f"N{space}C", f"{space}IO", f"N{space}C") if 3 <= x.ndim <= 5 else None
    dims = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    if not isinstance(strides, Sequence) or len(strides) != x.ndim - 2:
        expected = f"{x.ndim - 2}, one for each axis of space"
        raise _neap.ShapeError(_neap._message("conv_transpose", f"strides {strides!r}", expected))
    windows = _dilated([w.shape[i] for i in dims.rhs_spec[2:]], rhs_dilation)
    if isinstance(padding, str):
        padding = [_transposed_pads(k, s, padding) for k, s in zip(windows, strides, strict=True)]
    elif use_consistent_padding:
        padding = [(k - 1 - low, k - 1 - high) for k, (low, high) in zip(windows, padding, strict=True)]
    if transpose_kernel:
        w = _neap.swapaxes(_neap.flip(w, tuple(dims.rhs_spec[2:])), dims.rhs_spec[0], dims.rhs_spec[1])
    ones = (1,) * (x.ndim - 2)
    return conv_general_dilated(
        x, w, ones, padding, strides, rhs_dilation, dims, precision=precision, preferred_element_type=preferred_element_type
    )


def _joined(op: str, operands: Any, init_values: Any, computation: Callable) -> tuple[Callable, list, list, Any]:
    """Returns (computation on leaves, leaves, initial leaves in their dtypes, structure)."""
    leaves, treedef = tree_flatten(operands)
    init, got = tree_flatten(init_values)
    if got != treedef:
        raise _neap.UserError(_neap._message(op, f"initial values {got!r}", f"{treedef!r}, as the operands"))
    n = len(leaves)
    leaves = [_neap._as_array(x) for x in leaves]
    init = [_neap._operand_as(first, x.dtype) for first, x in zip(init, leaves, strict=True)]

    def join(both: list) -> list:
        out, out_def = tree_flatten(computation(tree_unflatten(treedef, both[:n]), tree_unflatten(treedef, both[n:])))
        if out_def != treedef:
            raise _neap.UserError(_neap._message(op, f"computation gives {out_def!r}", f"{treedef!r}"))
        return out

    return join, leaves, init, treedef


def reduce(operands: Any, init_values: Any, computation: Callable, dimensions: Sequence[int]) -> Any:
    """Joins all elements along these axes by computation(x, y), an associative function of trees like operands; init_values
    are scalars that leave what they are joined with."""
    join, leaves, init, treedef = _joined("reduce", operands, init_values, computation)
    if len(dimensions) == 0:
        return tree_unflatten(treedef, leaves)
    return tree_unflatten(treedef, _lax._reduce(join, leaves, init, dimensions))


def _bits_reduction(name: str, of_bools: Callable, join: Callable, init: int, doc: str) -> Callable:
    def reducing(operand: Any, axes: Sequence[int]) -> Array:
        x = _neap._as_array(operand)
        if str(x.dtype) == "bool":
            return of_bools(x, tuple(axes)) if len(axes) else x
        first = _neap._operand_as(init, "int64").astype(x.dtype)
        return reduce(x, first, join, tuple(axes))

    reducing.__name__ = reducing.__qualname__ = name
    reducing.__doc__ = doc
    return reducing


reduce_and = _bits_reduction("reduce_and", _neap.all, bitwise_and, -1, "The bits that all elements have.")
reduce_or = _bits_reduction("reduce_or", _neap.any, bitwise_or, 0, "The bits that any element has.")


def reduce_xor(operand: Any, axes: Sequence[int]) -> Array:
    """The bits that an odd number of elements has."""
    x = _neap._as_array(operand)
    if str(x.dtype) == "bool":
        return (_neap.count_nonzero(x, tuple(axes)) % 2 == 1) if len(axes) else x
    return _lax._reduce_xor(x, tuple(axes)) if len(axes) else x


def reduce_window(
    operand: Any, init_value: Any, computation: Callable, window_dimensions: Sequence[int], window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]], base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """Joins the elements of each window by computation(x, y); padding is init_value."""
    join, leaves, init, treedef = _joined("reduce_window", operand, init_value, computation)
    if isinstance(padding, str):
        extents = _dilated(leaves[0].shape, base_dilation)
        padding = padtype_to_pads(extents, _dilated(window_dimensions, window_dilation), window_strides, padding)
    out = _lax._reduce_window(join, leaves, init, window_dimensions, window_strides, padding, base_dilation, window_dilation)
    return tree_unflatten(treedef, out)


__all__ = [
    "ConvDimensionNumbers", "GatherDimensionNumbers", "GatherScatterMode", "RoundingMethod", "ScatterDimensionNumbers", "abs",
    "acos", "acosh", "add", "approx_max_k", "approx_min_k", "argmax", "argmin", "asin", "asinh", "associative_scan", "atan",
    "atan2", "atanh", "batch_matmul", "bessel_i0e", "bessel_i1e", "betainc", "bitcast_convert_type", "bitwise_and",
    "bitwise_not", "bitwise_or", "bitwise_xor", "broadcast", "broadcast_in_dim", "broadcast_shapes", "broadcast_to_rank",
    "broadcasted_iota", "cbrt", "ceil", "clamp", "clz", "collapse", "complex", "concatenate", "cond", "conj", "conv",
    "conv_dimension_numbers", "conv_general", "conv_general_dilated", "conv_transpose", "conv_with_general_padding",
    "convert_element_type", "cos", "cosh", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "custom_linear_solve",
    "custom_root", "digamma", "div", "dot", "dot_general", "dtype", "dynamic_index_in_dim", "dynamic_slice",
    "dynamic_slice_in_dim", "dynamic_update_index_in_dim", "dynamic_update_slice", "dynamic_update_slice_in_dim", "empty",
    "eq", "erf", "erf_inv", "erfc", "exp", "exp2", "expand_dims", "expm1", "fft", "floor", "fori_loop", "full", "full_like",
    "gather", "ge", "gt", "igamma", "igammac", "imag", "index_in_dim", "integer_pow", "iota", "is_finite", "le", "lgamma",
    "linalg", "log", "log1p", "logistic", "lt", "map", "max", "min", "mul", "ne", "neg", "nextafter", "pad",
    "padtype_to_pads", "polygamma", "population_count", "pow", "real", "reciprocal", "reduce", "reduce_and", "reduce_max",
    "reduce_min", "reduce_or", "reduce_precision", "reduce_prod", "reduce_sum", "reduce_window", "reduce_xor", "rem",
    "reshape", "rev", "round", "rsqrt", "scan", "scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul",
    "select", "select_n", "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "slice",
    "slice_in_dim", "sort", "sort_key_val", "split", "sqrt", "square", "squeeze", "stack", "stop_gradient", "sub", "switch",
    "tan", "tanh", "tile", "top_k", "transpose", "unstack", "while_loop", "zeta",
]  # fmt: skip
