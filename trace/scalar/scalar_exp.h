// Parts of the f32 exponentials, for the functions built on them.
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

/// Returns x, at most `limit`; NaN stays.
X at_most(X x, double limit);

}  // namespace neap::scalar::m
