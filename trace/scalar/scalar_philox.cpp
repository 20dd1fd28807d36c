#include "trace/scalar/scalar_math.h"

namespace neap::scalar {

std::array<X, 4> philox4x32(std::array<X, 2> key, std::array<X, 4> counter) {
  Dag& dag = *counter[0].dag;
  const auto u32 = [&](int64_t value) { return dag.integer(value, DType::u32); };
  const X factors[2] = {u32(0xD2511F53), u32(0xCD9E8D57)};
  std::array<X, 4> c = counter;
  for (int round = 0; round < 10; ++round) {
    const X high[2] = {dag.binary(Opcode::mulhi, c[0], factors[0]), dag.binary(Opcode::mulhi, c[2], factors[1])};
    c = {high[1] ^ c[1] ^ key[0], c[2] * factors[1], high[0] ^ c[3] ^ key[1], c[0] * factors[0]};
    key = {key[0] + u32(0x9E3779B9), key[1] + u32(0xBB67AE85)};
  }
  return c;
}

}  // namespace neap::scalar
