// Random bits and keys: pure functions of (key, element index).
#include "trace/reference/reference_math.h"
#include "trace/reference/reference_values.h"

namespace neap::tracing {
namespace {

using Words = std::array<uint32_t, 4>;

// Returns block i of a key: two words of threefry, four of philox.
Words block(std::span<const uint32_t> key, uint64_t i) {
  const auto high = static_cast<uint32_t>(i >> 32), low = static_cast<uint32_t>(i);
  if (key.size() == 4) return ref::philox4x32({key[0], key[1]}, {low, high, key[2], key[3]});
  const auto [w0, w1] = ref::threefry2x32(key[0], key[1], high, low);
  return {w0, w1};
}

// Returns the bits of element i. A block of philox serves four elements, or two of 64 bits.
uint64_t element_bits(std::span<const uint32_t> key, uint64_t i, bool wide) {
  const uint64_t size = key.size() == 2 ? 1 : wide ? 2 : 4;
  const Words words = block(key, i / size);
  const uint64_t at = i % size;
  if (wide) return static_cast<uint64_t>(words[2 * at]) << 32 | words[2 * at + 1];
  return size == 1 ? words[0] ^ words[1] : words[at];
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
  const auto words = static_cast<size_t>(in[0].aval.shape.back());
  for (size_t key = 0; key < keys.size(); key += words) {
    for (int64_t i = 0; i < count; ++i) {
      unravel(i, shape, position);
      const auto flat = static_cast<uint64_t>(first + dot(position, strides));
      result.push_back(element_bits(std::span(keys).subspan(key, words), flat, out.dtype == DType::u64));
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
  const auto words = static_cast<size_t>(in[0].aval.shape.back());
  for (size_t key = 0; key < keys.size(); key += words) {
    for (int64_t i = 0; i < count; ++i) {
      const bool split = op == Op::random_split;
      const uint64_t counter = split ? static_cast<uint64_t>(i) : elements<uint32_t>(in[1])[key / words];
      const Words made = block(std::span(keys).subspan(key, words), counter);
      result.insert(result.end(), made.begin(), made.begin() + static_cast<std::ptrdiff_t>(words));
    }
  }
  return encode(result, std::move(out));
}

}  // namespace neap::tracing
