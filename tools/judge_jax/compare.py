"""Compares results with JAX's: element by element, or by what defines them where they are not unique."""

import numpy

# How many units of its dtype an element may differ by, at the magnitude of the larger of itself and 1 (rtol and atol alike).
UNITS = {"bfloat16": 4, "float16": 8, "float32": 32, "float64": 64}
# Groups whose reference or whose definition is less exact; the magnitude is that of the largest element.
GROUP_UNITS = {
    "conv_general_dilated": 64, "custom_linear_solve": 512, "cumprod": 64, "digamma": 64, "dot_general": 64, "fft": 64,
    "igamma": 256, "igammac": 256, "integer_pow": 128, "lgamma": 64, "lu": 256, "pow": 256, "random_gamma": 128,
    "reduce_prod": 64, "reduce_window_mul": 64, "regularized_incomplete_beta": 512, "scatter_mul": 64, "triangular_solve": 256,
    "tridiagonal_solve": 256,
}  # fmt: skip
BY_MAGNITUDE = {
    "conv_general_dilated", "cumsum", "custom_linear_solve", "dot_general", "fft", "lu", "reduce_sum", "reduce_window_add",
    "scatter_add", "select_and_scatter_add", "triangular_solve", "tridiagonal_solve",
}  # fmt: skip
PREFERRED = {"dot_general", "conv_general_dilated"}
REAL = {"complex64": "float32", "complex128": "float64"}
EPSILON = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}


def wide(x):
    x = numpy.asarray(x)
    if str(x.dtype) in ("bfloat16", "float16"):
        return x.astype(numpy.float32).astype(numpy.float64)
    return x.astype(numpy.complex128) if x.dtype.kind == "c" else x.astype(numpy.float64)


def difference(got, expected, units, by_magnitude):
    """Returns (the largest difference in units, or inf; a sentence, or None)."""
    got, expected = numpy.asarray(got), numpy.asarray(expected)
    dtype = str(expected.dtype)
    if str(got.dtype) != dtype or got.shape != expected.shape:
        return numpy.inf, f"{got.dtype}{list(got.shape)}, expected {dtype}{list(expected.shape)}"
    if got.size == 0:
        return 0.0, None
    if REAL.get(dtype, dtype) not in EPSILON:
        wrong = numpy.flatnonzero((got != expected).ravel())
        return (numpy.inf, sample(got, expected, wrong)) if wrong.size else (0.0, None)
    if dtype in REAL:
        both = [difference(part(got), part(expected), units, by_magnitude) for part in (numpy.real, numpy.imag)]
        if all(text is None for _, text in both):
            return max(u for u, _ in both), None
        g, e = wide(got), wide(expected)
        scale = numpy.abs(e)
        finite = numpy.isfinite(e) & numpy.isfinite(g)
        same = (numpy.isnan(g) == numpy.isnan(e)) & (numpy.isinf(g) == numpy.isinf(e))
        dtype = REAL[dtype]
    else:
        g, e = wide(got), wide(expected)
        finite = numpy.isfinite(e) & numpy.isfinite(g)
        same = finite | (numpy.isnan(g) & numpy.isnan(e)) | (g == e)
        scale = numpy.abs(e)
    epsilon = EPSILON[dtype]
    if by_magnitude and finite.any():
        scale = numpy.where(finite, numpy.max(scale[finite]), 1)
    with numpy.errstate(all="ignore"):
        off = numpy.where(finite, numpy.abs(g - e) / (epsilon * numpy.maximum(scale, 1.0)), numpy.where(same, 0, numpy.inf))
    worst = float(numpy.max(off))
    return worst, None if worst <= units else sample(got, expected, numpy.flatnonzero((off > units).ravel()), worst)


def sample(got, expected, wrong, worst=None):
    i = wrong[0]
    far = "" if worst is None else f", worst {worst:.3g} units"
    return f"{wrong.size} of {got.size} differ: [{i}] {got.ravel()[i]}, expected {expected.ravel()[i]}{far}"


def adjoint(x):
    return numpy.conj(numpy.swapaxes(x, -1, -2))


