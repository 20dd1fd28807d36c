#include "bench/checksum.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <memory>

#include "core/dispatch.h"
#include "core/thread_pool.h"

namespace bench {
namespace {

constexpr int64_t kBlock = 1 << 16;  // summed on its own, so that the order does not depend on threads

template <class T>
double block_sum(const T* p, int64_t n) {
  double lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int k = 0; k < 8; ++k) lanes[k] += static_cast<double>(p[i + k]);
  }
  for (; i < n; ++i) lanes[0] += static_cast<double>(p[i]);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

template <class T>
double sum_of(const T* p, int64_t n) {
  if (n <= kBlock) return block_sum(p, n);
  std::vector<double> parts(static_cast<size_t>((n + kBlock - 1) / kBlock));
  neap::parallel_for(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      parts[static_cast<size_t>(b)] = block_sum(p + b * kBlock, std::min(kBlock, n - b * kBlock));
    }
  });
  return block_sum(parts.data(), static_cast<int64_t>(parts.size()));
}

}  // namespace

std::string checksum_of(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

Digest digest_of(std::span<const neap::Array> arrays) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), XXH3_freeState);
  XXH3_64bits_reset(state.get());
  double sum = 0;
  for (const neap::Array& a : arrays) {
    const auto bytes = a.raw();
    XXH3_64bits_update(state.get(), bytes.data(), bytes.size());
    const int64_t parts = neap::is_complex(a.dtype()) ? 2 : 1;
    sum += neap::dispatch(neap::real_dtype(a.dtype()), [&]<class T>() {
      return sum_of(reinterpret_cast<const T*>(bytes.data()), parts * a.size());
    });
  }
  return {fmt::format("{:016x}", XXH3_64bits_digest(state.get())), sum};
}

}  // namespace bench
