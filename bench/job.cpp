#include "bench/job.h"

#include <charconv>

#include "bench/limits/limits.h"
#include "core/dispatch.h"

namespace bench {

neap::Device device_of(const Request& r) {
  if (r.device == "cpu") return neap::cpu();
  int index = 0;
  if (const size_t colon = r.device.find(':'); colon != std::string::npos) {
    std::from_chars(r.device.data() + colon + 1, r.device.data() + r.device.size(), index);
  }
  return neap::vulkan(index);
}

neap::JitOptions jit_options(const Request& r) {
  neap::JitOptions o;
  o.device = device_of(r);
  o.pipeline = r.pipeline == "naive" ? neap::Pipeline::naive : neap::Pipeline::planned;
  if (r.budget > 0) o.memory_budget = r.budget;
  if (!r.strategy.empty()) o.strategy = r.strategy;
  if (r.chunks > 0) o.chunks = r.chunks;
  o.name = r.name;
  return o;
}

namespace {

// An array to be filled before anybody else sees it: the one place where elements are written through an Array.
template <class T>
T* unshared_elements(const neap::Array& a) {
  return const_cast<T*>(a.data<T>());
}

}  // namespace

neap::Array index_rows(int64_t n, neap::DType dtype, bool negative, bool skewed) {
  neap::Array rows = neap::zeros({n, 3}, dtype);
  neap::dispatch(dtype, [&]<class T>() {
    T* out = unshared_elements<T>(rows);
    limits::run(static_cast<int>(std::thread::hardware_concurrency()), n, [&](int64_t begin, int64_t end, int) {
      constexpr int64_t kBlock = 4096;
      std::vector<uint32_t> bits(kBlock);
      for (int64_t b = begin; b < end; b += kBlock) {
        const int64_t stop = std::min(end, b + kBlock);
        limits::bits_u32(0, 7, bits.data(), b, stop);
        for (int64_t i = b; i < stop; ++i) {
          const uint32_t word = bits[static_cast<size_t>(i - b)];
          const bool centre = skewed && (word >> 31);
          for (int k = 0; k < 3; ++k) {
            const int value = centre ? 64 : static_cast<int>((word >> (8 * k)) & 127u);
            const bool from_end = negative && ((word >> (8 * k + 7)) & 1u);
            out[3 * i + k] = static_cast<T>(static_cast<float>(from_end ? value - 128 : value));
          }
        }
      }
    });
  });
  return rows;
}

neap::Array host_uniform(const neap::Shape& shape, neap::DType dtype, uint32_t seed, float scale) {
  neap::Array result = neap::zeros(shape, dtype);
  neap::dispatch(dtype, [&]<class T>() {
    T* out = unshared_elements<T>(result);
    limits::run(static_cast<int>(std::thread::hardware_concurrency()), result.size(),
                [&](int64_t begin, int64_t end, int) {
                  constexpr int64_t kBlock = 4096;
                  std::vector<float> u(kBlock);
                  for (int64_t b = begin; b < end; b += kBlock) {
                    const int64_t stop = std::min(end, b + kBlock);
                    limits::uniform_f32(1, seed, u.data(), b, stop);
                    for (int64_t i = b; i < stop; ++i) {
                      out[i] = static_cast<T>(scale * (2 * u[static_cast<size_t>(i - b)] - 1));
                    }
                  }
                });
  });
  return result;
}

neap::Array host_indices(const neap::Shape& shape, int64_t limit, uint32_t seed) {
  neap::Array result = neap::zeros(shape, neap::i32);
  int32_t* out = unshared_elements<int32_t>(result);
  std::vector<uint32_t> bits(static_cast<size_t>(result.size()));
  limits::bits_u32(1, seed, bits.data(), 0, result.size());
  for (size_t i = 0; i < bits.size(); ++i) out[i] = static_cast<int32_t>(bits[i] % static_cast<uint64_t>(limit));
  return result;
}

}  // namespace bench
