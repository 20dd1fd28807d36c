#include "backends/cpu/cumulative.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/dispatch.h"
#include "core/thread_pool.h"

namespace neap::cpu {
namespace {

using planner::Cumulation;
using planner::CumulativeForm;
using planner::CumulativeLayout;

// What begins a cumulation and what joins two; A is what accumulates. Nothing but -0 added to -0 is -0. Elements may be
// joined in chunks first where that is exact, and worth it where a join takes long.
template <class A>
struct Sum {
  static constexpr bool kChunks = false;
  static constexpr A kFirst = std::is_floating_point_v<A> ? static_cast<A>(-0.0) : A{0};
  static A join(A a, A b) { return a + b; }
};
template <class A>
struct Product {
  static constexpr bool kChunks = std::is_integral_v<A>;
  static constexpr A kFirst = 1;
  static A join(A a, A b) { return a * b; }
};
// A NaN stays once it is there.
template <class A>
struct Max {
  static constexpr bool kChunks = std::is_floating_point_v<A>;
  static constexpr A kFirst =
      std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
  static A join(A a, A b) { return b > a || b != b ? b : a; }
};
template <class A>
struct Min {
  static constexpr bool kChunks = std::is_floating_point_v<A>;
  static constexpr A kFirst =
      std::numeric_limits<A>::has_infinity ? std::numeric_limits<A>::infinity() : std::numeric_limits<A>::max();
  static A join(A a, A b) { return b < a || b != b ? b : a; }
};

template <class T, class A, class Joins>
class Cumulate {
 public:
  Cumulate(const CumulativeForm& form, const T* in, T* out, A* totals)
      : form_(form),
        layout_(planner::cumulative_layout(form)),
        block_(planner::cumulative_block(form)),
        in_(in),
        out_(out),
        totals_(totals) {}

  void run() const {
    if (form_.inner == 1 && form_.length <= kShort) return short_rows();
    if (layout_.blocks > 1) {
      each_task([&](const Task& task) { walk<false>(task); });
      for (int64_t o = 0; o < form_.outer; ++o) totals_before(totals_ + o * layout_.blocks * form_.inner);
    }
    each_task([&](const Task& task) { walk<true>(task); });
  }

 private:
  static constexpr int64_t kFewestChunked = 64;
  static constexpr int64_t kGrain = 4096;  // elements that are worth a task; no measurement is recorded
  // Elements of rows that are walked over side by side, and how many rows: what is between two tasks would take longer.
  static constexpr int64_t kShort = 16, kSide = 8;

  struct Task {
    int64_t first;       // of its elements in the arrays
    int64_t begin, end;  // along the length, counted from where it begins: one block, or all
    int64_t columns;
    A* totals;  // null: all blocks
  };

  template <class Work>
  void each_task(const Work& work) const {
    const int64_t groups = (form_.inner + layout_.columns - 1) / layout_.columns, blocks = layout_.blocks;
    const int64_t length = blocks > 1 ? block_ : form_.length;
    const int64_t grain = std::max<int64_t>(kGrain / (length * layout_.columns), 1);
    parallel_for(form_.outer * blocks * groups, grain, [&](int64_t from, int64_t to) {
      for (int64_t t = from; t < to; ++t) {
        const int64_t group = t % groups, block = t / groups % blocks, o = t / groups / blocks;
        const int64_t column = group * layout_.columns;
        work(Task{o * form_.length * form_.inner + column, length * block, std::min(length * (block + 1), form_.length),
                  std::min(layout_.columns, form_.inner - column),
                  blocks > 1 ? totals_ + (o * blocks + block) * form_.inner + column : nullptr});
      }
    });
  }

  void short_rows() const {
    const int64_t grain = std::max<int64_t>(kGrain / form_.length, kSide);
    parallel_for(
        form_.outer, grain,
        [&](int64_t row, int64_t end) {
          for (; row + kSide <= end; row += kSide) short_rows<kSide>(row);
          for (; row < end; ++row) short_rows<1>(row);
        },
        true);
  }

  template <int64_t kRows>
  void short_rows(int64_t row) const {
    const T* in = in_ + row * form_.length;
    T* out = out_ + row * form_.length;
    A sums[kRows];
    std::fill_n(sums, kRows, Joins::kFirst);
    for (int64_t i = 0; i < form_.length; ++i) {
      const int64_t n = at(i);
      for (int64_t r = 0; r < kRows; ++r) sums[r] = Joins::join(sums[r], value(in[r * form_.length + n]));
      for (int64_t r = 0; r < kRows; ++r) out[r * form_.length + n] = rounded(sums[r]);
    }
  }

  // Of each block, what those before it give.
  void totals_before(A* totals) const {
    for (int64_t column = 0; column < form_.inner; ++column) {
      A sum = Joins::kFirst;
      for (int64_t b = 0; b < layout_.blocks; ++b) {
        A& total = totals[b * form_.inner + column];
        total = std::exchange(sum, Joins::join(sum, total));
      }
    }
  }

