"""Functions of jax.numpy that are a few others: sorted parts, polynomials, histograms, places, counts of NaN."""

from __future__ import annotations

import math
from typing import Any

from . import _neap
from ._dtypes import result_type
from ._neap import Array

_array = _neap._as_array


def partition(a: Any, kth: int, axis: int = -1) -> Array:
    """Sorts along an axis: the element kth is where sort() puts it, smaller ones are before it."""
    return _neap.sort(a, axis=axis)


def argpartition(a: Any, kth: int, axis: int = -1) -> Array:
    """The indices of partition()."""
    return _neap.argsort(a, axis=axis)


def sort_complex(a: Any) -> Array:
    """Sorts the elements along the last axis by their real parts, then by their imaginary ones; the result is complex."""
    a = _array(a)
    if a.dtype.kind != "c":
        return _neap.sort(a).astype(_neap.complex128 if a.dtype == _neap.float64 else _neap.complex64)
    return _neap.take_along_axis(a, _neap.lexsort((a.imag, a.real)), -1)


def flatnonzero(a: Any, *, size: int | None = None, fill_value: int = 0) -> Array:
    """Where the flat array is not zero; inside a trace `size` says how many."""
    return _neap.nonzero(_neap.ravel(a), size=size, fill_value=fill_value)[0]


def compress(condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: int = 0) -> Array:
    """The slices along an axis, of the flat array unless given, where a condition is true; inside a trace `size` of them."""
    a, axis = (_neap.ravel(a), 0) if axis is None else (_array(a), axis)
    condition = _neap.ravel(_neap.asarray(condition)) != 0
    if size is None:
        return _neap.take(a, flatnonzero(condition), axis=axis)
    n = _neap.count_nonzero(condition)
    taken = _neap.moveaxis(_neap.take(a, flatnonzero(condition, size=size), axis=axis), axis, 0)
    there = (_neap.arange(size) < n).reshape((size,) + (1,) * (taken.ndim - 1))
    return _neap.moveaxis(_neap.where(there, taken, fill_value), 0, axis)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: int = 0) -> Array:
    """The elements of the flat array where a condition is true; inside a trace `size` of them."""
    return compress(_neap.ravel(condition), _neap.ravel(arr), size=size, fill_value=fill_value)


def setxor1d(ar1: Any, ar2: Any) -> Array:
    """The elements that just one of the two has, sorted. Not in a trace."""
    return _neap.union1d(_neap.setdiff1d(ar1, ar2), _neap.setdiff1d(ar2, ar1))


def trim_zeros(filt: Any, trim: str = "fb") -> Array:
    """A vector without its zeros at the front ("f") and the back ("b"). Not in a trace."""
    filt = _array(filt)
    found = flatnonzero(filt)
    if found.size == 0:
        return filt[:0]
    first = found[0].item() if "f" in trim.lower() else 0
    return filt[first : found[-1].item() + 1 if "b" in trim.lower() else None]


def array_equiv(a1: Any, a2: Any) -> Array:
    """Whether shapes broadcast and all elements are then equal."""
    try:
        return _neap.all(_neap.equal(a1, a2))
    except _neap.ShapeError:
        return _neap.array(False)


def _without_nan(a: Any, q: Any, axis: Any, keepdims: bool) -> Array:
    a, q = _array(a), _array(q)
    axes = range(a.ndim) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    axes = sorted(i % a.ndim for i in axes)
    rest = [i for i in range(a.ndim) if i not in axes]
    kept = tuple(1 if i in axes else n for i, n in enumerate(a.shape))
    if a.dtype.kind != "f":
        a = a.astype(_neap.float32)
    rows = _neap.sort(_neap.transpose(a, (*rest, *axes)).reshape((*(a.shape[i] for i in rest), -1)))
    most = _neap.maximum(_neap.sum(~_neap.isnan(rows), axis=-1) - 1, 0)
    place = q.astype(a.dtype).reshape(q.shape + (1,) * len(rest)) * most.astype(a.dtype)
    low, high = _neap.floor(place), _neap.ceil(place)
    wide = _neap.broadcast_to(rows, q.shape + rows.shape)
    at = lambda i: _neap.take_along_axis(wide, i.astype(_neap.int32)[..., None], -1)[..., 0]
    below, above = at(low), at(high)
    result = _neap.where(low == high, below, below + (above - below) * (place - low))
    return result.reshape(q.shape + kept) if keepdims else result


