// Functions that go through the C library in f64, whatever their type: correctly rounded in f32 but for rare ties.
#include "trace/scalar_math.h"

namespace neap::scalar::m {

X cbrt(X x) { return through_f64(Function::cbrt, x); }
X sin(X x) { return through_f64(Function::sin, x); }
X cos(X x) { return through_f64(Function::cos, x); }
X tan(X x) { return through_f64(Function::tan, x); }
X asin(X x) { return through_f64(Function::asin, x); }
X acos(X x) { return through_f64(Function::acos, x); }
X atan(X x) { return through_f64(Function::atan, x); }
X asinh(X x) { return through_f64(Function::asinh, x); }
X acosh(X x) { return through_f64(Function::acosh, x); }
X atanh(X x) { return through_f64(Function::atanh, x); }
X erf(X x) { return through_f64(Function::erf, x); }
X erfc(X x) { return through_f64(Function::erfc, x); }
X lgamma(X x) { return through_f64(Function::lgamma, x); }
X digamma(X x) { return through_f64(Function::digamma, x); }
X pow(X x, X y) { return through_f64(Function::pow, x, y); }
X hypot(X x, X y) { return through_f64(Function::hypot, x, y); }
X atan2(X y, X x) { return through_f64(Function::atan2, y, x); }

X rsqrt(X x) { return c(x, 1) / sqrt(x); }

}  // namespace neap::scalar::m
