#include "backends/cpu/select.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <compare>
#include <type_traits>

#include "backends/cpu/sort_rows.h"
#include "core/dispatch.h"
#include "core/thread_pool.h"

namespace neap::cpu {
namespace {

using planner::Selection;
using planner::SortForm;
using planner::SortLayout;

// A key with its position, in the order of both: no two are equal, so any way to sort them is stable.
template <class U>
struct Held {
  uint64_t both = 0;  // the key above

  Held() = default;
  Held(U key, int64_t at) : both(static_cast<uint64_t>(key) << 32 | static_cast<uint32_t>(at)) {}
  U key() const { return static_cast<U>(both >> 32); }
  int64_t at() const { return static_cast<uint32_t>(both); }
  auto operator<=>(const Held&) const = default;
};
template <>
struct Held<uint64_t> {
  uint64_t bits = 0;
  int64_t position = 0;

  Held() = default;
  Held(uint64_t key, int64_t at) : bits(key), position(at) {}
  uint64_t key() const { return bits; }
  int64_t at() const { return position; }
  auto operator<=>(const Held&) const = default;
};

template <class T, bool kIndices>
class Selector {
  using U = Bits<sizeof(T)>;
  using Out = std::conditional_t<kIndices, int32_t, U>;

  // A row, what is made of it, and where; `held` lies in the scratch.
  struct Row {
    const U* in;
    Out* out;
    std::byte* scratch;
    Held<U>* held;
  };

 public:
  explicit Selector(const SortForm& form)
      : form_(form), layout_(planner::sort_layout(form)), n_(form.length), key_(form.descending) {}

  void run(const U* in, Out* out, std::byte* scratch) const {
    for_rows(form_.rows, n_, layout_, scratch, [&](int64_t row, std::byte* own) {
      const Row r{in + row * n_, out + row * form_.written(), own, reinterpret_cast<Held<U>*>(own + layout_.held_at)};
      switch (layout_.selection) {
        case Selection::leading: return best<false>(r);
        case Selection::last: return best<true>(r);
        default: return by_digits(r);
      }
    });
  }

 private:
  std::pair<int64_t, int64_t> range(int block) const {
    return {n_ * block / layout_.blocks, n_ * (block + 1) / layout_.blocks};
  }

  // Of what is held, whose first is of rank `first` among all, the ranks that are wanted.
  template <bool kBackwards>
  void write(const Row& row, int64_t first, int64_t count) const {
    const int64_t start = kBackwards ? n_ - form_.limit : form_.start;
    Held<U>* const begin = row.held + (start - first);
    Held<U>* const end = begin + form_.written();
    std::nth_element(row.held, begin, row.held + count);
    if (end < row.held + count) std::nth_element(begin, end, row.held + count);
    std::sort(begin, end);
    for (int64_t i = 0; i < form_.written(); ++i) {
      const int64_t at = kBackwards ? n_ - 1 - begin[i].at() : begin[i].at();
      Out& out = row.out[kBackwards ? form_.written() - 1 - i : i];
      if constexpr (kIndices) {
        out = static_cast<Out>(at);
      } else {
        out = row.in[at];
      }
    }
  }

  // --- the best so far

  // Whether any of kCount elements may have a key below that of `bound`, in the order that `rising` tells.
  template <int64_t kCount, bool kRising>
  bool any_below(const U* in, U bound, U flip) const {
    unsigned any = 0;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      const T limit = std::bit_cast<T>(bound);
      for (int64_t i = 0; i < kCount; ++i) {
        const T x = std::bit_cast<T>(in[i]);
        any |= static_cast<unsigned>(kRising ? !(x >= limit) : !(x <= limit));  // so that NaNs are looked at
      }
    } else {
      const U limit = key_(bound) ^ flip;
      for (int64_t i = 0; i < kCount; ++i) any |= static_cast<unsigned>((key_(in[i]) ^ flip) < limit);
    }
    return any != 0;
  }

