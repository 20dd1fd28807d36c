// expect: grad: there is no such argument: the function is called with fewer
#include <neap/neap.h>
void f(const neap::Array& x) {
  neap::grad<1>([](const neap::Array& a) { return neap::sum(a); })(x);
}