def nanquantile(a: Any, q: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    """quantile() of the elements that are not NaN; NaN where all are."""
    return _without_nan(a, q, axis, keepdims)


def nanpercentile(a: Any, q: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    """nanquantile(a, q / 100)."""
    return _without_nan(a, _array(q) / 100, axis, keepdims)


def nanmedian(a: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """median() of the elements that are not NaN; NaN where all are."""
    return _without_nan(a, 0.5, axis, keepdims)


def kaiser(M: int, beta: Any) -> Array:
    """Kaiser's window, i0(beta sqrt(1 - (2 i / (M - 1) - 1)^2)) / i0(beta)."""
    if M == 1:
        return _neap.ones(1)
    x = _neap.arange(M) * (2.0 / max(M - 1, 1)) - 1.0
    return _neap.i0(beta * _neap.sqrt(_neap.maximum(1 - x * x, 0))) / _neap.i0(_neap.asarray(beta, dtype=_neap.float32))


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False):
    """Counts the elements in bins, or adds up their weights; bins: how many, or their edges. And the edges."""
    if isinstance(bins, int) and weights is None and not density:
        try:
            return _neap.histogram(a, bins, range)
        except _neap.TracerError:  # the range is not known yet
            pass
    sample, weights = _neap.ravel(_array(a))[:, None], None if weights is None else _neap.ravel(_array(weights))
    counts, edges = histogramdd(sample, (bins,), (range,), weights, density)
    return counts, edges[0]


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False):
    """Counts the rows of sample [n, axes] in boxes; bins: how many, or edges, of all axes or for each. And the edges."""
    sample = _array(sample)
    count, axes = sample.shape
    if isinstance(bins, int):
        bins = (bins,) * axes
    edges, places, inside = [], [], _neap.ones(count, _neap.bool_)
    for i, b in enumerate(bins):
        x = sample[:, i]
        if isinstance(b, int):
            b = _neap.histogram_bin_edges(x, b, None) if range is None or range[i] is None else _neap.linspace(*range[i], b + 1)
        b = _array(b)
        edges.append(b)
        place = _neap.searchsorted(b, x, side="right") - 1
        place = _neap.where(x == b[-1], b.size - 2, place)
        inside = inside & (x >= b[0]) & (x <= b[-1])
        places.append(_neap.clip(place, 0, b.size - 2))
    shape = tuple(e.size - 1 for e in edges)
    weights = _neap.ones(count) if weights is None else _array(weights)
    counted = _neap.where(inside, weights, 0)
    result = _neap.zeros(shape, counted.dtype).at[tuple(places)].add(counted)
    if density:
        for i, e in enumerate(edges):
            result = result / _neap.diff(e).reshape((-1,) + (1,) * (axes - 1 - i))
        result = result / _neap.sum(counted)
    return result, edges


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False):
    """Counts pairs in boxes: the counts [bins of x, bins of y], and the edges of both."""
    if not isinstance(bins, int) and (isinstance(bins, Array) or len(bins) != 2):
        bins = (bins, bins)
    counts, (of_x, of_y) = histogramdd(_neap.stack((_array(x), _array(y)), axis=1), bins, range, weights, density)
    return counts, of_x, of_y