def residual(a, b, scale):
    """Returns the largest difference, by the matrices' magnitude; matrices with NaN are not asked."""
    if a.size == 0:
        return 0.0
    off = numpy.abs(a - b).reshape(*a.shape[:-2], -1).max(-1)
    return float(numpy.max(off / numpy.maximum(scale, 1e-300)))


def norm_of(a):
    return numpy.abs(a).reshape(*a.shape[:-2], -1).max(-1) * max(a.shape[-1], 1) if a.size else numpy.ones(a.shape[:-2])


def factors(group, params, args, got, expected):
    """Checks svd, eigh, eig and qr by what defines them. Returns (units, sentence or None)."""
    a = wide(args[0])
    dtype = str(numpy.asarray(got[0]).dtype)
    epsilon = EPSILON[REAL.get(dtype, dtype)]
    n = max(a.shape[-1], a.shape[-2], 1)
    for g, e in zip(got, expected, strict=True):
        g, e = numpy.asarray(g), numpy.asarray(e)
        if g.dtype != e.dtype or g.shape != e.shape:
            return numpy.inf, f"{g.dtype}{list(g.shape)}, expected {e.dtype}{list(e.shape)}"
    outs = [wide(x) for x in got]
    jax_nan = [bool(numpy.isnan(wide(e)).any()) for e in expected]
    if any(jax_nan) or not all(numpy.isfinite(o).all() for o in outs):
        same = all((numpy.isnan(g) == numpy.isnan(wide(e))).all() for g, e in zip(outs, expected, strict=True))
        return (0.0, None) if same else (numpy.inf, "NaN in other places")
    return CHECKS[group](a, params, outs, [wide(e) for e in expected], epsilon * n)


def verdict(parts, units=64):
    name, worst = max(parts.items(), key=lambda p: p[1])
    return worst, None if worst <= units else f"{name}: {worst:.3g} units"


def unitary(q):
    k = q.shape[-1]
    return residual(adjoint(q) @ q, numpy.broadcast_to(numpy.eye(k), (*q.shape[:-2], k, k)), 1.0)


def check_cholesky(a, params, got, expected, unit):
    (low,) = got
    half = numpy.tril(a, -1)
    full = half + adjoint(half) + numpy.real(a) * numpy.eye(a.shape[-1])
    main = numpy.diagonal(low, axis1=-2, axis2=-1)
    parts = {
        "product": residual(low @ adjoint(low), full, norm_of(full)) / unit,
        "other triangle": float(numpy.max(numpy.abs(numpy.triu(low, 1)), initial=0)) / unit,
        "diagonal": 0.0 if (main.imag == 0).all() and (main.real > 0).all() else 1e9,
    }
    return verdict(parts)


