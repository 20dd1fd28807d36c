"""Elementwise primitives, and those that make or move elements."""

import neap as np
import numpy
from neap import lax
from translate import Untranslated, as_function, rule

# Primitives whose rule is the function of neap.lax (or of neap) with their name.
SAME = """abs acos acosh add and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil complex cos cosh digamma div eq
    erf erf_inv erfc exp expm1 floor ge gt igamma igammac imag is_finite le lgamma log log1p logistic lt mul ne neg
    nextafter not or population_count pow real rem rsqrt shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt
    square stop_gradient sub tan tanh xor""".split()
OTHER = {"and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor, "not": lax.bitwise_not}


def of_operands(f):
    return lambda equation, *operands: f(*operands)


for name in SAME:
    rule(name)(of_operands(OTHER.get(name) or getattr(lax, name)))
rule("add_any")(of_operands(lax.add))
rule("copy", "copy_p", "device_put")(lambda equation, *x: x)
rule("regularized_incomplete_beta")(of_operands(lax.betainc))
rule("select_n")(of_operands(lax.select_n))


# Complex numbers have an order here only: by the real parts, then the imaginary ones; NaN comes first.
def is_complex(x):
    return str(x.dtype).startswith("complex")


def first_of(x, y, less):
    a, b = np.real(x), np.real(y)
    return np.logical_or(less(a, b), np.logical_and(a == b, less(np.imag(x), np.imag(y))))


def larger(x, y):
    return np.where(first_of(x, y, np.greater), x, y) if is_complex(x) else lax.max(x, y)


def smaller(x, y):
    return np.where(first_of(x, y, np.less), x, y) if is_complex(x) else lax.min(x, y)


rule("max")(of_operands(larger))
rule("min")(of_operands(smaller))


@rule("clamp")
def _clamp(equation, low, x, high):
    return smaller(larger(x, low), high) if is_complex(x) else lax.clamp(low, x, high)


@rule("jit", "pjit", "closed_call", "core_call", "remat", "checkpoint")
def _call(equation, *x):
    return as_function(equation.params.get("jaxpr") or equation.params["call_jaxpr"])(*x)


@rule("custom_jvp_call", "custom_vjp_call")
def _custom(equation, *x):
    return as_function(equation.params.get("call_jaxpr") or equation.params["fun_jaxpr"])(*x)


@rule("conj")
def _conj(equation, x):
    return lax.conj(x).astype(equation.outvars[0].aval.dtype)


@rule("integer_pow")
def _integer_pow(equation, x):
    return lax.integer_pow(x, equation.params["y"])


@rule("round")
def _round(equation, x):
    return lax.round(x, lax.RoundingMethod(int(equation.params["rounding_method"])))


@rule("reduce_precision")
def _reduce_precision(equation, x):
    return lax.reduce_precision(x, equation.params["exponent_bits"], equation.params["mantissa_bits"])


@rule("convert_element_type")
def _convert(equation, x):
    return lax.convert_element_type(x, equation.params["new_dtype"])


@rule("bitcast_convert_type")
def _bitcast(equation, x):
    return lax.bitcast_convert_type(x, equation.params["new_dtype"])


@rule("broadcast_in_dim")
def _broadcast_in_dim(equation, x):
    return lax.broadcast_in_dim(x, equation.params["shape"], equation.params["broadcast_dimensions"])


@rule("reshape")
def _reshape(equation, x):
    return lax.reshape(x, equation.params["new_sizes"], equation.params["dimensions"])


@rule("squeeze")
def _squeeze(equation, x):
    return lax.squeeze(x, equation.params["dimensions"])


@rule("transpose")
def _transpose(equation, x):
    return lax.transpose(x, equation.params["permutation"])


@rule("rev")
def _rev(equation, x):
    return lax.rev(x, equation.params["dimensions"])


@rule("pad")
def _pad(equation, x, value):
    return lax.pad(x, value, equation.params["padding_config"])


@rule("concatenate")
def _concatenate(equation, *x):
    return lax.concatenate(x, equation.params["dimension"])


@rule("split")
def _split(equation, x):
    return lax.split(x, [int(n) for n in equation.params["sizes"]], equation.params["axis"])


@rule("iota")
def _iota(equation):
    p = equation.params
    return lax.broadcasted_iota(p["dtype"], p["shape"], p["dimension"])


@rule("slice")
def _slice(equation, x):
    p = equation.params
    words = x.shape[len(p["start_indices"]) :]  # of a key
    strides = p["strides"] and (*p["strides"], *(1 for _ in words))
    return lax.slice(x, (*p["start_indices"], *(0 for _ in words)), (*p["limit_indices"], *words), strides)


# A negative start is one that does not fit: those that count from the end have been counted by the jaxpr.
def starts_of(x, starts):
    if not starts:
        return numpy.zeros(0, numpy.int32)
    return [np.clip(s, 0, min(n, 127)).astype(np.int32) for s, n in zip(starts, x.shape, strict=True)]


@rule("dynamic_slice")
def _dynamic_slice(equation, x, *starts):
    return lax.dynamic_slice(x, starts_of(x, starts), equation.params["slice_sizes"])


@rule("dynamic_update_slice")
def _dynamic_update_slice(equation, x, update, *starts):
    return lax.dynamic_update_slice(x, update, starts_of(x, starts))


def mode_of(p):
    return {"FILL_OR_DROP": "fill"}.get(p["mode"].name, p["mode"].name.lower())


@rule("gather")
def _gather(equation, x, index):
    p = equation.params
    numbers = lax.GatherDimensionNumbers(*p["dimension_numbers"])
    return lax.gather(x, index, numbers, p["slice_sizes"], mode=mode_of(p), fill_value=p["fill_value"])


@rule("scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max")
def _scatter(equation, x, index, updates):
    p, name = equation.params, equation.primitive.name
    numbers = lax.ScatterDimensionNumbers(*p["dimension_numbers"])
    mode = mode_of(p)
    joins = {"scatter-mul": lax.mul, "scatter-min": smaller, "scatter-max": larger}
    if is_complex(x) and name in joins:
        return scatter_one_by_one(x, index, updates, numbers, mode, joins[name])
    return getattr(lax, name.replace("-", "_"))(x, index, updates, numbers, mode=mode)


# Complex numbers have scatter and scatter_add only: others are a loop over the windows.
def scatter_one_by_one(x, index, updates, numbers, mode, join):
    window = numbers.update_window_dims
    if numbers.operand_batching_dims:
        raise Untranslated("scatter of complex numbers with batching axes")
    y = np.transpose(updates, (*(i for i in range(updates.ndim) if i not in window), *window))
    rows = np.reshape(index, (-1, index.shape[-1]))
    y = np.reshape(y, (rows.shape[0], *y.shape[y.ndim - len(window) :]))
    extents = iter(y.shape[1:])
    sizes = [1 if axis in numbers.inserted_window_dims else next(extents) for axis in range(x.ndim)]
    axes, inserted, start = tuple(range(y.ndim - 1)), numbers.inserted_window_dims, numbers.scatter_dims_to_operand_dims

    def step(i, out):
        old = lax.gather(out, rows[i], lax.GatherDimensionNumbers(axes, inserted, start), sizes, mode="clip")
        return lax.scatter(out, rows[i], join(old, y[i]), lax.ScatterDimensionNumbers(axes, inserted, start), mode=mode)

    return lax.fori_loop(0, rows.shape[0], step, x)
