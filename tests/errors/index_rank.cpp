// expect: gather: index has 2 columns, operand has 3 dimensions (f32[8,8,8]); pass one column per dimension
// expect: index_rank.cpp:9
// An index row that is too short.
#include <neap/neap.h>

int main() {
  const neap::Array grid = neap::zeros({8, 8, 8});
  const neap::Array index = neap::zeros({5, 2}, neap::i32);
  const auto f = neap::jit([](const neap::Array& x, const neap::Array& i) { return neap::sum(neap::gather(x, i)); });
  return static_cast<int>(f(grid, index).item<float>());
}
