// Random bits and keys: pure functions of (key, element index).
#include "trace/reference_math.h"
#include "trace/reference_values.h"

namespace neap::tracing {
namespace {

// The words of generator output number i of a key.
std::pair<uint32_t, uint32_t> words(const uint32_t* key, uint64_t i) {
  return ref::threefry2x32(key[0], key[1], static_cast<uint32_t>(i >> 32), static_cast<uint32_t>(i));
}

HostValue bits(std::span<const HostValue> in, const Attrs& attrs, Aval out) {
  const Shape& shape = attrs.ints(Attr::shape);
  const bool has_offset = in.size() == 2;
  const Shape strides = row_major_strides(has_offset ? attrs.ints(Attr::full_shape) : shape);
  const int64_t first = has_offset ? dot(decode_integers(in[1]), strides) : 0;
  const int64_t count = element_count(shape);
  const auto keys = elements<uint32_t>(in[0]);
  std::vector<uint64_t> result;
  std::vector<int64_t> position;
  for (size_t key = 0; key < keys.size(); key += 2) {
    for (int64_t i = 0; i < count; ++i) {
      unravel(i, shape, position);
      const auto [w0, w1] = words(&keys[key], static_cast<uint64_t>(first + dot(position, strides)));
      result.push_back(out.dtype == DType::u64 ? static_cast<uint64_t>(w0) << 32 | w1 : w0 ^ w1);
    }
  }
  return encode(result, std::move(out));  // u8 and u16 take the low bits
}

}  // namespace

HostValue reference_random(Op op, std::span<const HostValue> in, const Attrs& attrs, Aval out) {
  if (op == Op::random_bits) return bits(in, attrs, std::move(out));
  const auto keys = elements<uint32_t>(in[0]);
  std::vector<uint64_t> result;
  const int64_t count = op == Op::random_split ? element_count(attrs.ints(Attr::shape)) : 1;
  for (size_t key = 0; key < keys.size(); key += 2) {
    for (int64_t i = 0; i < count; ++i) {
      const bool split = op == Op::random_split;
      const uint64_t counter = split ? static_cast<uint64_t>(i) : elements<uint32_t>(in[1])[key / 2];
      const auto [w0, w1] = words(&keys[key], counter);
      result.push_back(w0);
      result.push_back(w1);
    }
  }
  return encode(result, std::move(out));
}

}  // namespace neap::tracing
