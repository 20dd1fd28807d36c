// expect: strategy: got "quick"; expected one of naive, fused
// expect: [unknown_strategy.cpp:7]
// A strategy that there is not, pinned.
#include <neap/neap.h>

int main() {
  const auto f = neap::jit([](const neap::Array& x) { return x + 1; }, {.strategy = "quick"});
  const neap::Array x = neap::ones({3});
  return static_cast<int>(f(x).size());
}
