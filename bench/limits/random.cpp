// Random numbers, written once each: no intermediate ever leaves the registers.
#include <algorithm>

#include "bench/limits/limits.h"
#include "bench/limits/vec.h"

namespace limits {
namespace {

// Calls emit(bits, p) for U registers' worth of elements at a time; p points at their place in out.
template <int U, class T, class Emit>
void generate(Key key, T* out, int64_t begin, int64_t end, Emit emit) {
  constexpr int64_t kStep = U * kLanes;
  while (begin < end) {
    const int64_t next_high = ((begin >> 32) + 1) << 32;  // hi is one scalar below
    const int64_t stop = std::min(end, next_high);
    const uint32_t hi = static_cast<uint32_t>(static_cast<uint64_t>(begin) >> 32);
    for (; begin + kStep <= stop; begin += kStep, out += kStep) {
      emit(threefry_bits<U>(key, hi, static_cast<uint32_t>(begin)), out);
    }
    if (begin < stop) {
      T rest[kStep];
      emit(threefry_bits<U>(key, hi, static_cast<uint32_t>(begin)), rest);
      out = std::copy_n(rest, stop - begin, out);
      begin = stop;
    }
  }
}

template <int U>
void store_bf16(const Block<vf, U>& x, uint16_t* out) {
  for (int i = 0; i < U; ++i) store(out + i * kLanes, to_bf16(x.v[i]));
}

}  // namespace

void bits_u32(uint32_t k0, uint32_t k1, uint32_t* out, int64_t begin, int64_t end) {
  generate<4>({k0, k1}, out, begin, end, [](const Block<vu, 4>& b, uint32_t* p) {
    for (int i = 0; i < 4; ++i) store(p + i * kLanes, b.v[i]);
  });
}

void uniform_f32(uint32_t k0, uint32_t k1, float* out, int64_t begin, int64_t end) {
  generate<4>({k0, k1}, out, begin, end, [](const Block<vu, 4>& b, float* p) {
    for (int i = 0; i < 4; ++i) store(p + i * kLanes, unit_uniform(b.v[i]));
  });
}

// The largest uniform below one, 1 - 2^-23, would round up to one; it is clipped to the bf16 below.
void uniform_bf16(uint32_t k0, uint32_t k1, uint16_t* out, int64_t begin, int64_t end) {
  generate<4>({k0, k1}, out, begin, end, [](const Block<vu, 4>& b, uint16_t* p) {
    const vf below_one = splat(0.99609375f);
    store_bf16(each<4>([&](int i) {
                 const vf u = unit_uniform(b.v[i]);
                 return u < below_one ? u : below_one;
               }),
               p);
  });
}

void normal_f32(uint32_t k0, uint32_t k1, float* out, int64_t begin, int64_t end) {
  generate<4>({k0, k1}, out, begin, end, [](const Block<vu, 4>& b, float* p) {
    const auto z = normal_from_bits(b);
    for (int i = 0; i < 4; ++i) store(p + i * kLanes, z.v[i]);
  });
}

void normal_bf16(uint32_t k0, uint32_t k1, uint16_t* out, int64_t begin, int64_t end) {
  generate<4>({k0, k1}, out, begin, end,
              [](const Block<vu, 4>& b, uint16_t* p) { store_bf16(normal_from_bits(b), p); });
}

}  // namespace limits
