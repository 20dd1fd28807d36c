// Random access to a table that fits the last cache but not the one above: what bounds it is the number of loads (and
// stores) in flight, so that the flat indices of a block are computed first, with vectors, and the accesses follow.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "bench/limits/limits.h"
#include "bench/limits/vec.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace limits {
namespace {

constexpr int kBlock = 256;

inline vf gather_lanes(const float* table, const int32_t* flat) {
#if defined(__AVX512F__)
  return _mm512_i32gather_ps(_mm512_loadu_si512(flat), table, 4);
#elif defined(__AVX2__)
  return _mm256_i32gather_ps(table, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(flat)), 4);
#else
  vf r;
  for (int k = 0; k < kLanes; ++k) r[k] = table[flat[k]];
  return r;
#endif
}

// -side..-1 count from the end; then clamp (kSide - 1 is a mask, and x a small integer).
inline int32_t wrap(int32_t x) { return x < 0 ? x + static_cast<int32_t>(kSide) : x; }
inline int32_t clamped(int32_t x) { return std::clamp(wrap(x), 0, static_cast<int32_t>(kSide) - 1); }

template <class Index>
void flat_clamped(const Index* __restrict rows, int32_t* __restrict flat, int n) {
#pragma clang loop vectorize(enable) interleave(enable)
  for (int i = 0; i < n; ++i) {
    const int32_t a = clamped(rows[3 * i]), b = clamped(rows[3 * i + 1]), c = clamped(rows[3 * i + 2]);
    flat[i] = (a * static_cast<int32_t>(kSide) + b) * static_cast<int32_t>(kSide) + c;
  }
}

// An update out of range goes to the spare cell behind the table's copy of the block: -1, skipped by the caller's
// branch that is never taken on good input.
template <class Index>
bool flat_dropped(const Index* __restrict rows, int32_t* __restrict flat, int n) {
  uint32_t bad = 0;
#pragma clang loop vectorize(enable) interleave(enable)
  for (int i = 0; i < n; ++i) {
    const int32_t a = wrap(rows[3 * i]), b = wrap(rows[3 * i + 1]), c = wrap(rows[3 * i + 2]);
    const uint32_t out = static_cast<uint32_t>(a | b | c) & ~static_cast<uint32_t>(kSide - 1);
    bad |= out;
    const int32_t index = (a * static_cast<int32_t>(kSide) + b) * static_cast<int32_t>(kSide) + c;
    flat[i] = out ? -1 : index;
  }
  return bad != 0;
}

template <class Index, class Add>
void for_each_update(const Index* rows, int64_t begin, int64_t end, Add add) {
  alignas(64) int32_t flat[kBlock];
  for (int64_t i = begin; i < end; i += kBlock) {
    const int n = static_cast<int>(std::min<int64_t>(kBlock, end - i));
    const bool some_bad = flat_dropped(rows + 3 * i, flat, n);
    if (__builtin_expect(some_bad, 0)) {
      for (int j = 0; j < n; ++j) {
        if (flat[j] >= 0) add(flat[j]);
      }
    } else {
      for (int j = 0; j < n; ++j) add(flat[j]);
    }
  }
}

}  // namespace

template <class Index>
float gather_sum(const float* table, const Index* rows, int64_t begin, int64_t end) {
  alignas(64) int32_t flat[kBlock];
  double sum = 0;
  for (int64_t i = begin; i < end; i += kBlock) {
    const int n = static_cast<int>(std::min<int64_t>(kBlock, end - i));
    flat_clamped(rows + 3 * i, flat, n);
    vf part[2] = {};
    int j = 0;
    for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
      for (int k = 0; k < 2; ++k) part[k] += gather_lanes(table, flat + j + k * kLanes);
    }
    for (; j < n; ++j) part[0][0] += table[flat[j]];
    part[0] += part[1];
    for (int k = 0; k < kLanes; ++k) sum += part[0][k];
  }
  return static_cast<float>(sum);
}

template <class Index>
void scatter_add(float value, float* table, const Index* rows, int64_t begin, int64_t end) {
  for_each_update(rows, begin, end, [=](int32_t i) { table[i] += value; });
}

template <class Index>
void scatter_add_atomic(float value, float* table, const Index* rows, int64_t begin, int64_t end) {
  for_each_update(rows, begin, end, [=](int32_t i) {
    std::atomic_ref<float> cell(table[i]);
    float old = cell.load(std::memory_order_relaxed);
    while (!cell.compare_exchange_weak(old, old + value, std::memory_order_relaxed)) {}
  });
}

template <class Index>
void scatter_add_private(float value, float* table, float* copies, const Index* rows, int64_t n, int threads) {
  run(threads, n, [&](int64_t begin, int64_t end, int t) {
    float* mine = t == 0 ? table : copies + (t - 1) * kCells;
    if (t > 0) std::memset(mine, 0, sizeof(float) * kCells);
    scatter_add(value, mine, rows, begin, end);
  });
  if (threads == 1) return;
  run(threads, kCells, [&](int64_t begin, int64_t end, int) {
    for (int t = 1; t < threads; ++t) {
      const float* copy = copies + (t - 1) * kCells;
      for (int64_t i = begin; i < end; ++i) table[i] += copy[i];
    }
  });
}

#define NEAP_INSTANTIATE(I)                                                    \
  template float gather_sum(const float*, const I*, int64_t, int64_t);         \
  template void scatter_add(float, float*, const I*, int64_t, int64_t);        \
  template void scatter_add_atomic(float, float*, const I*, int64_t, int64_t); \
  template void scatter_add_private(float, float*, float*, const I*, int64_t, int);
NEAP_INSTANTIATE(int32_t)
NEAP_INSTANTIATE(int16_t)
#undef NEAP_INSTANTIATE

}  // namespace limits
