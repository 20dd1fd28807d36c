// The inverse hyperbolic functions, by the logarithm of 1 + y for a y that keeps its digits near 0.
#include <cmath>

#include "trace/scalar/scalar_math.h"

namespace neap::scalar::m {
namespace {

// From here on x^2 + 1 is x^2, and far from where squares overflow.
double far_out(X x) { return x.type() == DType::f32 ? 0x1p60 : 0x1p500; }

// log(1 + near), or log(2 a) where a is far out.
X log_near_or_far(X a, X near) {
  const X far = lt(c(a, far_out(a)), a);
  return log1p(select(far, a, near)) + select(far, c(a, M_LN2), c(a, 0));
}

}  // namespace

X asinh(X x) {
  const X a = abs(x), square = a * a;
  return copysign(log_near_or_far(a, a + square / (c(x, 1) + sqrt(square + c(x, 1)))), x);
}

X acosh(X x) {
  const X t = x - c(x, 1), result = log_near_or_far(x, t + sqrt(fma(t, t, t + t)));
  return select(lt(x, 1.0), c(x, NAN), result);
}

// 2 a / (1 - a), of which small ones have more digits as 2 a + 2 a^2 / (1 - a).
X atanh(X x) {
  const X a = abs(x), twice = a + a, small = lt(a, 0.5);
  const X rest = select(small, twice * a, twice) / (c(x, 1) - a);
  return copysign(log1p(select(small, twice, c(x, 0)) + rest) * c(x, 0.5), x);
}

}  // namespace neap::scalar::m