def check_svd(a, params, got, expected, unit):
    s = got[0]
    parts = {"values": residual(s[..., None], expected[0][..., None], numpy.abs(expected[0]).max(-1, initial=1)) / unit}
    if len(got) == 3:
        u, vh = got[1], got[2]
        k = s.shape[-1]
        parts["u"] = unitary(u) / unit
        parts["vh"] = unitary(adjoint(vh)) / unit
        parts["product"] = residual((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, norm_of(a)) / unit
    return verdict(parts)


def check_eigh(a, params, got, expected, unit):
    v, w = got
    low = numpy.tril(a) if params["lower"] else adjoint(numpy.triu(a))
    strict = numpy.tril(low, -1)
    full = strict + adjoint(strict) + numpy.real(low) * numpy.eye(a.shape[-1])
    parts = {
        "values": residual(w[..., None], expected[1][..., None], numpy.abs(expected[1]).max(-1, initial=1)) / unit,
        "vectors": unitary(v) / unit,
        "product": residual((v * w[..., None, :]) @ adjoint(v), full, norm_of(full)) / unit,
    }
    return verdict(parts)


def check_eig(a, params, got, expected, unit):
    w, rest = got[0], got[1:]
    parts = {}
    if w.size == 0:
        return 0.0, None
    for mine, theirs in zip(w.reshape(-1, w.shape[-1]), expected[0].reshape(-1, w.shape[-1]), strict=True):
        theirs = list(theirs)
        for x in mine:
            j = min(range(len(theirs)), key=lambda j: abs(theirs[j] - x))
            off = abs(theirs.pop(j) - x) / max(abs(x), 1)
            parts["values"] = max(parts.get("values", 0.0), off / unit)
    if params["compute_left_eigenvectors"]:
        v, rest = rest[0], rest[1:]
        parts["left"] = residual(adjoint(v) @ a, w[..., :, None] * adjoint(v), norm_of(a)) / unit
        parts["left length"] = float(numpy.max(numpy.abs(numpy.linalg.norm(v, axis=-2) - 1), initial=0)) / unit
    if rest:
        v = rest[0]
        parts["right"] = residual(a @ v, v * w[..., None, :], norm_of(a)) / unit
        parts["right length"] = float(numpy.max(numpy.abs(numpy.linalg.norm(v, axis=-2) - 1), initial=0)) / unit
    return verdict(parts or {"empty": 0.0}, 256)


def check_qr(a, params, got, expected, unit):
    q, r = got
    parts = {
        "q": unitary(q) / unit,
        "product": residual(q @ r, a, norm_of(a)) / unit,
        "r": residual(numpy.tril(r, -1), 0 * r, norm_of(a)) / unit,
        "signs": 0.0 if (numpy.sign(numpy.real(numpy.diagonal(r, axis1=-2, axis2=-1)))
                         == numpy.sign(numpy.real(numpy.diagonal(expected[1], axis1=-2, axis2=-1)))).all() else 1e9,
    }  # fmt: skip
    return verdict(parts)


def check_sort(params, got, expected):
    """Where keys are equal an order that is not stable is any."""

    def rows(arrays):
        lines = numpy.stack([wide(x) for x in arrays])
        if numpy.iscomplexobj(lines):
            lines = numpy.concatenate([lines.real, lines.imag])
        order = numpy.lexsort(lines[::-1], axis=params["dimension"])
        return numpy.take_along_axis(lines, order[None], params["dimension"] % order.ndim + 1)

    keys = range(params["num_keys"])
    same = all(difference(got[i], expected[i], 0, False)[1] is None for i in keys)
    same = same and all(g.dtype == e.dtype for g, e in zip(got, expected, strict=True))
    same = same and numpy.array_equal(rows(got), rows(expected), equal_nan=True)
    return (0.0, None) if same else (numpy.inf, "another order, or other elements")


def check_top(params, x, got, expected):
    """Of equal elements any may be among the k."""
    off, text = difference(got[0], expected[0], 0, False)
    taken = numpy.take_along_axis(x, got[1], params["reduction_dimension"])
    if text is None and (got[1].dtype != expected[1].dtype or not numpy.array_equal(wide(taken), wide(got[0]), equal_nan=True)):
        return numpy.inf, "indices of other elements"
    return off, text


CHECKS = {"cholesky": check_cholesky, "svd": check_svd, "eigh": check_eigh, "eig": check_eig, "qr": check_qr}


def judge(group, params, args, got, expected):
    """Returns (units, sentence or None) for all results of a harness."""
    if len(got) != len(expected):
        return numpy.inf, f"{len(got)} results, expected {len(expected)}"
    if group == "cholesky":  # the other triangle is not said
        expected = [numpy.tril(expected[0])]
    if group in CHECKS:
        return factors(group, params, args, got, expected)
    if group == "sort" and not params["is_stable"]:
        return check_sort(params, got, expected)
    if group == "approx_top_k":
        return check_top(params, args[0], got, expected)
    worst = 0.0
    for i, (g, e) in enumerate(zip(got, expected, strict=True)):
        dtype = str(numpy.asarray(e).dtype)
        real = REAL.get(dtype, dtype)
        units = UNITS.get(real, 0)
        if real in ("float32", "float64"):
            units = GROUP_UNITS.get(group, units)
        if group in PREFERRED and real in EPSILON:  # XLA may multiply in the operands' dtype
            units *= max([EPSILON.get(REAL.get(str(a.dtype), str(a.dtype)), 0) / EPSILON[real] for a in args] + [1])
        off, text = difference(g, e, units, group in BY_MAGNITUDE)
        if text is not None:
            return off, f"result {i}: {text}"
        worst = max(worst, off)
    return worst, None
