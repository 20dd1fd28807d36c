// expect: while_loop: a reverse-mode derivative through a loop whose number of steps is not known
// expect: use scan or fori_loop with integer bounds
// expect: while_reverse.cpp:10
// The gradient of a loop that nobody knows the length of.
#include <neap/neap.h>

using neap::Array;

Array halved(const Array& x) {
  return neap::while_loop([](const Array& c) { return c > 1; }, [](const Array& c) { return c * 0.5f; }, x);
}

int main() { return static_cast<int>(neap::grad(halved)(neap::array(3.0f)).size()); }
