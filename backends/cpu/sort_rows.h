// What sorting and selecting share: the order of elements as one of unsigned integers, and how rows are spread over
// threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/thread_pool.h"
#include "planner/kernels/sort_form.h"

namespace neap::cpu {

template <size_t kBytes>
using Bits =
    std::conditional_t<kBytes == 1, uint8_t,
                       std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

/// The order of T as that of unsigned integers: equal where elements are, zeros of both signs and NaNs among each
/// other.
template <class T>
struct Key {
  using U = Bits<sizeof(T)>;
  static constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(T) - 1));
  U flip;  // all ones where descending

  explicit Key(bool descending) : flip(descending ? static_cast<U>(~U{0}) : U{0}) {}

  U operator()(U bits) const { return static_cast<U>(ascending(bits) ^ flip); }

 private:
  static U infinity() {
    if constexpr (std::is_same_v<T, float16>) return 0x7C00;
    if constexpr (std::is_same_v<T, bfloat16>) return 0x7F80;
    if constexpr (std::is_same_v<T, float>) return 0x7F800000;
    if constexpr (std::is_same_v<T, double>) return static_cast<U>(0x7FF0000000000000);
    return 0;
  }
  static U ascending(U bits) {
    if constexpr (!std::is_integral_v<T>) {
      const U magnitude = bits & static_cast<U>(~kSign);
      const U ordered = bits & kSign ? static_cast<U>(~bits) : static_cast<U>(bits | kSign);
      return magnitude == 0 ? kSign : magnitude > infinity() ? static_cast<U>(~U{0}) : ordered;
    }
    return std::is_signed_v<T> ? static_cast<U>(bits ^ kSign) : bits;
  }
};

/// Calls work(row, slot) for each of `rows` rows of `length` elements; no two rows use a slot, a part of `scratch`, at
/// once.
template <class Work>
void for_rows(int64_t rows, int64_t length, const planner::SortLayout& layout, std::byte* scratch, const Work& work) {
  constexpr int64_t kChunk = 4096;  // elements that are worth a task; no measurement is recorded
  std::atomic<int64_t> next{0};
  const int64_t chunk = std::max<int64_t>(1, std::max(kChunk / length, rows / (int64_t{64} * layout.slots)));
  const auto slots = static_cast<int>(std::min<int64_t>(layout.slots, (rows + chunk - 1) / chunk));
  parallel_tasks(slots, [&](int slot) {
    std::byte* const own = scratch + static_cast<size_t>(slot) * layout.slot_bytes;
    for (int64_t begin; (begin = next.fetch_add(chunk)) < rows;) {
      for (int64_t row = begin; row < std::min(begin + chunk, rows); ++row) work(row, own);
    }
  });
}

}  // namespace neap::cpu
