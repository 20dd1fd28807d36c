// expect: is used after its trace has ended; return it from the traced function instead of storing it elsewhere
// expect: escaped_tracer.cpp:13
// A traced value that is stored outside its function.
#include <neap/neap.h>

int main() {
  neap::Array stolen;
  const auto f = neap::jit([&](const neap::Array& x) {
    stolen = x * 2;
    return stolen + 1;
  });
  f(neap::ones({3}));
  return static_cast<int>((stolen + 1).size());
}
