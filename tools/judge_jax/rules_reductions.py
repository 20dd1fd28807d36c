"""Primitives that join elements: reductions, windows, products, sorts."""

import neap as np
import numpy
from neap import lax
from rules_elementwise import is_complex, larger, smaller
from translate import as_function, rule


@rule("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor")
def _reduce_with(equation, x):
    name, axes = equation.primitive.name, equation.params["axes"]
    if is_complex(x) and name in EXTREMES:
        join, init = EXTREMES[name]
        return lax.reduce(x, init(x.dtype), join, axes)
    return getattr(lax, name)(x, axes)


@rule("argmax", "argmin")
def _arg(equation, x):
    (axis,) = equation.params["axes"]
    return getattr(lax, equation.primitive.name)(x, axis, equation.params["index_dtype"])


@rule("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
def _running(equation, x):
    name, axis, reverse = equation.primitive.name, equation.params["axis"], equation.params["reverse"]
    if is_complex(x) and name in ("cummax", "cummin"):
        return lax.associative_scan(larger if name == "cummax" else smaller, x, reverse=reverse, axis=axis)
    return getattr(lax, name)(x, axis, reverse)


@rule("reduce")
def _reduce(equation, *both):
    n = len(both) // 2
    join = as_function(equation.params["jaxpr"], of_scalars=True)
    return lax.reduce(list(both[:n]), list(both[n:]), lambda x, y: join(*x, *y), equation.params["dimensions"])


def windows(p):
    return [p["window_dimensions"], p["window_strides"], p["padding"], p.get("base_dilation"), p.get("window_dilation")]


@rule("reduce_window")
def _reduce_window(equation, *both):
    n, p = len(both) // 2, equation.params
    join = as_function(p["jaxpr"], p["consts"], of_scalars=True)
    return lax.reduce_window(list(both[:n]), list(both[n:]), lambda x, y: join(*x, *y), *windows(p))


def scalar(value, dtype):
    return np.asarray(numpy.asarray(value, numpy.dtype(dtype)))


def lowest(dtype):
    d = numpy.dtype(dtype)
    if d.kind in "iu":
        return scalar(np.iinfo(d).min, d)
    return scalar(False if d.kind == "b" else complex(-numpy.inf, -numpy.inf) if d.kind == "c" else -numpy.inf, d)


def highest(dtype):
    d = numpy.dtype(dtype)
    if d.kind in "iu":
        return scalar(np.iinfo(d).max, d)
    return scalar(True if d.kind == "b" else complex(numpy.inf, numpy.inf) if d.kind == "c" else numpy.inf, d)


def zero(dtype):
    return scalar(0, dtype)


EXTREMES = {
    "reduce_max": (larger, lowest), "reduce_min": (smaller, highest), "reduce_window_max": (larger, lowest),
    "reduce_window_min": (smaller, highest), "reduce_window_sum": (lax.add, zero),
}  # fmt: skip


@rule("reduce_window_max", "reduce_window_min", "reduce_window_sum")
def _reduce_window_with(equation, x):
    join, init = EXTREMES[equation.primitive.name]
    return lax.reduce_window(x, init(x.dtype), join, *windows(equation.params))


# Where a window's extreme element is: the first of equal ones, by its place in the flat array.
@rule("select_and_scatter_add")
def _select_and_scatter_add(equation, source, x):
    p = equation.params
    at_least, init = (np.greater_equal, lowest) if p["select_prim"].name == "ge" else (np.less_equal, highest)
    nowhere = x.size

    def pick(a, b):
        first = np.logical_and(np.logical_or(at_least(a[0], b[0]), b[1] == nowhere), a[1] != nowhere)
        return [np.where(first, a[0], b[0]), np.where(first, a[1], b[1])]

    places = np.arange(x.size, dtype=np.int32).reshape(x.shape)
    _, places = lax.reduce_window([x, places], [init(x.dtype), scalar(nowhere, np.int32)], pick, *windows(p))
    counts = np.zeros((x.size,), np.int32 if str(x.dtype) == "bool" else x.dtype)
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    out = lax.scatter_add(counts, places.reshape(-1, 1), source.reshape(-1).astype(counts.dtype), numbers)
    return (out != 0 if str(x.dtype) == "bool" else out).reshape(x.shape)


@rule("select_and_gather_add")
def _select_and_gather_add(equation, tangents, x):
    p = equation.params
    at_least, init = (np.greater_equal, lowest) if p["select_prim"].name == "ge" else (np.less_equal, highest)

    def pick(a, b):
        first = at_least(a[0], b[0])
        return [np.where(first, a[0], b[0]), np.where(first, a[1], b[1])]

    return lax.reduce_window([x, tangents], [init(x.dtype), zero(tangents.dtype)], pick, *windows(p))[1]


@rule("dot_general")
def _dot_general(equation, x, y):
    p = equation.params
    return lax.dot_general(x, y, p["dimension_numbers"], preferred_element_type=equation.outvars[0].aval.dtype)


@rule("conv_general_dilated")
def _conv(equation, x, w):
    p = equation.params
    numbers = lax.ConvDimensionNumbers(*p["dimension_numbers"])
    return lax.conv_general_dilated(
        x, w, p["window_strides"], p["padding"], p["lhs_dilation"], p["rhs_dilation"], numbers, p["feature_group_count"],
        p["batch_group_count"], preferred_element_type=p["preferred_element_type"],
    )  # fmt: skip


@rule("sort")
def _sort(equation, *x):
    p = equation.params
    return lax.sort(x, p["dimension"], p["is_stable"], p["num_keys"])


@rule("top_k")
def _top_k(equation, x):
    return lax.top_k(x, equation.params["k"], axis=equation.params["axis"])


@rule("approx_top_k")
def _approx_top_k(equation, x):
    p = equation.params
    find = lax.approx_max_k if p["is_max_k"] else lax.approx_min_k
    return find(x, p["k"], p["reduction_dimension"])
