// Logarithms. x = 2^n m with m in [sqrt(1/2), sqrt(2)): log(x) = n log(2) + log(m). Polynomials: tools/fit_math.py.
#include "trace/scalar/scalar_log.h"

#include <cmath>

#include "trace/scalar/scalar_math.h"

namespace neap::scalar::m {
namespace {

struct Split {
  X n, r;  // r = m - 1, exact
};

// The integer 2^23 n of a positive normal x.
X exponent_bits(X x) {
  const X b = bitcast(x, DType::i32);
  return (b - bits(b, 0x3f3504f3)) & bits(b, 0xff800000);
}

// Of x > 0, denormals included.
Split split(X x) {
  const X tiny = lt(x, 0x1p-126);
  const X y = select(tiny, x * c(x, 0x1p24), x), e = exponent_bits(y);
  const X r = bitcast(bitcast(y, DType::i32) - e, DType::f32) - c(x, 1);
  return {fma(convert(e, DType::f32), c(x, 0x1p-23), select(tiny, c(x, -24), c(x, 0))), r};
}

// `result`, or the logarithm of zero, infinity, negative numbers and NaN.
X with_specials(X x, X result) {
  const X outside = select(eq(x, c(x, 0)), c(x, -HUGE_VAL), c(x, NAN));
  return select(lt(c(x, 0), x), select(lt(x, HUGE_VAL), result, x), outside);
}

// log(1 + r) = r + r^2 g(r), to 2^-25 relative.
X log_mantissa(X r) {
  const X g = polynomial(r, {-0.49999991059303284, 0.33333951234817505, -0.25001755356788635, 0.19962069392204285,
                             -0.16570501029491425, 0.14917992055416107, -0.14307574927806854, 0.08734848350286484});
  return fma(r * r, g, r);
}

X log_f32(X x) {
  const auto [n, r] = split(x);
  return with_specials(x, fma(n, M_LN2, log_mantissa(r)));
}

X log2_f32(X x) {
  const auto [n, r] = split(x);
  const X p = polynomial(
      r, {1.4426950216293335, -0.7213473320007324, 0.4808982312679291, -0.3606966435909271, 0.2885673940181732,
          -0.23961740732192993, 0.20460063219070435, -0.1910627782344818, 0.18617495894432068, -0.10994954407215118});
  return with_specials(x, fma(p, r, n));
}

X log10_f32(X x) {
  const auto [n, r] = split(x);
  const X p = polynomial(
      r, {0.4342944920063019, -0.21714718639850616, 0.14476479589939117, -0.10858050733804703, 0.08686744421720505,
          -0.07213202863931656, 0.061590924859046936, -0.05751562491059303, 0.05604424700140953, -0.03309810906648636});
  // log10(2) in two parts; the first has few enough bits that n times it is exact.
  return with_specials(x, fma(n, 0x1.344p-2, fma(p, r, n * c(x, 0x1.3509f8p-18))));
}

// With u = 1 + x = 2^n m: m - 1 = 2^-n x + (2^-n - 1), which loses nothing of x.
X log1p_f32(X x) {
  const X u = c(x, 1) + x, e = exponent_bits(u);
  const X inverse = bitcast(bits(e, 0x3f800000) - e, DType::f32);
  const X exact = fma(x, inverse, inverse - c(x, 1));
  const X far = bitcast(bitcast(u, DType::i32) - e, DType::f32) - c(x, 1);  // inverse would be denormal
  const X n = convert(e, DType::f32) * c(x, 0x1p-23);
  const X y = with_specials(u, fma(n, M_LN2, log_mantissa(select(lt(x, 0x1p64), exact, far))));
  return select(lt(abs(x), 0x1p-25), x, y);  // keeps -0 and denormals
}

bool is_f32(X x) { return x.type() == DType::f32; }

// The same of f64, whose exponent goes from bits to a number by way of a mantissa.
constexpr double kLog10Two = 0x1.34413509f6p-2, kLog10TwoLow = 0x1.9fef311f12b36p-42;
constexpr double kLog10E = 0x1.bcb7b1526e50ep-2, kLog10ELow = 0x1.95355baaafad3p-57;
constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000;

struct Split64 {
  X power, n, r;  // the bits n + 1023
};
Split64 split_f64(X x) {
  const X b = bitcast(x, DType::u64), shifted = b + bits(b, kOne - kSqrtHalf), power = shr(shifted, 52);
  const X mantissa = (shifted & bits(b, 0x000fffffffffffff)) + bits(b, kSqrtHalf);
  const X n = bitcast(power | bits(b, 0x4330000000000000), DType::f64) - c(x, 0x1p52 + 1023);
  return {power, n, bitcast(mantissa, DType::f64) - c(x, 1)};
}

// log(1 + r): with s = r / (2 + r) it is 2 s + s R(s^2), and 2 s = r - s r (Tang 1990): r - half + s tail.
struct Mantissa64 {
  X s, half, tail;
};
Mantissa64 log_mantissa_f64(X r) {
  const X s = r / (c(r, 2) + r), z = s * s, half = c(r, 0.5) * r * r;
  const X rest = z * polynomial(z, {0.666666666666667, 0.3999999999989322, 0.28571428628810996, 0.22222210674238516,
                                    0.18182922513515942, 0.15330617306743305, 0.1463003136412286});
  return {s, half, half + rest};
}

// n ln(2) + log(1 + r).
X log_of_parts(X n, X r) {
  const auto [s, half, tail] = log_mantissa_f64(r);
  // ln(2) in two parts; the first has few enough bits that n times it is exact.
  const X low = fma(s, tail, n * c(r, 0x1.a39ef35793c76p-33));
  return fma(n, 0x1.62e42feep-1, r - (half - low));
}

// Of x > 0, denormals included.
Split split_any_f64(X x) {
  const X tiny = lt(x, 0x1p-1022);
  const auto [power, n, r] = split_f64(select(tiny, x * c(x, 0x1p54), x));
  return {n + select(tiny, c(x, -54), c(x, 0)), r};
}

X log_f64(X x) {
  const auto [n, r] = split_any_f64(x);
  return with_specials(x, log_of_parts(n, r));
}

X log2_f64(X x) {
  const auto [n, r] = split_any_f64(x);
  return with_specials(x, fma(log_of_parts(c(x, 0), r), M_LOG2E, n));
}

// What is rounded away on the way is added at the end, so that powers of ten have whole logarithms.
X log10_f64(X x) {
  const auto [n, r] = split_any_f64(x);
  const auto [s, half, tail] = log_mantissa_f64(r);
  const X near = r - half, half_low = fma(c(r, 0.5) * r, r, -half), more = s * tail;
  const X log = near + more, log_low = (((r - near) - half) - half_low) + (more - (log - near));
  // log10(2) and log10(e) in two parts each; n times the first of log10(2) is exact.
  const X part = log * c(x, kLog10E), whole = n * c(x, kLog10Two), sum = whole + part;
  const X low = fma(log, c(x, kLog10E), -part) + fma(log, c(x, kLog10ELow), log_low * c(x, kLog10E));
  return with_specials(x, sum + ((part - (sum - whole)) + fma(n, c(x, kLog10TwoLow), low)));
}

X log1p_f64(X x) {
  const X u = c(x, 1) + x;
  const auto [power, n, far] = split_f64(u);
  const X inverse = bitcast(shl(bits(power, 2046) - power, 52), DType::f64);
  const X exact = fma(x, inverse, inverse - c(x, 1));
  const X y = with_specials(u, log_of_parts(n, select(lt(x, 0x1p512), exact, far)));
  return select(lt(abs(x), 0x1p-54), x, y);  // keeps -0 and denormals
}

}  // namespace

Sum exact_sum(X large, X small) {
  const X high = large + small;
  return {high, small - (high - large)};
}

// As log_of_parts, 2 s (1 + z (1/3 + z q(z))), but all that is not below 2^-63 of it has a second part. Polynomial:
// tools/fit_math.py.
Sum log2_in_parts(X x) {
  const auto [n, r] = split_any_f64(x);
  const auto [under, under_low] = exact_sum(c(x, 2), r);
  const X inverse = c(x, 1) / under, s = r * inverse;
  const X s_low = fma(-s, under_low, fma(-s, under, r)) * inverse;
  const X z = s * s, z_low = fma(s, s, -z) + (s + s) * s_low;
  const X tail =
      z * polynomial(z, {0.2, 0.14285714285714712, 0.1111111111081038, 0.09090909171658063, 0.07692297060063184,
                         0.06667425141273557, 0.05852510783769314, 0.05867909427756484});
  const auto [third, third_low] = exact_sum(c(x, 1.0 / 3), tail);
  const X w = z * third, w_low = fma(z, third, -w) + fma(z, third_low + c(x, 0x1.5555555555555p-56), z_low * third);
  const X u = s * w, u_low = fma(s, w, -u) + fma(s, w_low, s_low * w);
  const auto [log, rest] = exact_sum(s, u);
  const X log_low = rest + (s_low + u_low);
  const X two = c(x, 2 * M_LOG2E), part = log * two;
  const X part_low = fma(log, two, -part) + fma(log, c(x, 0x1.777d0ffda0d24p-55), log_low * two);
  const auto [high, low] = exact_sum(n, part);
  return {high, low + part_low};
}

X log(X x) { return is_f32(x) ? log_f32(x) : log_f64(x); }
X log2(X x) { return is_f32(x) ? log2_f32(x) : log2_f64(x); }
X log10(X x) { return is_f32(x) ? log10_f32(x) : log10_f64(x); }
X log1p(X x) { return is_f32(x) ? log1p_f32(x) : log1p_f64(x); }

}  // namespace neap::scalar::m