def poly(seq_of_zeros: Any) -> Array:
    """The polynomial with these roots, or the characteristic one of a matrix, the highest power first."""
    roots = _array(seq_of_zeros)
    of_real = roots.dtype.kind != "c"
    if roots.ndim == 2:
        roots = _neap.linalg.eigvals(roots)
    elif of_real and roots.dtype.kind != "f":
        roots = roots.astype(_neap.float32)
    result = _neap.ones(1, roots.dtype)
    for root in roots:
        result = _neap.append(result, _neap.zeros(1, roots.dtype)) - _neap.append(_neap.zeros(1, roots.dtype), result * root)
    return result.real if of_real else result


def roots(p: Any, *, strip_zeros: bool = True) -> Array:
    """The roots of a polynomial, the highest power first, complex; strip_zeros, not in a trace: leading and trailing zeros
    are none of its coefficients."""
    p = _neap.atleast_1d(_array(p))
    if p.dtype.kind not in "fc":
        p = p.astype(_neap.float32)
    zeros = 0
    if strip_zeros:
        found = flatnonzero(p)
        if found.size == 0:
            return _neap.zeros(0, result_type(p, _neap.complex64))
        first, last = found[0].item(), found[-1].item()
        zeros, p = p.size - 1 - last, p[first : last + 1]
    kind = result_type(p, _neap.complex64)
    if p.size < 2:
        return _neap.zeros(zeros, kind)
    n = p.size - 1
    companion = _neap.concatenate((-p[None, 1:] / p[0], _neap.eye(n - 1, n, dtype=p.dtype)))
    return _neap.concatenate((_neap.linalg.eigvals(companion).astype(kind), _neap.zeros(zeros, kind)))


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """The quotient and the remainder of polynomials, the highest power first."""
    kind = result_type(_array(u), _array(v), _neap.float32)
    u, v = _neap.atleast_1d(_array(u)).astype(kind), _neap.atleast_1d(_array(v)).astype(kind)
    if u.size < v.size:
        return _neap.zeros(1, kind), u
    quotient = []
    for i in range(u.size - v.size + 1):
        quotient.append(u[i] / v[0])
        u = u.at[i : i + v.size].add(-quotient[-1] * v)
    rest = u[len(quotient) :] if v.size > 1 else u[-1:] * 0
    return _neap.stack(quotient), trim_zeros(rest, "f") if trim_leading_zeros else rest


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Array:
    """Integrates by the trapezoidal rule, at positions x, or at equal distances."""
    if x is None:
        return _neap.trapezoid(y, None, dx, axis)
    y, x = _neap.moveaxis(y, axis, -1), _array(x)
    steps = _neap.diff(x if x.ndim == 1 else _neap.moveaxis(x, axis, -1))
    return _neap.sum(steps * (y[..., 1:] + y[..., :-1]), axis=-1) * 0.5


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Array:
    """Covariances; variables are rows (rowvar=False: columns) of m, and of y."""
    parts = []
    for one in (m, y):
        if one is not None:
            one = _neap.atleast_2d(_array(one))
            parts.append(one if rowvar or _array(m).ndim == 1 else one.T)
    x = _neap.concatenate(parts) if len(parts) > 1 else parts[0]
    x = x - _neap.mean(x, axis=1, keepdims=True)
    less = (0 if bias else 1) if ddof is None else ddof
    return _neap.squeeze(x @ x.T.conj() / (x.shape[1] - less))


def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Array:
    """Correlation coefficients; variables are rows (rowvar=False: columns) of x, and of y."""
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return c / c
    deviation = _neap.sqrt(_neap.diagonal(c).real)
    return c / deviation[:, None] / deviation


def _along(f: Array, h: Any, axis: int) -> Array:
    f, (n, h) = _neap.moveaxis(f, axis, 0), (f.shape[axis], _array(h))
    if n < 2:
        raise _neap.ShapeError(_neap._message("gradient", f"{n} elements along axis {axis}", "two or more"))
    step = h if h.ndim == 0 else _neap.diff(h).reshape((-1,) + (1,) * (f.ndim - 1))
    slope = (f[1:] - f[:-1]) / step
    left, right = (1, 1) if h.ndim == 0 else (step[:-1], step[1:])
    inner = (slope[:-1] * right + slope[1:] * left) / (left + right)
    return _neap.moveaxis(_neap.concatenate((slope[:1], inner, slope[-1:])), 0, axis)


