// Parts of the f32 exponentials, for the functions built on them.
#pragma once

#include "trace/scalar.h"

namespace neap::scalar::m {

/// x = n ln 2 + r, |r| <= ln(2) / 2 and a little; n stands in the low mantissa bits of `rounded`. For |x| < 2^20.
struct Reduced {
  X rounded, r;
};
Reduced reduce_exp(X x);

/// 2^(n + offset), for results between 2^-126 and 2^127, and infinity for 2^128.
X power_of_two(X rounded, int offset);

/// (exp(x) - 1) / 2 for -18 <= x < 89.4, accurate near 0 down to denormals.
X half_expm1(X x);

}  // namespace neap::scalar::m
