// Exponentials. x = n ln 2 + r with n whole and |r| <= ln(2) / 2: exp(x) = 2^n exp(r). Polynomials: tools/fit_math.py.
#include "trace/scalar/scalar_exp.h"

#include <bit>
#include <cmath>

#include "trace/scalar/scalar_math.h"

namespace neap::scalar::m {
namespace {

X clamp(X x, double low, double high) { return at_most(select(lt(x, low), c(x, low), x), high); }

X exp_f32(X x) {
  const X y = clamp(x, -104.7, 89.0);
  const Reduced a = reduce_exp(y);
  const X p = polynomial(a.r, {1.0, 1.0, 0.4999999403953552, 0.16666515171527863, 0.04166845604777336,
                               0.008369418792426586, 0.0013813143596053123});
  return split_scale(a.rounded)(p);
}

X exp2_f32(X x) {
  const X y = clamp(x, -151.0, 129.0), rounded = y + c(x, kRound);
  return split_scale(rounded)(exp2_core(y - (rounded - c(x, kRound))));
}

// (exp(x) - 1) / 2 for -18 <= x < 89.4, accurate near 0.
X half_expm1(X x) {
  const Reduced a = reduce_exp(x);
  const X q = polynomial(
      a.r, {0.4999999701976776, 0.16666539013385773, 0.04166722297668457, 0.008367180824279785, 0.0013882395578548312});
  const X p = fma(a.r * a.r, q, a.r), s = power_of_two(a.rounded, -1);
  return fma(s, p, s - c(x, 0.5));
}

X expm1_f32(X x) {
  const X y = clamp(x, -18.0, 89.0);
  // Twice the half, because 2^128 is not a number while results just below it are.
  const X half = half_expm1(y);
  const X result = half + half;
  return select(lt(abs(x), 0x1p-25), x, result);  // keeps -0 and denormals
}

// numerator / (1 + e), 0 <= e, with the digits that rounding takes from 1 + e; inverse(t) is near 1 / (1 + e), t near
// the result, and 0 where e > 1.
template <class Inverse>
X over_one_and(X e, X numerator, const Inverse& inverse) {
  const X one = c(e, 1), d = one + e, t = numerator / d;
  const X error = (d - one) - e;                        // of d, exact where e <= 1
  const X rest = fma(t, error, fma(-t, d, numerator));  // numerator - t (1 + e)
  return fma(rest, inverse(t), t);
}

// `magnitude` >= 0 with the sign of x.
X with_sign(X magnitude, X x) {
  const X b = bitcast(x, DType::u32);
  return bitcast(bitcast(magnitude, DType::u32) | (b & bits(b, 0x80000000)), DType::f32);
}

X tanh_f32(X x) {
  const X a = abs(x), z = a * a, y = at_most(a, 9.5);
  const X small = fma(
      z * a, polynomial(z, {-0.33332598209381104, 0.13313116133213043, -0.05221180617809296, 0.015612633898854256}), a);
  const Reduced s = reduce_exp(y + y);
  const X p = polynomial(s.r, {1.0, 0.9999997019767761, 0.49999114871025085, 0.16667675971984863, 0.041902560740709305,
                               0.0082894591614604});
  const X large = c(x, 1) - c(x, 1) / fma(power_of_two(s.rounded, -1), p, 0.5);  // 1 - 2 / (exp(2 y) + 1)
  return with_sign(select(lt(a, 0.6), small, large), x);
}

bool is_f32(X x) { return x.type() == DType::f32; }

// The same of f64.
X expm1_of(const Reduced64& reduced) { return expm1_tail(reduced) + reduced.r; }

X exp_f64(X x) { return exp_of(reduce_f64(clamp(x, -746.0, 710.0))); }

X exp2_f64(X x) {
  const X y = clamp(x, -1076.0, 1025.0), n = (y + c(x, kRound64)) - c(x, kRound64), part = y - n;
  const X r = part * c(x, M_LN2);
  return exp_of({n, r, fma(part, 0x1.abc9e3b39803fp-56, fma(part, c(x, M_LN2), -r))});
}

// (exp(x) - 1) 2^-shift for -38 <= x and results below 2^1024, accurate near 0.
X part_of_expm1(X x, int shift) {
  const Reduced64 a = reduce_f64(x);
  const X s = two_to_f64(a.n, -shift);
  return fma(s, expm1_of(a), s - c(x, std::ldexp(1.0, -shift)));
}

X expm1_f64(X x) {
  const X half = part_of_expm1(clamp(x, -38.0, 710.0), 1);
  return select(lt(abs(x), 0x1p-54), x, half + half);  // keeps -0 and denormals
}

X tanh_f64(X x) {
  const X y = at_most(abs(x), 22), half = part_of_expm1(y + y, 1);
  // Where t is above a half, it is right without more, and 1 - t has few digits.
  const auto inverse = [&](X t) { return select(lt(c(x, 1), half), c(x, 0), c(x, 1) - t); };
  return copysign(over_one_and(half, half, inverse), x);
}

// With q = (exp(a) - 1) / 8 and e = exp(a) / 8 they are four times q + q / (8 q + 1) and e + 1 / (64 e): so long as the
// result is a number, so are these.
X sinh_f64(X x) {
  const X a = abs(x), q = part_of_expm1(at_most(a, 711.0), 3);
  return select(lt(a, 0x1p-54), x, copysign(c(x, 4) * (q + q / fma(q, 8.0, 1.0)), x));  // keeps denormals
}

X cosh_f64(X x) {
  const X e = part_of_expm1(at_most(abs(x), 711.0), 3) + c(x, 0.125);
  return c(x, 4) * (e + c(x, 0x1p-6) / e);
}

// exp(a) / 2 up to the overflow of cosh; half of it would still be a number. a >= 0.
X half_exp(X a) {
  const Reduced s = reduce_exp(at_most(a, 90.0));
  const X p = polynomial(s.r, {2.0, 2.0, 0.9999998807907104, 0.33333030343055725, 0.08333691209554672,
                               0.016738837584853172, 0.0027626287192106247});
  return p * power_of_two(s.rounded, -2);
}

X sinh_f32(X x) {
  const X a = abs(x), e = half_exp(a), z = a * a;
  const X small = fma(z * a, polynomial(z, {0.1666671633720398, 0.008330283686518669, 0.00020372211292851716}), a);
  return with_sign(select(lt(a, 1.0), small, e - c(x, 0.25) / e), x);
}

X cosh_f32(X x) {
  const X e = half_exp(abs(x));
  return e + c(x, 0.25) / e;
}

// 2^(n + offset) of the low bits of an i32.
X two_to(X n, int offset) { return bitcast(shl(n, 23) + n.dag->integer((127 + offset) << 23, DType::i32), DType::f32); }

}  // namespace

X at_most(X x, double limit) { return select(lt(c(x, limit), x), c(x, limit), x); }

X Scale::operator()(X x) const { return x * first * second; }

Scale split_scale(X rounded) {
  const X n = bitcast(rounded, DType::i32);
  const int32_t zero = std::bit_cast<int32_t>(static_cast<float>(kRound));  // the bits of n = 0
  const X most = n.dag->integer(zero + 103, DType::i32), part = select(n.dag->binary(Opcode::lt, most, n), most, n);
  return {two_to(part, 24), two_to(n - part, -24)};
}

X exp2_slope(X r) {
  return polynomial(r, {0.6931471824645996, 0.24022647738456726, 0.05550329387187958, 0.009618449956178665,
                        0.0013400170719251037, 0.0001535231276648119});
}
X exp2_core(X r) { return fma(exp2_slope(r), r, 1.0); }

Reduced reduce_exp(X x) {
  const X rounded = fma(x, 1.4426950408889634, kRound), n = rounded - c(x, kRound);
  // ln 2 in two parts, the first short enough that n times it is exact.
  const X r = fma(n, -0x1.62e4p-1, x);
  return {rounded, fma(n, -0x1.7f7d1cp-20, r)};
}

X power_of_two(X rounded, int offset) { return two_to(bitcast(rounded, DType::i32), offset); }

Reduced64 reduce_f64(X x) {
  const X n = fma(x, 0x1.71547652b82fep0, kRound64) - c(x, kRound64), near = fma(n, -0x1.62e42fefa3p-1, x);  // exact
  const X r = fma(n, -0x1.3de6af278ece6p-42, near);
  return {n, r, fma(n, -0x1.3de6af278ece6p-42, near - r)};
}

X two_to_f64(X n, int offset) {
  const X b = bitcast(n + c(n, kRound64), DType::u64);
  return bitcast(shl(b, 52) + bits(b, static_cast<uint64_t>(1023 + offset) << 52), DType::f64);
}

X expm1_tail(const Reduced64& reduced) {
  const X r = reduced.r;
  const X q = polynomial(r, {0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333325544, 0.0013888888888883327,
                             0.00019841269876864356, 2.4801587327007187e-05, 2.755725283351691e-06,
                             2.75572718102198e-07, 2.5106274733573296e-08, 2.0915442297780116e-09});
  return fma(r * r, q, reduced.rest);
}

X times_two_to(X x, X n) {
  const X part = at_most(n, 970);  // two powers, as those of Scale
  return x * two_to_f64(part, 53) * two_to_f64(n - part, -53);
}

X exp_of(const Reduced64& a) { return times_two_to(expm1_of(a) + c(a.r, 1), a.n); }

X exp(X x) { return is_f32(x) ? exp_f32(x) : exp_f64(x); }
X exp2(X x) { return is_f32(x) ? exp2_f32(x) : exp2_f64(x); }
X expm1(X x) { return is_f32(x) ? expm1_f32(x) : expm1_f64(x); }
X tanh(X x) { return is_f32(x) ? tanh_f32(x) : tanh_f64(x); }
X sinh(X x) { return is_f32(x) ? sinh_f32(x) : sinh_f64(x); }
X cosh(X x) { return is_f32(x) ? cosh_f32(x) : cosh_f64(x); }
X sigmoid(X x) {
  const X e = exp(-abs(x));
  return over_one_and(e, select(lt(x, 0.0), e, c(x, 1)), [&](X) { return c(x, 0.75); });
}

}  // namespace neap::scalar::m
