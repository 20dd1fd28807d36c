// expect: the function returns nothing; return an Array, or a tree of Arrays
#include <neap/neap.h>
void f(const neap::Array& x) {
  neap::vmap([](const neap::Array& a) { neap::sum(a); })(x);
}
