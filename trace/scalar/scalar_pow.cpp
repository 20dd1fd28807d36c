// Powers and roots. For f32 they compute in f64 where f32 has too few digits, still without calls.
#include <cmath>

#include "trace/scalar/scalar_exp.h"
#include "trace/scalar/scalar_log.h"
#include "trace/scalar/scalar_math.h"

namespace neap::scalar::m {
namespace {

// log2 of 0 <= a, in f64, to 2^-35 relative; NaN stays. Polynomial: tools/fit_math.py.
X log2_in_f64(X a) {
  const X tiny = lt(a, 0x1p-126), y = bitcast(select(tiny, a * c(a, 0x1p24), a), DType::i32);
  const X e = (y - bits(y, 0x3f3504f3)) & bits(y, 0xff800000);
  const X n = fma(convert(e, DType::f32), c(a, 0x1p-23), select(tiny, c(a, -24), c(a, 0)));
  const X r = convert(bitcast(y - e, DType::f32) - c(a, 1), DType::f64);
  const X p = polynomial(
      r, {1.442695040868713, -0.7213475208686955, 0.48089836139420633, -0.3606736748355773, 0.28853729354031543,
          -0.2404531653055057, 0.20617535769170958, -0.18030060556801916, 0.15876982437916035, -0.14315643757655033,
          0.1447483175717302, -0.14283934368257906, 0.07737058856761707});
  const X log = fma(p, r, convert(n, DType::f64)), wide = convert(a, DType::f64);
  return select(eq(wide, c(wide, 0)), c(wide, -HUGE_VAL), select(lt(wide, HUGE_VAL), log, wide));
}

// The result of C's pow where |x|^y is `magnitude`: its sign, and the special cases.
X with_pow_specials(X x, X y, X magnitude) {
  const X a = abs(x), one = c(x, 1), zero = c(x, 0), half = y * c(y, 0.5);
  const X whole = eq(rint(y), y), odd = whole & ne(rint(half), half);
  const DType bits = x.type() == DType::f32 ? DType::i32 : DType::i64;
  const X negative = lt(bitcast(x, bits), x.dag->integer(0, bits));
  X result = select(negative & odd, -magnitude, magnitude);
  result = select(lt(x, 0.0) & lt(c(x, -HUGE_VAL), x) & bit_not(whole), c(x, NAN), result);
  const X always_one = eq(x, one) | eq(y, zero) | (eq(a, one) & eq(abs(y), c(y, HUGE_VAL)));
  return select(always_one, one, result);
}

X pow_f32(X x, X y) {
  const X a = abs(x);
  const X exact = convert(y, DType::f64) * log2_in_f64(a), round = c(exact, 0x1.8p52);
  const X t = at_most(select(lt(exact, -151.0), c(exact, -151), exact), 200.0), n = (t + round) - round;
  const X magnitude = split_scale(convert(n, DType::f32) + c(x, kRound))(exp2_core(convert(t - n, DType::f32)));
  return with_pow_specials(x, y, magnitude);
}

// 2^(y log2(x)), both in two parts.
X pow_f64(X x, X y) {
  const X a = abs(x);
  const auto [log, log_low] = log2_in_parts(a);
  const X ordinary = lt(c(x, 0), a) & lt(a, HUGE_VAL);
  const X edge = select(eq(a, c(x, 0)), c(x, -HUGE_VAL), a);  // log2 of 0, infinity and NaN
  const X exact = y * select(ordinary, log, edge);
  const X t = at_most(select(lt(exact, -1076.0), c(x, -1076), exact), 1025.0);
  const X low = select(eq(t, exact) & ordinary, fma(y, log, -exact) + y * log_low, c(x, 0));
  const X n = (t + c(x, kRound64)) - c(x, kRound64);
  const auto [part, part_low] = exact_sum(t - n, low);
  const X r = part * c(x, M_LN2);
  const X rest = fma(part, 0x1.abc9e3b39803fp-56, fma(part, c(x, M_LN2), -r)) + part_low * c(x, M_LN2);
  const auto [power, lost] = exact_sum(c(x, 1), r);  // a part of an ulp, which C's pow has, too
  return with_pow_specials(x, y, times_two_to(power + (lost + expm1_tail({n, r, rest})), n));
}

// A third of the bits is a third of the exponent: within 4 %. Two steps of Halley's method, each of which triples the
// digits.
X cbrt_f32(X x) {
  // Scaled, so that 3 y is a number and y is not denormal.
  const X a = abs(x), tiny = lt(a, 0x1p-120), y = a * select(tiny, c(x, 0x1p24), c(x, 0x1p-3));
  const X third = x.dag->binary(Opcode::mulhi, bitcast(y, DType::u32), x.dag->integer(0x55555556, DType::u32));
  const X start = bitcast(third + x.dag->integer(0x2a514067, DType::u32), DType::f32);
  auto halley = [](X t, X y) {
    const X cube = t * t * t, two = c(t, 2);
    return t * (fma(two, y, cube) / fma(two, cube, y));
  };
  const X t = halley(convert(halley(start, y), DType::f64), convert(y, DType::f64));
  const X root = convert(t, DType::f32) * select(tiny, c(x, 0x1p-8), c(x, 2));
  const X ordinary = lt(c(x, 0), a) & lt(a, HUGE_VAL);
  return select(ordinary, copysign(root, x), x);
}

// As that of f32, but the upper half of the bits is divided by three as a number.
X cbrt_f64(X x) {
  const X a = abs(x), tiny = lt(a, 0x1p-1000), y = a * select(tiny, c(x, 0x1p54), c(x, 0x1p-3));
  const X upper = shr(bitcast(y, DType::u64), 32);
  const X number = bitcast(upper | bits(upper, 0x4330000000000000), DType::f64) - c(x, 0x1p52);
  const X third = bitcast(fma(number, 1.0 / 3, 0x1p52 + 715094163), DType::u64);
  const X start = bitcast(shl(third, 32), DType::f64);
  auto halley = [](X t, X y) {
    const X cube = t * t * t, two = c(t, 2);
    return fma(t, (y - cube) / fma(two, cube, y), t);
  };
  const X root = halley(halley(halley(start, y), y), y) * select(tiny, c(x, 0x1p-18), c(x, 2));
  const X ordinary = lt(c(x, 0), a) & lt(a, HUGE_VAL);
  return select(ordinary, copysign(root, x), x);
}

// Scaled by a power of two where squares would not be numbers, or few digits: below one limit and above the other.
X hypot_scaled(X x, X y, double low, double high, double up, double down) {
  const X a = abs(x), b = abs(y), swap = lt(a, b), most = select(swap, b, a);
  const X large = lt(c(x, high), most), small = lt(most, low);
  const X scale = select(large, c(x, down), select(small, c(x, up), c(x, 1)));
  const X back = select(large, c(x, 1 / down), select(small, c(x, 1 / up), c(x, 1)));
  const X p = most * scale, q = select(swap, a, b) * scale;
  return select(isinf(x) | isinf(y), c(x, HUGE_VAL), sqrt(fma(p, p, q * q)) * back);  // though the other be NaN
}

X hypot_f32(X x, X y) { return hypot_scaled(x, y, 0x1p-50, 0x1p60, 0x1p100, 0x1p-70); }
X hypot_f64(X x, X y) { return hypot_scaled(x, y, 0x1p-450, 0x1p510, 0x1p600, 0x1p-600); }

bool is_f32(X x) { return x.type() == DType::f32; }

}  // namespace

X pow(X x, X y) { return is_f32(x) ? pow_f32(x, y) : pow_f64(x, y); }
X cbrt(X x) { return is_f32(x) ? cbrt_f32(x) : cbrt_f64(x); }
X hypot(X x, X y) { return is_f32(x) ? hypot_f32(x, y) : hypot_f64(x, y); }
X rsqrt(X x) { return c(x, 1) / sqrt(x); }

}  // namespace neap::scalar::m
