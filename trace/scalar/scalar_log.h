// Parts of the logarithms of f64, for the functions built on them.
#pragma once

#include "trace/scalar/scalar.h"

namespace neap::scalar::m {

/// Sum is a number as the sum of two, of which the second is below an ulp of the first.
struct Sum {
  X high, low;
};
/// Returns the exact sum, for |large| >= |small| or large = 0; else one that lacks less than an ulp of small.
Sum exact_sum(X large, X small);

/// Returns log2(x) of 0 < x < infinity, f64, to 2^-63 relative.
Sum log2_in_parts(X x);

}  // namespace neap::scalar::m
