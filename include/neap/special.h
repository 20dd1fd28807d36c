// Special functions, with jax.scipy.special's names, arguments and edge values. (erf, erfc, erf_inv, lgamma and digamma
// are in ops.h; logit, xlogy, entr, betaln, ndtr and their kin in numpy.h.)
//
// All are elementwise and broadcast; integers become f32, half types are computed in f32 and rounded once. Values are
// compared with SciPy's: tests/golden/special.json. "To 4 ulp" is the largest error found there and by tests, in units
// in the last place of f32; in f64 functions are right to about 1e-13. Each has derivatives of every order in every
// argument, unless it says otherwise. No function loops: all fuse with what is around them, and the integrals of
// gammainc, gammaincc, betainc and expn are sums over 12 nodes (f64: 24).
#pragma once

#include <neap/ops.h>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

// --- gamma functions
/// Returns the gamma function, with its sign. At 0 it has the sign of the zero, at negative integers and -inf it is
/// NaN. To 4 ulp.
Array gamma(const Operand& x);
/// Returns the sign of the gamma function: 1 or -1, as of its limit from above at 0 and from below at -0; NaN at
/// negative integers and -inf. Its derivative is 0.
Array gammasgn(const Operand& x);
/// Returns lgamma(x), by SciPy's name.
Array gammaln(const Operand& x);
/// Returns gamma(n + 1), 0 below 0. To 4 ulp.
Array factorial(const Operand& n);
/// Returns gamma(z + m) / gamma(z), Pochhammer's symbol; where z is an integer and not positive, too (JAX: NaN, as its
/// derivatives are here). To 16 ulp where m < 20; below z = 10 it overflows where gamma(z + m) does.
Array poch(const Operand& z, const Operand& m);
/// Returns the beta function, gamma(x) gamma(y) / gamma(x + y). To 16 ulp where an argument is between 0 and 10, else
/// to 2 |betaln(x, y)| more.
Array beta(const Operand& x, const Operand& y);
/// Returns the logarithm of the multivariate gamma function of dimension d >= 1 (ShapeError), for a > (d - 1) / 2.
Array multigammaln(const Operand& a, int64_t d);

/// Returns the n-th derivative of digamma, for integers n >= 0, else NaN: at poles inf or -inf with the sign of (-1)^(n
/// + 1), at infinity 0 (JAX: NaN). n counts as a constant: its derivative is 0. To 6 ulp where x > 0, up to n = 33 in
/// f32 and 169 in f64, where n! is in range.
Array polygamma(const Operand& n, const Operand& x);
/// Returns Hurwitz' zeta function, the sum of (q + k)^-x over k >= 0: inf at x = 1 and where q is an integer and not
/// positive, NaN below 1, and where q is negative and x no integer. To 4 ulp where q > 0, below to as many of the
/// largest term. The derivative in x is that of q > 0, elsewhere 0.
Array zeta(const Operand& x, const Operand& q);

// --- normal distribution
/// Returns log(ndtr(x)), which does not underflow. To 3 ulp.
Array log_ndtr(const Operand& x);
/// Returns the inverse of ndtr, the quantile: -inf at 0, inf at 1, NaN outside. Small p keep their digits. To 4 ulp,
/// but for subnormal p.
Array ndtri(const Operand& p);

// --- incomplete gamma and beta functions
/// Returns the regularized lower incomplete gamma function P(a, x), for a, x >= 0 but not both 0, else NaN: 0 at x = 0
/// and at a = inf (JAX: NaN), 1 at a = 0 and at x = inf, NaN where both are infinite (JAX: 1). To 6 + 3 |log P| ulp, of
/// any a.
Array gammainc(const Operand& a, const Operand& x);
/// Returns the regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x), small values with their digits. To 6
/// + 3 |log Q| ulp.
Array gammaincc(const Operand& a, const Operand& x);

/// Returns the regularized incomplete beta function I_x(a, b), for a, b >= 0 and x in [0, 1], else NaN: 1 at a = 0 and
/// at b = inf, 0 at b = 0 and at a = inf, NaN where both are 0 or infinite. To 8 + 4 |log I| ulp; but where b is far
/// below 1 and x near 1, small values have the absolute error of those near 1. It has derivatives in a and b, too (JAX:
/// an error).
Array betainc(const Operand& a, const Operand& b, const Operand& x);

// --- Bessel functions
/// Returns the modified Bessel function of order 0, I0(x); at infinity inf (JAX and SciPy: NaN). To 4 ulp.
Array i0(const Operand& x);
/// Returns exp(-|x|) I0(x), which does not overflow. To 4 ulp.
Array i0e(const Operand& x);
/// Returns the modified Bessel function of order 1, I1(x); at infinity inf with its sign (JAX and SciPy: NaN). To 4
/// ulp.
Array i1(const Operand& x);
/// Returns exp(-|x|) I1(x), which does not overflow. To 4 ulp.
Array i1e(const Operand& x);

// --- integrals
/// Returns the exponential integral Ei(x), the principal value: -inf at 0, inf at infinity, -0 at -inf (JAX: NaN). To 4
/// ulp, at its root near 0.37, too.
Array expi(const Operand& x);
/// Returns the exponential integral E1(x): inf at 0, 0 at infinity (JAX: NaN), NaN below 0. To 4 ulp.
Array exp1(const Operand& x);
/// Returns the generalized exponential integral E_n(x) for integers n >= 0 and x >= 0, else NaN. At 0 it is 1 / (n - 1)
/// (JAX: 1/2 at n = 2), at infinity 0. n counts as a constant: its derivative is 0. To 8 ulp.
Array expn(const Operand& n, const Operand& x);
/// Returns Spence's function, the integral of log(t) / (1 - t) from 1 to x, which is the dilogarithm of 1 - x: -inf at
/// infinity (JAX and SciPy: NaN), NaN below 0. To 6 ulp.
Array spence(const Operand& x);

}  // namespace neap

#pragma GCC visibility pop
