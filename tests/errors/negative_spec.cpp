// expect: spec: shape [3,-1] has a negative extent
// expect: negative_spec.cpp:8
// A negative extent in a spec.
#include <neap/neap.h>

int main() {
  const auto f = neap::jit([](const neap::Array& x) { return x + 1; });
  return static_cast<int>(f.plan(neap::spec({3, -1}, neap::f32)).peak_bytes());
}
