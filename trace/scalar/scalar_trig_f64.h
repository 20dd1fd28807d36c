// Trigonometric functions of f64, of instructions; but sin, cos and tan from 2^30 on, which the C library computes.
#pragma once

#include "trace/scalar/scalar_math.h"

namespace neap::scalar::m {

/// Returns 1 where bit 0 of an integer is set.
X is_odd(X n);
/// Returns y, of the other sign where x is negative or -0.
X with_sign_of(X y, X x);

X sin_f64(X x);
X cos_f64(X x);
X tan_f64(X x);
X asin_f64(X x);
X acos_f64(X x);
X atan_f64(X x);
X atan2_f64(X y, X x);

}  // namespace neap::scalar::m