  // Holds the best of the elements [begin, end), counted from the end of the row where kBackwards; returns how many.
  template <bool kBackwards, bool kRising>
  int64_t hold_best(const U* in, int64_t begin, int64_t end, int64_t wanted, Held<U>* held, int64_t room) const {
    const U flip = kBackwards ? static_cast<U>(~U{0}) : U{0};
    int64_t count = 0;
    bool full = false;
    U bound = 0, bound_key = 0;
    const auto fill = [&] {
      full = true;
      bound_key = held[wanted - 1].key();
      bound = in[kBackwards ? n_ - 1 - held[wanted - 1].at() : held[wanted - 1].at()];
    };
    // Few are kept in order, each put where it belongs; of more, all that come until there is no room, and of long
    // rows, which may be in the other order.
    constexpr int64_t kLongRow = 8192;
    const bool inserts = wanted <= planner::kInserted && n_ <= kLongRow;
    const auto look = [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const auto key = static_cast<U>(key_(in[kBackwards ? n_ - 1 - i : i]) ^ flip);
        if (full && key >= bound_key) continue;
        const Held<U> next(key, i);
        if (inserts) {
          int64_t at = full ? wanted - 1 : count++;
          for (; at > 0 && next < held[at - 1]; --at) held[at] = held[at - 1];
          held[at] = next;
          if (count == wanted) fill();
          continue;
        }
        held[count++] = next;
        if (count < room || i + 1 == end) continue;
        std::nth_element(held, held + wanted - 1, held + count);
        count = wanted;
        fill();
      }
    };
    // Most elements are passed by many at a time, most of the others by few.
    constexpr int64_t kMany = 64, kFew = 8;
    const auto passes = [&]<int64_t kCount>(int64_t p) {
      return full && !any_below<kCount, kRising>(in + (kBackwards ? n_ - p - kCount : p), bound, flip);
    };
    int64_t p = begin;
    for (; p + kMany <= end; p += kMany) {
      if (passes.template operator()<kMany>(p)) continue;
      for (int64_t q = p; q < p + kMany; q += kFew) {
        if (!passes.template operator()<kFew>(q)) look(q, q + kFew);
      }
    }
    look(p, end);
    return count;
  }

  template <bool kBackwards>
  void best(const Row& row) const {
    const int64_t wanted = kBackwards ? n_ - form_.start : form_.limit, room = layout_.held / layout_.blocks;
    std::array<int64_t, planner::kMostSortBlocks> counts;
    const auto hold = [&](int block) {
      const auto [begin, end] = range(block);
      Held<U>* const held = row.held + block * room;
      const bool rising = form_.descending == kBackwards;
      counts[static_cast<size_t>(block)] = rising
                                               ? hold_best<kBackwards, true>(row.in, begin, end, wanted, held, room)
                                               : hold_best<kBackwards, false>(row.in, begin, end, wanted, held, room);
    };
    parallel_tasks(layout_.blocks, hold);
    int64_t count = counts[0];
    for (int block = 1; block < layout_.blocks; ++block) {
      const Held<U>* const held = row.held + block * room;
      if (held != row.held + count) std::copy_n(held, counts[static_cast<size_t>(block)], row.held + count);
      count += counts[static_cast<size_t>(block)];
    }
    write<kBackwards>(row, 0, count);
  }

  // --- digits, highest first

  // A rank whose key is being found.
  struct Rank {
    int64_t left;  // among the elements whose keys begin as its own does
    U known = 0;   // the digits that are known
    int64_t alike = 0, before = 0,
            after = 0;  // of the last elements like it: with its digit, with lower and higher ones

    // `counts` of blocks are `stride` apart.
    void next(const int32_t* counts, int blocks, int64_t stride, int bits) {
      before = 0;
      int64_t all = 0, found = -1;
      for (int64_t digit = 0; digit < int64_t{1} << bits; ++digit) {
        int64_t here = 0;
        for (int block = 0; block < blocks; ++block) here += counts[block * stride + digit];
        if (found < 0 && left < all + here) {
          found = digit;
          before = all, alike = here;
        }
        all += here;
      }
      left -= before;
      after = all - before - alike;
      known = static_cast<U>(static_cast<U>(known << (bits % (8 * sizeof(U)))) | static_cast<U>(found));
    }
  };

