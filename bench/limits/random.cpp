// Random numbers, written once each: no intermediate ever leaves the registers.
#include <algorithm>

#include "bench/limits/limits.h"
#include "bench/limits/vec.h"

namespace limits {
namespace {

// Calls emit(bits, p) for U registers' worth of elements at a time; p points at their place in out.
template <int U, Order order = Order::words, class T, class Emit>
void generate(Key key, T* out, int64_t begin, int64_t end, Emit emit) {
  constexpr int64_t kStep = U * kLanes;
  while (begin < end) {
    const int64_t next_high = ((begin >> 32) + 1) << 32;  // hi is one scalar below
    const int64_t stop = std::min(end, next_high);
    const uint32_t hi = static_cast<uint32_t>(static_cast<uint64_t>(begin) >> 32);
    for (; begin + kStep <= stop; begin += kStep, out += kStep) {
      emit(threefry_bits<U, order>(key, hi, static_cast<uint32_t>(begin)), out);
    }
    if (begin < stop) {
      T rest[kStep];
      emit(threefry_bits<U, order>(key, hi, static_cast<uint32_t>(begin)), rest);
      out = std::copy_n(rest, stop - begin, out);
      begin = stop;
    }
  }
}

template <int U>
Block<vu, U> as_bf16(const Block<vf, U>& x) {
  return each<U>([&](int i) { return bf16_bits(x.v[i]); });
}

}  // namespace

void bits_u32(uint32_t k0, uint32_t k1, uint32_t* out, int64_t begin, int64_t end) {
  generate<6>({k0, k1}, out, begin, end, [](const Block<vu, 6>& b, uint32_t* p) {
    for (int i = 0; i < 6; ++i) store(p + i * kLanes, b.v[i]);
  });
}

void uniform_f32(uint32_t k0, uint32_t k1, float* out, int64_t begin, int64_t end) {
  generate<6>({k0, k1}, out, begin, end, [](const Block<vu, 6>& b, float* p) {
    for (int i = 0; i < 6; ++i) store(p + i * kLanes, unit_uniform(b.v[i]));
  });
}

// What would round up to one becomes the bf16 below it.
void uniform_bf16(uint32_t k0, uint32_t k1, uint16_t* out, int64_t begin, int64_t end) {
  constexpr uint16_t kBelowOne = 0x3f7f;
  generate<6, Order::halves>({k0, k1}, out, begin, end, [](const Block<vu, 6>& b, uint16_t* p) {
    store_halves(as_bf16(each<6>([&](int i) { return unit_uniform(b.v[i]); })), kBelowOne, p);
  });
}

void normal_f32(uint32_t k0, uint32_t k1, float* out, int64_t begin, int64_t end) {
  generate<4>({k0, k1}, out, begin, end, [](const Block<vu, 4>& b, float* p) {
    const auto z = normal_from_bits(b);
    for (int i = 0; i < 4; ++i) store(p + i * kLanes, z.v[i]);
  });
}

void normal_bf16(uint32_t k0, uint32_t k1, uint16_t* out, int64_t begin, int64_t end) {
  generate<4, Order::halves>({k0, k1}, out, begin, end, [](const Block<vu, 4>& b, uint16_t* p) {
    store_halves(as_bf16(normal_from_bits(b)), 0xffff, p);
  });
}

}  // namespace limits
