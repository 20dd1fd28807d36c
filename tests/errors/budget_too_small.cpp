// expect: the smallest peak that the planner finds is
// expect: budget_too_small.cpp:
// A budget below what arguments and result need.
#include <neap/neap.h>
using namespace neap::literals;

int main() {
  const auto f = neap::jit([](const neap::Array& x) { return neap::matmul(x, x) + 1; }, {.memory_budget = 1_MiB});
  return static_cast<int>(f(neap::ones({1024, 1024})).size());
}
