// expect: the function is a mutable lambda, or its operator() is not const
#include <neap/neap.h>
void f(const neap::Array& x) {
  neap::jit([n = 0](const neap::Array& y) mutable { return y * static_cast<float>(++n); })(x);
}
