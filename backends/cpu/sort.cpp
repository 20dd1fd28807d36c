#include "backends/cpu/sort.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "backends/cpu/select.h"
#include "backends/cpu/sort_rows.h"
#include "core/check.h"
#include "core/dispatch.h"
#include "core/thread_pool.h"

namespace neap::cpu {
namespace {

using planner::SortForm;
using planner::SortLayout;

constexpr int kBits = 8;  // of a digit
using Counts = std::array<int64_t, size_t{1} << kBits>;

template <class T, bool kIndices>
class Sorter {
  using U = Bits<sizeof(T)>;
  using Out = std::conditional_t<kIndices, int32_t, U>;

  // A row between passes; without indices element i is at index i.
  struct Row {
    U* elements = nullptr;
    int32_t* indices = nullptr;
  };

 public:
  explicit Sorter(const SortForm& form) : layout_(planner::sort_layout(form)), n_(form.length), key_(form.descending) {}

  void run(int64_t rows, const U* in, Out* out, std::byte* scratch) const {
    for_rows(rows, n_, layout_, scratch, [&](int64_t row, std::byte* own) {
      layout_.merges ? merge_sort(in + row * n_, out + row * n_, own) : radix_sort(in + row * n_, out + row * n_, own);
    });
  }

 private:
  static constexpr int64_t kRun = 16;  // elements that insertion sorts before merging; no measurement is recorded

  // --- short rows

  void merge_sort(const U* in, Out* out, std::byte* scratch) const {
    const auto rank = [&](Out x) {
      if constexpr (kIndices) return key_(in[x]);
      return key_(x);
    };
    Out* from = out;
    Out* to = reinterpret_cast<Out*>(scratch + layout_.elements_at[0]);
    int merges = 0;
    for (int64_t width = kRun; width < n_; width *= 2) ++merges;
    if (merges % 2 != 0) std::swap(from, to);
    for (int64_t begin = 0; begin < n_; begin += kRun) {
      for (int64_t i = begin; i < std::min(begin + kRun, n_); ++i) {
        Out x;
        if constexpr (kIndices) {
          x = static_cast<Out>(i);
        } else {
          x = in[i];
        }
        int64_t at = i;
        for (const U k = rank(x); at > begin && rank(from[at - 1]) > k; --at) from[at] = from[at - 1];
        from[at] = x;
      }
    }
    for (int64_t width = kRun; width < n_; width *= 2, std::swap(from, to)) {
      for (int64_t begin = 0; begin < n_; begin += 2 * width) {
        const int64_t middle = std::min(begin + width, n_), end = std::min(begin + 2 * width, n_);
        int64_t a = begin, b = middle;
        for (int64_t i = begin; i < end; ++i) {
          const bool left = a < middle && (b >= end || rank(from[a]) <= rank(from[b]));
          to[i] = left ? from[a++] : from[b++];
        }
      }
    }
  }

  // --- digits

  std::pair<int64_t, int64_t> range(int block) const {
    return {n_ * block / layout_.blocks, n_ * (block + 1) / layout_.blocks};
  }

  // Bits in which not all keys agree.
  U varying(const U* in, Counts* counts) const {
    const U first = key_(in[0]);
    parallel_tasks(layout_.blocks, [&](int block) {
      const auto [begin, end] = range(block);
      U differs = 0;
      for (int64_t i = begin; i < end; ++i) differs |= static_cast<U>(key_(in[i]) ^ first);
      counts[block][0] = static_cast<int64_t>(differs);
    });
    U all = 0;
    for (int block = 0; block < layout_.blocks; ++block) all |= static_cast<U>(counts[block][0]);
    return all;
  }

  void radix_sort(const U* in, Out* out, std::byte* scratch) const {
    constexpr int kWidth = 8 * sizeof(U);
    auto* const counts = reinterpret_cast<Counts*>(scratch + layout_.counts_at);
    Row between, result;
    between.elements = reinterpret_cast<U*>(scratch + layout_.elements_at[0]);
    if constexpr (kIndices) {
      between.indices = reinterpret_cast<int32_t*>(scratch + layout_.indices_at);
      result = {reinterpret_cast<U*>(scratch + layout_.elements_at[1]), out};
    } else {
      result.elements = out;
    }
    const U bits = varying(in, counts);
    int left = 0;
    for (int shift = 0; shift < kWidth; shift += kBits) left += digit(bits, shift) != 0;
    if (left == 0) return copy(in, out);
    Row from{const_cast<U*>(in), nullptr};  // only read
    for (int shift = 0; left > 0; shift += kBits) {
      if (digit(bits, shift) == 0) continue;
      --left;
      const Row& to = left % 2 == 0 ? result : between;
      count(from.elements, shift, counts);
      if (!kIndices) {
        move<false, true>(from, to, shift, counts);
      } else if (from.indices) {
        left > 0 ? move<true, true>(from, to, shift, counts) : move<true, false>(from, to, shift, counts);
      } else {
        left > 0 ? move<false, true>(from, to, shift, counts) : move<false, false>(from, to, shift, counts);
      }
      from = to;
    }
  }

  void copy(const U* in, Out* out) const {
    parallel_tasks(layout_.blocks, [&](int block) {
      const auto [begin, end] = range(block);
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (kIndices) {
          out[i] = static_cast<Out>(i);
        } else {
          out[i] = in[i];
        }
      }
    });
  }

  static size_t digit(U key, int shift) { return static_cast<size_t>(key >> shift) & ((size_t{1} << kBits) - 1); }

  // Then counts[block][d] is where the first element of the block whose digit is d goes.
  void count(const U* elements, int shift, Counts* counts) const {
    parallel_tasks(layout_.blocks, [&](int block) {
      const auto [begin, end] = range(block);
      Counts own{};
      for (int64_t i = begin; i < end; ++i) ++own[digit(key_(elements[i]), shift)];
      counts[block] = own;
    });
    int64_t total = 0;
    for (size_t d = 0; d < counts[0].size(); ++d) {
      for (int block = 0; block < layout_.blocks; ++block) total += std::exchange(counts[block][d], total);
    }
  }

  template <bool kHasIndices, bool kElements>
  void move(const Row& from, const Row& to, int shift, const Counts* counts) const {
    parallel_tasks(layout_.blocks, [&](int block) {
      const auto [begin, end] = range(block);
      Counts places = counts[block];
      for (int64_t i = begin; i < end; ++i) {
        const U element = from.elements[i];
        const int64_t place = places[digit(key_(element), shift)]++;
        if constexpr (kElements) to.elements[place] = element;
        if constexpr (kIndices) to.indices[place] = kHasIndices ? from.indices[i] : static_cast<int32_t>(i);
      }
    });
  }

  const SortLayout layout_;
  const int64_t n_;
  const Key<T> key_;
};

}  // namespace

void sort(const SortForm& form, const void* in, void* out, std::byte* scratch) {
  if (form.selects()) return select(form, in, out, scratch);
  dispatch(form.dtype, [&]<class T>() {
    using U = Bits<sizeof(T)>;
    if (form.indices) {
      Sorter<T, true>(form).run(form.rows, static_cast<const U*>(in), static_cast<int32_t*>(out), scratch);
    } else {
      Sorter<T, false>(form).run(form.rows, static_cast<const U*>(in), static_cast<U*>(out), scratch);
    }
  });
}

}  // namespace neap::cpu
