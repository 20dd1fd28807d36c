// What memory itself costs: writing words that are there, and the first write to words that are not.
#include <sys/mman.h>

#include <chrono>

#include "bench/limits/limits.h"
#include "bench/limits/vec.h"

namespace limits {

void fill_u32(uint32_t value, uint32_t* out, int64_t begin, int64_t end) {
  int64_t i = 0;
  const int64_t n = end - begin;
  for (; i < n && reinterpret_cast<uintptr_t>(out + i) % sizeof(vu) != 0; ++i) out[i] = value;
  // Past the caches, a store that does not first read the line saves half of the traffic.
  for (; i + kLanes <= n; i += kLanes) __builtin_nontemporal_store(splat(value), reinterpret_cast<vu*>(out + i));
  for (; i < n; ++i) out[i] = value;
}

double first_touch_seconds(size_t bytes, bool huge_pages, int threads) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return 0;
  madvise(p, bytes, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  constexpr int64_t kPage = 4096;
  const auto start = std::chrono::steady_clock::now();
  run(threads, static_cast<int64_t>(bytes) / kPage, [&](int64_t b, int64_t e, int) {
    for (int64_t i = b; i < e; ++i) static_cast<volatile char*>(p)[i * kPage] = 1;
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  munmap(p, bytes);
  return seconds;
}

}  // namespace limits
