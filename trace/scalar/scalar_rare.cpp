// Functions that go through the C library in f64, whatever their type: correctly rounded in f32 but for rare ties.
#include "trace/scalar/scalar_math.h"

namespace neap::scalar::m {

X asinh(X x) { return through_f64(Function::asinh, x); }
X acosh(X x) { return through_f64(Function::acosh, x); }
X atanh(X x) { return through_f64(Function::atanh, x); }
X lgamma(X x) { return through_f64(Function::lgamma, x); }
X digamma(X x) { return through_f64(Function::digamma, x); }

}  // namespace neap::scalar::m
