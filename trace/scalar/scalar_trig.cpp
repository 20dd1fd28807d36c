// Trigonometric functions of f32. Polynomials: tools/fit_math.py.
#include <cmath>
#include <numbers>

#include "trace/scalar/scalar_trig_f64.h"

namespace neap::scalar::m {
namespace {

// x = (quadrant / 4 + part) * 2 pi + whole turns, |part| <= 1/8; the quadrant stands in the low bits.
struct Turns {
  X quadrant;  // u32
  X part;      // f64
};

// For every f32 x >= 0, to 2^-54 turns, which leaves 23 good bits of the part nearest to zero that occurs. As of Payne
// and Hanek: x >= 2^a is a multiple of 2^(a - 23), so bits of 1 / (2 pi) above 2^(23 - a) only add whole turns, and the
// two doubles below them suffice. They are chosen by select: four windows cover the range without a branch.
Turns reduce_turns(X x) {
  struct Window {
    double from, high, low;
  };
  static constexpr Window kWindows[] = {{0x1p53, -0x1.b1bbead603d8bp-34, 0x1.f47d4d377036ep-88},
                                        {0x1p81, 0x1.4fe13abe8fa9ap-61, 0x1.bb81b6c52b328p-115},
                                        {0x1p109, 0x1.f47d4d377036ep-88, -0x1.d6a66c3bc6fbep-142}};
  const X y = convert(x, DType::f64);
  X high = c(y, 0x1.45f306dc9c883p-3), low = c(y, -0x1.6b01ec5417056p-57);
  for (const Window& w : kWindows) {
    const X below = lt(y, w.from);
    high = select(below, high, c(y, w.high));
    low = select(below, low, c(y, w.low));
  }
  const X product = y * high;
  const X rest = fma(y, low, fma(y, high, -product));
  const X turns = (product - rint(product)) + rest;
  const X round = c(y, 0x1.8p52), quarters = fma(turns, c(y, 4), round) - round;
  const X quadrant = bitcast(convert(quarters, DType::f32) + c(x, 0x1.8p23), DType::u32);
  return {quadrant, fma(quarters, c(y, -0.25), turns)};
}

// sin of the angle that is `shift` quadrants further.
X sine(Turns t, int shift) {
  const X a = convert(t.part * c(t.part, 2 * std::numbers::pi), DType::f32), z = a * a;
  const X s = fma(z * a, polynomial(z, {-0.16666655242443085, 0.008332173340022564, -0.00019516656175255775}), a);
  const X k = polynomial(z, {1.0, -0.5, 0.04166661947965622, -0.0013886672677472234, 2.4382721676374786e-05});
  const X n = t.quadrant + c(t.quadrant, shift);
  const X sign = shl(n & c(n, 2), 30);
  return bitcast(bitcast(select(is_odd(n), k, s), DType::u32) ^ sign, DType::f32);
}

X sin_f32(X x) { return with_sign_of(sine(reduce_turns(abs(x)), 0), x); }
X cos_f32(X x) { return sine(reduce_turns(abs(x)), 1); }

// In f64: the errors of an f32 sine, cosine and quotient would add up.
X tan_f32(X x) {
  const Turns t = reduce_turns(abs(x));
  const X a = t.part * c(t.part, 2 * std::numbers::pi), z = a * a;
  const X p = fma(z * a,
                  polynomial(z, {0.33333349227905273, 0.13332653045654297, 0.05406107008457184, 0.021276043727993965,
                                 0.010852202773094177, 6.818723340984434e-05, 0.0043870797380805016}),
                  a);
  const X odd = is_odd(t.quadrant);
  const X quotient = select(odd, c(p, -1), p) / select(odd, p, c(p, 1));
  return with_sign_of(convert(quotient, DType::f32), x);
}

// atan of 0 <= t <= 1.
X atan_core(X t) {
  const X z = t * t;
  return fma(z * t,
             polynomial(z, {-0.33333298563957214, 0.19998548924922943, -0.14264242351055145, 0.10952186584472656,
                            -0.0840345174073173, 0.05795761197805405, -0.031177863478660583, 0.010914615355432034,
                            -0.0017936239019036293}),
             t);
}

X atan_f32(X x) {
  const X a = abs(x), one = c(x, 1), beyond = lt(one, a);
  const X p = atan_core(select(beyond, one / a, a));
  return with_sign_of(select(beyond, c(x, std::numbers::pi / 2) - p, p), x);
}

X atan2_f32(X y, X x) {
  const X a = abs(y), b = abs(x), zero = c(x, 0), one = c(x, 1), pi = c(x, std::numbers::pi);
  const X steep = lt(b, a);
  const X quotient = select(steep, b, a) / select(steep, a, b);
  // 0 / 0 is 0 and infinity / infinity is 1 here; NaN stays.
  const X t = select(eq(a, b), select(eq(a, zero), zero, one), quotient);
  const X p = atan_core(t), q = select(steep, c(x, std::numbers::pi / 2) - p, p);
  const X behind = lt(bitcast(x, DType::i32), x.dag->integer(0, DType::i32));
  return with_sign_of(select(ne(x, x), x, select(behind, pi - q, q)), y);
}

// asin(t) = t + t z P(z), z = t^2 <= 1/4.
X asin_core(X t, X z) {
  return fma(z * t,
             polynomial(z, {0.16666753590106964, 0.07495252788066864, 0.04547654837369919, 0.02414664439857006,
                            0.04222596064209938}),
             t);
}

// Beyond 1/2: asin(x) = pi / 2 - 2 asin(sqrt((1 - x) / 2)).
struct Asin {
  X beyond, core;
};
Asin asin_reduced(X a) {
  const X half = c(a, 0.5), beyond = lt(half, a);
  const X z = select(beyond, fma(a, -0.5, 0.5), a * a);
  return {beyond, asin_core(select(beyond, sqrt(z), a), z)};
}

X asin_f32(X x) {
  const auto [beyond, p] = asin_reduced(abs(x));
  // pi / 2 in two parts: the difference with the first is mostly exact.
  const X far = fma(p, -2.0, std::numbers::pi / 2) + c(x, -0x1.777a5cp-25);
  return with_sign_of(select(beyond, far, p), x);
}

X acos_f32(X x) {
  const auto [beyond, p] = asin_reduced(abs(x));
  const X negative = lt(x, 0.0), twice = p + p;
  const X far = select(negative, c(x, std::numbers::pi) - twice, twice);
  return select(beyond, far, c(x, std::numbers::pi / 2) - with_sign_of(p, x));
}

bool is_f32(X x) { return x.type() == DType::f32; }

}  // namespace

X sin(X x) { return is_f32(x) ? sin_f32(x) : sin_f64(x); }
X cos(X x) { return is_f32(x) ? cos_f32(x) : cos_f64(x); }
X tan(X x) { return is_f32(x) ? tan_f32(x) : tan_f64(x); }
X asin(X x) { return is_f32(x) ? asin_f32(x) : asin_f64(x); }
X acos(X x) { return is_f32(x) ? acos_f32(x) : acos_f64(x); }
X atan(X x) { return is_f32(x) ? atan_f32(x) : atan_f64(x); }
X atan2(X y, X x) { return is_f32(x) ? atan2_f32(y, x) : atan2_f64(y, x); }

}  // namespace neap::scalar::m
