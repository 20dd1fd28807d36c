// expect: the function takes an argument by T&; take it by value or by const T&, and return what changed
#include <neap/neap.h>
void f(neap::Array& x) {
  neap::jit([](neap::Array& a) {
    a = a + 1;
    return a;
  })(x);
}
