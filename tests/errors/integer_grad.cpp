// expect: grad: argument 0 is i32[3]; expected a floating dtype
// A derivative in an integer argument.
#include <neap/neap.h>

int main() {
  const auto f = neap::grad([](const neap::Array& x) { return neap::sum(x * x); });
  return static_cast<int>(f(neap::array({1, 2, 3})).size());
}
