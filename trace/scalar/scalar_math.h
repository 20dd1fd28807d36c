// The vocabulary of element expressions, in which the `kernel` column of <neap/ops.def> is written.
//
// Every function appends to the Dag of its first operand. f32 functions are compositions of primitive instructions
// without branches or tables, so that a backend can vectorise them; they are within 2 ulp of the true value for every
// input, denormals and specials included (erf_inv: 4 ulp, erfc 2.4, asinh, acosh and atanh 2.5). So are those of f64
// (sinh and erfc: 2.4 ulp, acosh 2.2, erf_inv 5), but lgamma, digamma, the remainder, and sin, cos and tan of 2^30 and
// beyond: these, and the remainder of f32, call the C library in f64 (or what a backend has for them). No function
// takes halves except where it says so: apply_op converts.
#pragma once

#include <initializer_list>

#include "trace/scalar/scalar.h"

namespace neap::scalar {

X operator+(X a, X b);
X operator-(X a, X b);
X operator*(X a, X b);
X operator/(X a, X b);  // floats only; integers: m::divide
X operator-(X a);
X operator&(X a, X b);
X operator|(X a, X b);
X operator^(X a, X b);

namespace m {

/// Returns the constant `value` in the type of `x`.
X c(X x, double value);
/// Returns the constant with these bits in the type of `x`.
X bits(X x, uint64_t value);
X convert(X x, DType type);
X bitcast(X x, DType type);
X fma(X a, X b, X c);
/// Does the same for users, who rely on one rounding. (A polynomial bears two where a device's fma rounds twice.)
X fma_once(X a, X b, X c);
X fma(X a, double b, X c);
X fma(X a, X b, double c);
X fma(X a, double b, double c);
/// Returns coefficients[0] + coefficients[1] * x + ..., by Horner's rule.
X polynomial(X x, std::initializer_list<double> coefficients);
/// Returns the same by powers of x^2, two coefficients at a time: a chain of half the length.
X in_pairs(X x, std::initializer_list<double> coefficients);

// Any type, halves excepted: they compare as f32. select also takes halves.
X eq(X a, X b);
X ne(X a, X b);
X lt(X a, X b);
X le(X a, X b);
X lt(X a, double b);
X select(X condition, X a, X b);

// Integers and floats.
X abs(X x);
X sign(X x);
X divide(X x, X y);
X rem(X x, X y);
X maximum(X x, X y);
X minimum(X x, X y);

// Integers and bool (one bit).
X bit_not(X x);
X bit_and(X x, X y);
X bit_or(X x, X y);
X bit_xor(X x, X y);
X shift_left(X x, X y);
X shift_right(X x, X y);
X popcount(X x);
X clz(X x);
/// These shift by a constant below the width.
X shl(X x, int count);
X shr(X x, int count);

// Floats.
X floor(X x);
X ceil(X x);
X trunc(X x);
X rint(X x);
X sqrt(X x);
X rsqrt(X x);
X cbrt(X x);
X exp(X x);
X exp2(X x);
X expm1(X x);
X log(X x);
X log2(X x);
X log10(X x);
X log1p(X x);
X pow(X x, X y);
X sigmoid(X x);
X sin(X x);
X cos(X x);
X tan(X x);
X asin(X x);
X acos(X x);
X atan(X x);
X atan2(X y, X x);
X sinh(X x);
X cosh(X x);
X tanh(X x);
X asinh(X x);
X acosh(X x);
X atanh(X x);
X hypot(X x, X y);
X erf(X x);
X erfc(X x);
X erf_inv(X x);
X lgamma(X x);
X digamma(X x);
X isinf(X x);
X isfinite(X x);
X copysign(X x, X y);
/// Takes halves as they are: their neighbours are not those of f32.
X nextafter(X x, X y);

/// Applies `function` to x by way of f64, rounded to the type of x.
X through_f64(Function function, X x, X y = {});

}  // namespace m
}  // namespace neap::scalar
