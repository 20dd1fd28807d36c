// Integrals to one side of a point by Gauss' and Legendre's rule with a fixed number of nodes: no loop, and exact
// enough because the integrands are analytic and the interval ends where they have fallen by the dtype's precision. The
// nodes are an axis that is summed over, which is a small kernel where nodes one by one would be a large one.
#pragma once

#include "trace/library/special_common.h"

namespace neap::tracing {

/// Returns exp(x) - 1 - x, by Taylor's series where `near`, which says that |x| < 1/2.
Array exp_rest(const Array& x, const Array& near);

/// Returns how far the exponent of an integrand may fall: what lies beyond is less than half a unit in the last place.
double depth(DType dtype);

/// Returns the integral over [0, 1] of f, which takes nodes along an axis before those of `shape` (12 in f32, 24 in
/// f64) and gives its values there.
Array gauss_legendre(const Shape& shape, DType dtype, const std::function<Array(const Array&)>& f);

/// Returns the integral of exp(side * a v - x (exp(side * v) - 1)) over v > 0: of t^(a - 1) exp(-t), t from x to
/// infinity (side 1) or from 0 to x (side -1), divided by x^a exp(-x). Needs x >= 0.4 and a <= max(1, x) where side is
/// 1, and a
/// >= 4, x <= a where it is -1. Derivatives of every order in a and x are the true ones.
Array tail_integral(const Array& a, const Array& x, const Array& side);

}  // namespace neap::tracing