def gradient(f: Any, *varargs: Any, axis: Any = None) -> Array | list[Array]:
    """Central differences along an axis, or all of them, a list then; varargs: a distance, or one for each axis, or
    positions along it."""
    f = _array(f)
    f = f if f.dtype.kind in "fc" else f.astype(_neap.float32)
    axes = range(f.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    spacing = varargs if len(varargs) > 1 else (varargs or (1.0,)) * len(axes)
    if len(spacing) != len(axes):
        raise TypeError(f"gradient: {len(spacing)} distances along {len(axes)} axes")
    result = [_along(f, h, i) for h, i in zip(spacing, axes, strict=True)]
    return result[0] if len(result) == 1 else result


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, *, axis: int = 0,
    device: Any = None,
) -> Any:  # fmt: skip
    """num evenly spaced numbers from start to stop, which is one of them if endpoint; of arrays along a new axis."""
    if _array(start).ndim == 0 == _array(stop).ndim:
        if retstep:
            result, step = _neap.linspace(start, stop, num, endpoint, True, dtype)
            return _neap.device_put(result, device), step
        return _neap.device_put(_neap.linspace(start, stop, num, endpoint, False, dtype), device)
    kind = result_type(_array(start), _array(stop), _neap.float32)
    start, stop = _neap.broadcast_arrays(_array(start).astype(kind), _array(stop).astype(kind))
    parts = num - 1 if endpoint else num
    t = (_neap.arange(num).astype(kind) / max(parts, 1)).reshape((num,) + (1,) * start.ndim)
    result = start * (1 - t) + stop * t
    if dtype is not None and _neap.dtype(dtype).kind in "iu":
        result = _neap.floor(result)
    result = _neap.moveaxis(result if dtype is None else result.astype(dtype), 0, axis)
    result = _neap.device_put(result, device)
    return (result, (stop - start) / (parts or math.nan)) if retstep else result


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Array:
    """base to the powers of linspace()."""
    scalars = endpoint and isinstance(base, (int, float)) and _array(start).ndim == 0 == _array(stop).ndim
    if scalars:
        return _neap.logspace(start, stop, num, base, dtype)
    result = _neap.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return result if dtype is None else result.astype(dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Array:
    """num numbers from start to stop, which is one of them if endpoint, each the same multiple of the one before."""
    if endpoint and _array(start).ndim == 0 == _array(stop).ndim:
        return _neap.geomspace(start, stop, num, dtype)
    start, stop = _array(start), _array(stop)
    signs = _neap.where((start < 0) & (stop < 0), -1, 1)
    result = linspace(_neap.log(start * signs), _neap.log(stop * signs), num, endpoint, axis=axis)
    result = _neap.exp(result) * (signs if signs.ndim == 0 else _neap.expand_dims(signs, axis))
    return result if dtype is None else result.astype(dtype)


def polyval(p: Any, x: Any) -> Array:
    """The value at x of the polynomial p, the highest power first; of several axes, polynomials are along the first."""
    p = _array(p)
    if p.ndim == 1:
        return _neap.polyval(p, x)
    x = _array(x)
    result = _neap.zeros_like(p[0] + x)
    for coefficient in p:
        result = result * x + coefficient
    return result


__all__ = [
    "argpartition", "array_equiv", "compress", "corrcoef", "cov", "extract", "flatnonzero", "geomspace", "gradient",
    "histogram", "histogram2d", "histogramdd", "kaiser", "linspace", "logspace", "nanmedian", "nanpercentile", "nanquantile", "partition",
    "poly", "polydiv", "polyval", "roots", "setxor1d", "sort_complex", "trapezoid", "trim_zeros",
]  # fmt: skip