  // Writes what the elements give, or leaves what those of a block give together in its totals.
  template <bool kWrites>
  void walk(const Task& task) const {
    if (task.columns == 1) return walk_row<kWrites>(task);
    A before[planner::kMostCumulativeColumns], sums[planner::kMostCumulativeColumns];
    for (int64_t c = 0; c < task.columns; ++c) {
      before[c] = kWrites && task.totals ? task.totals[c] : Joins::kFirst;
      sums[c] = Joins::kFirst;
    }
    for (int64_t n = task.begin; n < task.end; ++n) {
      if (n > task.begin && n % block_ == 0) {
        for (int64_t c = 0; c < task.columns; ++c) {
          before[c] = Joins::join(before[c], sums[c]);
          sums[c] = Joins::kFirst;
        }
      }
      const int64_t row = task.first + at(n) * form_.inner;
      // Two loops: in one, what is written might be what is read next.
      for (int64_t c = 0; c < task.columns; ++c) sums[c] = Joins::join(sums[c], value(in_[row + c]));
      if constexpr (kWrites) {
        for (int64_t c = 0; c < task.columns; ++c) out_[row + c] = rounded(Joins::join(before[c], sums[c]));
      }
    }
    if constexpr (!kWrites) std::copy_n(sums, task.columns, task.totals);
  }

  template <bool kWrites>
  void walk_row(const Task& task) const {
    A before = kWrites && task.totals ? *task.totals : Joins::kFirst;
    if constexpr (Joins::kChunks) {
      if (task.end - task.begin >= kFewestChunked) {
        before = walk_chunks<kWrites>(task, before);
        if constexpr (!kWrites) *task.totals = before;
        return;
      }
    }
    for (int64_t begin = task.begin; begin < task.end; begin += block_) {
      A sum = Joins::kFirst;
      for (int64_t n = begin; n < std::min(begin + block_, task.end); ++n) {
        const int64_t i = task.first + at(n) * form_.inner;
        sum = Joins::join(sum, value(in_[i]));
        if constexpr (kWrites) out_[i] = rounded(Joins::join(before, sum));
      }
      before = Joins::join(before, sum);
      if constexpr (!kWrites) *task.totals = sum;
    }
  }

  // The elements of a chunk are joined with each other first, so that chunks wait for one join only.
  template <bool kWrites>
  A walk_chunks(const Task& task, A sum) const {
    constexpr int64_t kChunk = 8;
    const int64_t step = form_.reverse ? -form_.inner : form_.inner;
    int64_t n = task.begin;
    for (; n + kChunk <= task.end; n += kChunk) {
      const int64_t first = task.first + at(n) * form_.inner;
      A joined[kChunk];
      for (int64_t i = 0; i < kChunk; ++i) joined[i] = value(in_[first + i * step]);
      if constexpr (!kWrites) {
        for (int64_t count = kChunk / 2; count > 0; count /= 2) {
          for (int64_t i = 0; i < count; ++i) joined[i] = Joins::join(joined[2 * i], joined[2 * i + 1]);
        }
        sum = Joins::join(sum, joined[0]);
        continue;
      }
      for (int64_t apart = 1; apart < kChunk; apart *= 2) {
        for (int64_t i = kChunk - 1; i >= apart; --i) joined[i] = Joins::join(joined[i - apart], joined[i]);
      }
      for (int64_t i = 0; i < kChunk; ++i) out_[first + i * step] = rounded(Joins::join(sum, joined[i]));
      sum = Joins::join(sum, joined[kChunk - 1]);
    }
    for (; n < task.end; ++n) {
      const int64_t i = task.first + at(n) * form_.inner;
      sum = Joins::join(sum, value(in_[i]));
      if constexpr (kWrites) out_[i] = rounded(sum);
    }
    return sum;
  }

  int64_t at(int64_t n) const { return form_.reverse ? form_.length - 1 - n : n; }

  static A value(T x) {
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<A>(x);
    else
      return static_cast<A>(static_cast<float>(x));
  }
  static T rounded(A sum) {
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<T>(sum);
    else if constexpr (std::is_same_v<A, double>)
      return T::from_double(sum);
    else
      return T(sum);
  }

  const CumulativeForm& form_;
  const CumulativeLayout layout_;
  const int64_t block_;
  const T* in_;
  T* out_;
  A* totals_;
};

}  // namespace

void cumulate(const CumulativeForm& form, const void* in, void* out, std::byte* scratch) {
  if (form.size() == 0) return;
  dispatch(form.dtype, [&]<class T>() {
    // Integers wrap; so do their sums as unsigned numbers of 64 bits.
    using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
    using Same = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
    const auto run = [&]<class A, class Joins>() {
      Cumulate<T, A, Joins>(form, static_cast<const T*>(in), static_cast<T*>(out), reinterpret_cast<A*>(scratch)).run();
    };
    switch (form.kind) {
      case Cumulation::sum: return run.template operator()<Wide, Sum<Wide>>();
      case Cumulation::prod: return run.template operator()<Wide, Product<Wide>>();
      case Cumulation::max: return run.template operator()<Same, Max<Same>>();
      case Cumulation::min: return run.template operator()<Same, Min<Same>>();
    }
  });
}

}  // namespace neap::cpu
