// Trigonometric functions of f64. Polynomials: tools/fit_math.py.
#include "trace/scalar/scalar_trig_f64.h"

#include <numbers>

#include "trace/scalar/scalar_exp.h"
#include "trace/scalar/scalar_log.h"

namespace neap::scalar::m {
namespace {

// pi / 2 in three parts, of 53 bits each.
constexpr double kQuarter = 0x1.921fb54442d18p0, kQuarter2 = 0x1.1a62633145c07p-54, kQuarter3 = -0x1.f1976b7ed8fbcp-110;
// From here on the C library reduces the argument. Below, the product of a quadrant with the first part of pi / 2
// differs from it by a number of 53 bits.
constexpr double kFar = 0x1p30;

// a = quadrant pi / 2 + part, |part| <= pi / 4 and a little, for 0 <= a < kFar; the quadrant stands in the low bits.
struct Quadrants {
  X quadrant;  // u64
  Sum part;
};
Quadrants reduce_quadrants(X a) {
  const X n = fma(a, 2 / std::numbers::pi, kRound64) - c(a, kRound64);
  const X near = fma(n, c(a, -kQuarter), a), product = n * c(a, kQuarter2);  // near is exact
  const X high = near - product, taken = high - near;
  const X lost = (near - (high - taken)) - (product + taken);
  const X low = fma(n, c(a, -kQuarter3), lost - fma(n, c(a, kQuarter2), -product));
  return {bitcast(n + c(a, kRound64), DType::u64), {high, low}};
}

Sum sine_of(const Sum& part) {
  const X r = part.high, z = r * r;
  const X p = polynomial(z, {-0.16666666666666666, 0.008333333333330946, -0.0001984126983675497, 2.755731610068303e-06,
                             -2.5051131455427946e-08, 1.591810123027412e-10});
  return exact_sum(r, fma(z * r, p, fma(z * c(z, -0.5), part.low, part.low)));
}

Sum cosine_of(const Sum& part) {
  const X r = part.high, z = r * r, half = z * c(z, 0.5), near = c(z, 1) - half;
  const X p = polynomial(z, {0.041666666666666664, -0.0013888888888887395, 2.4801587298763433e-05,
                             -2.7557317270560326e-07, 2.0876146024689747e-09, -1.1382614868556325e-11});
  return exact_sum(near, ((c(z, 1) - near) - half) + fma(z * z, p, -(r * part.low)));
}

X flipped(X y, X sign) { return bitcast(bitcast(y, DType::u64) ^ sign, DType::f64); }
X sign_bit(X x) { return bitcast(x, DType::u64) & bits(bitcast(x, DType::u64), uint64_t{1} << 63); }

// sin of the angle that is `shift` quadrants further.
X sine(X a, int shift) {
  const auto [quadrant, part] = reduce_quadrants(a);
  const X n = quadrant + c(quadrant, shift);
  return flipped(select(is_odd(n), cosine_of(part).high, sine_of(part).high), shl(n & c(n, 2), 62));
}

X near_or_far(Function function, X x, X near) {
  const X is_near = lt(abs(x), kFar);
  return select(is_near, near, x.dag->call(function, x, {}, bit_not(is_near)));
}

// t + tail is atan(t) for 0 <= t <= 1.
X atan_tail(X t) {
  const X z = t * t;
  const X p =
      polynomial(z, {-0.3333333333333333,    0.1999999999999753,    -0.14285714285384132,    0.11111111093490827,
                     -0.09090908590891934,   0.07692298971033217,   -0.06666564699289104,    0.05881506877793656,
                     -0.052579733342841106,  0.04737749579527779,   -0.04260356632601652,    0.03749486812535247,
                     -0.031277189066996385,  0.023696731580048622,  -0.015535152475414177,   0.008368931178450162,
                     -0.0034958859739163094, 0.0010496035084968515, -0.00019996189377901382, 1.806195461861215e-05});
  return z * t * p;
}

// pi / 2 - (t + tail).
X from_quarter(X t, X tail) { return c(t, kQuarter) - (t + (tail - c(t, kQuarter2))); }

// asin(a) = core + tail of 0 <= a <= 1/2; beyond pi / 2 - 2 (core + tail), where core is sqrt((1 - a) / 2).
struct Asin {
  X beyond, core, tail;
};
Asin asin_reduced(X a) {
  const X beyond = lt(c(a, 0.5), a), z = select(beyond, fma(a, -0.5, 0.5), a * a);
  const X p = polynomial(
      z, {0.16666666666666669, 0.07499999999998433, 0.04464285714635543, 0.030381944138531247, 0.02237217294214989,
          0.017352392720869973, 0.013971212973552933, 0.011479177415184906, 0.01032281435018578, 0.005457506718640358,
          0.01740087944269402, -0.014851887071247204, 0.028757851367421566});
  const X root = sqrt(z);
  const X rest = fma(-root, root, z) / (root + root + c(a, 0x1p-900));  // of the root, which may be 0
  const X core = select(beyond, root, a);
  return {beyond, core, fma(z * core, p, select(beyond, rest, c(a, 0)))};
}

}  // namespace

X is_odd(X n) { return ne(n & c(n, 1), c(n, 0)); }

X with_sign_of(X y, X x) {
  const DType type = x.type() == DType::f32 ? DType::u32 : DType::u64;
  const X all = bitcast(x, type), sign = all & bits(all, uint64_t{1} << (8 * size_of(type) - 1));
  return bitcast(bitcast(y, type) ^ sign, x.type());
}

X sin_f64(X x) { return near_or_far(Function::sin, x, with_sign_of(sine(abs(x), 0), x)); }
X cos_f64(X x) { return near_or_far(Function::cos, x, sine(abs(x), 1)); }

X tan_f64(X x) {
  const auto [quadrant, part] = reduce_quadrants(abs(x));
  const Sum s = sine_of(part), k = cosine_of(part);
  const X odd = is_odd(quadrant), sign = shl(quadrant & c(quadrant, 1), 63);
  const X over = select(odd, k.high, s.high), over_low = select(odd, k.low, s.low);
  const X under = select(odd, s.high, k.high), under_low = select(odd, s.low, k.low);
  const X inverse = c(x, 1) / under, t = over * inverse;
  const X rest = fma(-t, under, over) + fma(-t, under_low, over_low);
  return near_or_far(Function::tan, x, flipped(fma(rest, inverse, t), sign ^ sign_bit(x)));
}

X atan_f64(X x) {
  const X a = abs(x), one = c(x, 1), beyond = lt(one, a), t = select(beyond, one / a, a), tail = atan_tail(t);
  return with_sign_of(select(beyond, from_quarter(t, tail), t + tail), x);
}

X atan2_f64(X y, X x) {
  const X a = abs(y), b = abs(x), zero = c(x, 0), one = c(x, 1), steep = lt(b, a);
  const X quotient = select(steep, b, a) / select(steep, a, b);
  // 0 / 0 is 0 and infinity / infinity is 1 here; NaN stays.
  const X t = select(eq(a, b), select(eq(a, zero), zero, one), quotient), tail = atan_tail(t);
  const X q = select(steep, from_quarter(t, tail), t + tail);
  const X behind = lt(bitcast(x, DType::i64), x.dag->integer(0, DType::i64));
  const X result = select(behind, c(x, std::numbers::pi) - (q - c(x, 2 * kQuarter2)), q);
  return with_sign_of(select(ne(x, x), x, result), y);
}

X asin_f64(X x) {
  const auto [beyond, core, tail] = asin_reduced(abs(x));
  return with_sign_of(select(beyond, from_quarter(core + core, tail + tail), core + tail), x);
}

X acos_f64(X x) {
  const auto [beyond, core, tail] = asin_reduced(abs(x));
  const X twice = core + core, twice_tail = tail + tail;
  const X behind = c(x, std::numbers::pi) - (twice + (twice_tail - c(x, 2 * kQuarter2)));
  const X far = select(lt(x, 0.0), behind, twice + twice_tail);
  return select(beyond, far, from_quarter(with_sign_of(core, x), with_sign_of(tail, x)));
}

}  // namespace neap::scalar::m
