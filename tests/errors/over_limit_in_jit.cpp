// expect: no plan fits the memory that is left
// expect: [over_limit_in_jit.cpp:8]
// A compiled call over the hard limit.
#include <neap/neap.h>
using namespace neap::literals;

int main() {
  const auto f = neap::jit([](const neap::Array& x) { return neap::matmul(x, x); });
  const neap::Array x = neap::ones({1024, 1024});
  neap::memory::set_limit(6_MiB);
  return static_cast<int>(f(x).size());
}
