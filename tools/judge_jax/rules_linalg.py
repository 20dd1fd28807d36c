"""Primitives of linear algebra, Fourier transforms and random numbers."""

import neap as np
from neap import lax
from translate import Untranslated, as_function, rule


@rule("cholesky")
def _cholesky(equation, x):
    return lax.linalg.cholesky(x, symmetrize_input=False)


@rule("eigh")
def _eigh(equation, x):
    return lax.linalg.eigh(x, lower=equation.params["lower"], symmetrize_input=False)


@rule("eig")
def _eig(equation, x):
    p = equation.params
    left, right = p["compute_left_eigenvectors"], p["compute_right_eigenvectors"]
    return lax.linalg.eig(x, compute_left_eigenvectors=left, compute_right_eigenvectors=right)


@rule("lu")
def _lu(equation, x):
    return lax.linalg.lu(x)


@rule("qr")
def _qr(equation, x):
    if equation.params["pivoting"]:
        raise Untranslated("qr with pivots")
    return lax.linalg.qr(x, full_matrices=equation.params["full_matrices"])


@rule("svd")
def _svd(equation, x):
    p = equation.params
    if p["subset_by_index"] is not None:
        raise Untranslated("svd of some singular values")
    out = lax.linalg.svd(x, full_matrices=p["full_matrices"], compute_uv=p["compute_uv"])
    return (out[1], out[0], out[2]) if p["compute_uv"] else out


@rule("triangular_solve")
def _triangular_solve(equation, a, b):
    return lax.linalg.triangular_solve(a, b, **equation.params)


@rule("tridiagonal_solve")
def _tridiagonal_solve(equation, *x):
    if equation.params["perturb_singular"]:
        raise Untranslated("tridiagonal_solve with perturb_singular")
    return lax.linalg.tridiagonal_solve(*x)


@rule("custom_linear_solve")
def _custom_linear_solve(equation, *operands):
    lengths, jaxprs = equation.params["const_lengths"], equation.params["jaxprs"]
    consts, at = {}, 0
    for name in ("matvec", "vecmat", "solve", "transpose_solve"):
        consts[name] = operands[at : at + getattr(lengths, name)]
        at += getattr(lengths, name)
    b = list(operands[at:])

    def function(name):
        run = as_function(getattr(jaxprs, name))
        return lambda x: run(*consts[name], *x)

    transposed = function("transpose_solve") if jaxprs.transpose_solve is not None else None
    return lax.custom_linear_solve(
        function("matvec"), b, lambda _, x: function("solve")(x),
        transpose_solve=(lambda _, x: transposed(x)) if transposed else None,
    )  # fmt: skip


@rule("fft")
def _fft(equation, x):
    return lax.fft(x, equation.params["fft_type"].name, equation.params["fft_lengths"])


@rule("random_seed")
def _random_seed(equation, seed):
    if equation.params["impl"].name != "threefry2x32":
        raise Untranslated(f"keys of {equation.params['impl'].name}")
    return np.random.key(seed)


@rule("random_wrap", "random_unwrap")
def _random_same(equation, key):
    return key


@rule("random_bits")
def _random_bits(equation, key):
    p = equation.params
    return np.random.bits(key, p["shape"], f"uint{p['bit_width']}")


@rule("random_split")
def _random_split(equation, key):
    return np.random.split(key, tuple(equation.params["shape"]))


@rule("random_fold_in")
def _random_fold_in(equation, key, data):
    return np.random.fold_in(key, data)


@rule("random_gamma")
def _random_gamma(equation, key, a):
    draw = np.random.loggamma if equation.params["log_space"] else np.random.gamma
    return draw(key, a, dtype=a.dtype)


@rule("iota_2x32_shape")
def _iota_2x32_shape(equation):
    shape = equation.params["shape"]
    size = 1
    for n in shape:
        size *= n
    counts = np.arange(size, dtype=np.uint64).reshape(shape)
    return np.right_shift(counts, np.uint64(32)).astype(np.uint32), counts.astype(np.uint32)
