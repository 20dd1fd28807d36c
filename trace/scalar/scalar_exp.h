// Parts of the exponentials, for the functions built on them.
#pragma once

#include "trace/scalar/scalar.h"

namespace neap::scalar::m {

/// Adding this to |x| < 2^22 rounds it to a whole number, which then sits in the low mantissa bits.
inline constexpr double kRound = 0x1.8p23;

/// Reduced is x = n ln 2 + r, |r| <= ln(2) / 2 and a little; n sits in the low mantissa bits of `rounded`. It holds for
/// |x| < 2^20.
struct Reduced {
  X rounded, r;
};
Reduced reduce_exp(X x);

/// Returns 2^(n + offset), for results between 2^-126 and 2^127, 0 for 2^-127 and infinity for 2^128.
X power_of_two(X rounded, int offset);

/// Scale is 2^n as the product of two powers, so that it reaches from 2^-150 to 2^230: results may be denormal or
/// infinite. For n = -151 the first is 0: a function comes to that where its result is 0, as a product that rounds to 0
/// takes many processors far longer than one with 0, and exponentials of masked scores are full of them.
struct Scale {
  X first, second;
  X operator()(X x) const;
};
Scale split_scale(X rounded);

/// These return (2^r - 1) / r for |r| <= 1/2 and a little, and 2^r within an ulp.
X exp2_slope(X r);
X exp2_core(X r);

/// Adding this to |x| < 2^51 of f64 rounds it to a whole number, which then sits in the low mantissa bits.
inline constexpr double kRound64 = 0x1.8p52;

/// Reduced64 is x = n ln 2 + r + rest of f64, for |x| < 2^11.
struct Reduced64 {
  X n, r, rest;
};
Reduced64 reduce_f64(X x);
/// Returns 2^(n + offset) for a whole n, a normal number or 0 where that is 2^-1023.
X two_to_f64(X n, int offset);
/// Returns exp(r + rest) - 1 - r, to 2^-60.
X expm1_tail(const Reduced64& reduced);
/// Returns x 2^n for 1/2 < x < 2 and a whole n from -1076 to 1025.
X times_two_to(X x, X n);
/// Returns 2^n exp(r + rest).
X exp_of(const Reduced64& reduced);

/// Returns x, at most `limit`; NaN stays.
X at_most(X x, double limit);

}  // namespace neap::scalar::m
