// expect: item: the elements of a traced f32[] are not known yet
// expect: where()
// expect: read_traced.cpp:8
// A branch on a value that is being traced.
#include <neap/neap.h>

int main() {
  const auto f = neap::jit([](const neap::Array& x) { return neap::sum(x).item<float>() > 0 ? x : -x; });
  return static_cast<int>(f(neap::ones({3})).size());
}
