"""Primitives that join elements: reductions, windows, products, sorts."""

import neap as np
import numpy
from neap import lax
from translate import Untranslated, as_function, rule


@rule("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor")
def _reduce_with(equation, x):
    return getattr(lax, equation.primitive.name)(x, equation.params["axes"])


@rule("argmax", "argmin")
def _arg(equation, x):
    (axis,) = equation.params["axes"]
    return getattr(lax, equation.primitive.name)(x, axis, equation.params["index_dtype"])


@rule("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
def _running(equation, x):
    return getattr(lax, equation.primitive.name)(x, equation.params["axis"], equation.params["reverse"])


@rule("reduce")
def _reduce(equation, *both):
    n = len(both) // 2
    join = as_function(equation.params["jaxpr"])
    return lax.reduce(list(both[:n]), list(both[n:]), lambda x, y: join(*x, *y), equation.params["dimensions"])


def windows(p):
    return [p["window_dimensions"], p["window_strides"], p["padding"], p.get("base_dilation"), p.get("window_dilation")]


@rule("reduce_window")
def _reduce_window(equation, *both):
    n, p = len(both) // 2, equation.params
    join = as_function(p["jaxpr"], p["consts"])
    return lax.reduce_window(list(both[:n]), list(both[n:]), lambda x, y: join(*x, *y), *windows(p))


def lowest(dtype):
    d = numpy.dtype(dtype)
    return False if d == bool else int(np.iinfo(d).min) if d.kind in "iu" else -numpy.inf


def highest(dtype):
    d = numpy.dtype(dtype)
    return True if d == bool else int(np.iinfo(d).max) if d.kind in "iu" else numpy.inf


@rule("reduce_window_max", "reduce_window_min", "reduce_window_sum")
def _reduce_window_with(equation, x):
    join, init = {
        "reduce_window_max": (lax.max, lowest),
        "reduce_window_min": (lax.min, highest),
        "reduce_window_sum": (lax.add, lambda d: 0),
    }[equation.primitive.name]
    return lax.reduce_window(x, np.asarray(numpy.asarray(init(x.dtype), x.dtype)), join, *windows(equation.params))


# What a window picks is what has the derivative of its extreme element.
def picked(p):
    if (p.get("base_dilation") or (1,)) != (1,) * len(p["window_dimensions"]):
        raise Untranslated("windows of dilated arrays")
    if (p.get("window_dilation") or (1,)) != (1,) * len(p["window_dimensions"]):
        raise Untranslated("dilated windows that pick an element")
    pool = np.max_pool if p["select_prim"].name == "ge" else np.min_pool
    return lambda x: pool(x, p["window_dimensions"], p["window_strides"], p["padding"])


@rule("select_and_scatter_add")
def _select_and_scatter_add(equation, source, x):
    return np.vjp(picked(equation.params), x)[1](source)


@rule("select_and_gather_add")
def _select_and_gather_add(equation, tangents, x):
    return np.jvp(picked(equation.params), (x,), (tangents,))[1]


@rule("dot_general")
def _dot_general(equation, x, y):
    p = equation.params
    return lax.dot_general(x, y, p["dimension_numbers"], preferred_element_type=p["preferred_element_type"])


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
