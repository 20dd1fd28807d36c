#include <utility>

#include "trace/scalar/scalar_math.h"

namespace neap::scalar {

std::pair<X, X> threefry2x32(X k0, X k1, X c0, X c1) {
  static constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  Dag& dag = *c0.dag;
  const X keys[3] = {k0, k1, dag.integer(0x1BD11BDA, DType::u32) ^ (k0 ^ k1)};
  X x = c0 + k0, y = c1 + k1;
  for (int group = 0; group < 5; ++group) {
    for (int count : kRotations[group % 2]) {
      x = x + y;
      y = dag.rotl(y, count) ^ x;
    }
    x = x + keys[(group + 1) % 3];
    y = y + (keys[(group + 2) % 3] + dag.integer(group + 1, DType::u32));
  }
  return {x, y};
}

}  // namespace neap::scalar
