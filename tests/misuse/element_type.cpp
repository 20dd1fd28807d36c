// expect: not an element type
#include <neap/neap.h>
long double f(const neap::Array& x) { return x.item<long double>(); }
