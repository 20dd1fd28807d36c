// expect: the function does not take these arguments: it wants another number of them, or other types
#include <neap/neap.h>
void f(const neap::Array& x) {
  neap::grad([](const neap::Array& a, const neap::Array& b) { return neap::sum(a * b); })(x);
}
