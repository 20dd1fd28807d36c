// expect: add: shapes [2,3] and [4,3] do not broadcast
// expect: shape_mismatch.cpp:9
// Operands whose shapes do not broadcast.
#include <neap/neap.h>

int main() {
  const neap::Array a = neap::zeros({2, 3});
  const neap::Array b = neap::zeros({4, 3});
  const neap::Array c = a + b;
  return static_cast<int>(c.size());
}