  void by_digits(const Row& row) const {
    auto* const counts = reinterpret_cast<int32_t*>(row.scratch + layout_.counts_at);
    const int64_t table = int64_t{1} << layout_.digit_bits, stride = 2 * table;  // each block has a table for each rank
    Rank low{form_.start}, high{form_.limit - 1};
    int shift = 8 * sizeof(U);
    bool apart = false;  // the two begin with other digits
    int bits = 0;
    const int32_t* of_both[2];        // the last counts, of each
    int64_t between = 0, candidates;  // elements whose keys lie between theirs, and with those like either
    do {
      bits = std::min(layout_.digit_bits, shift);
      count(row.in, counts, low.known, high.known, shift, bits, apart);
      of_both[0] = counts, of_both[1] = counts + (apart ? table : 0);
      low.next(of_both[0], layout_.blocks, stride, bits);
      high.next(of_both[1], layout_.blocks, stride, bits);
      if (apart) {
        between += low.after + high.before;
      } else if (low.known != high.known) {
        apart = true;
        between = high.before - low.before - low.alike;
      }
      candidates = low.alike + (apart ? between + high.alike : 0);
      shift -= bits;
    } while (shift > 0 && candidates > layout_.held);
    if (candidates <= layout_.held) {
      hold(row, [&](U key, int) { return key >> shift >= low.known && key >> shift <= high.known; });
      return write<false>(row, form_.start - low.left, candidates);
    }
    // Elements with either's key are taken by their number among those like them, which the last counts tell.
    const auto numbers = [&](const int32_t* of, U key) {
      const auto digit = static_cast<int64_t>(key & ((uint64_t{1} << bits) - 1));
      std::array<int64_t, planner::kMostSortBlocks> first{};
      for (int block = 1; block < layout_.blocks; ++block) {
        first[static_cast<size_t>(block)] = first[static_cast<size_t>(block) - 1] + of[(block - 1) * stride + digit];
      }
      return first;
    };
    auto of_low = numbers(of_both[0], low.known), of_high = numbers(of_both[1], high.known);
    hold(row, [&, low_key = low.known, high_key = high.known](U key, int block) {
      const auto b = static_cast<size_t>(block);
      const bool after_low = key != low_key ? key > low_key : of_low[b]++ >= low.left;
      const bool before_high = key != high_key ? key < high_key : of_high[b]++ <= high.left;
      return after_low && before_high;
    });
    write<false>(row, form_.start, form_.written());
  }

  void count(const U* in, int32_t* counts, U low, U high, int shift, int bits, bool apart) const {
    constexpr int kWidth = 8 * sizeof(U);
    const int to = shift - bits;
    const auto mask = static_cast<U>((uint64_t{1} << bits) - 1);
    parallel_tasks(layout_.blocks, [&](int block) {
      const auto [begin, end] = range(block);
      int32_t* const of_low = counts + (2 * block << layout_.digit_bits);
      int32_t* const of_high = of_low + (int64_t{1} << layout_.digit_bits);
      std::fill_n(of_low, size_t{1} << bits, 0);
      if (apart) std::fill_n(of_high, size_t{1} << bits, 0);
      if (shift == kWidth) {
        for (int64_t i = begin; i < end; ++i) ++of_low[key_(in[i]) >> to];
        return;
      }
      for (int64_t i = begin; i < end; ++i) {
        const U key = key_(in[i]), known = static_cast<U>(key >> shift);
        if (known == low) ++of_low[(key >> to) & mask];
        if (apart && known == high) ++of_high[(key >> to) & mask];
      }
    });
  }

  // Holds the elements for which takes(key, block) is true, called in each block in their order.
  template <class Takes>
  void hold(const Row& row, const Takes& takes) const {
    if (layout_.blocks == 1) {
      int64_t count = 0;
      for (int64_t i = 0; i < n_; ++i) {  // without a branch: the one behind the last is written in vain
        const U key = key_(row.in[i]);
        row.held[count] = Held<U>(key, i);
        count += takes(key, 0) ? 1 : 0;
      }
      return;
    }
    std::atomic<int64_t> next{0};
    parallel_tasks(layout_.blocks, [&](int block) {
      const auto [begin, end] = range(block);
      for (int64_t i = begin; i < end; ++i) {
        const U key = key_(row.in[i]);
        if (takes(key, block)) row.held[next.fetch_add(1, std::memory_order_relaxed)] = Held<U>(key, i);
      }
    });
  }

  const SortForm form_;
  const SortLayout layout_;
  const int64_t n_;
  const Key<T> key_;
};

}  // namespace

void select(const SortForm& form, const void* in, void* out, std::byte* scratch) {
  dispatch(form.dtype, [&]<class T>() {
    using U = Bits<sizeof(T)>;
    if (form.indices) {
      Selector<T, true>(form).run(static_cast<const U*>(in), static_cast<int32_t*>(out), scratch);
    } else {
      Selector<T, false>(form).run(static_cast<const U*>(in), static_cast<U*>(out), scratch);
    }
  });
}

}  // namespace neap::cpu
