#include "backends/cpu/cumulative.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "core/dispatch.h"
#include "core/thread_pool.h"

namespace neap::cpu {
namespace {

using planner::Cumulation;
using planner::CumulativeForm;
using planner::CumulativeLayout;

// What begins a cumulation and what joins two; A is what accumulates.
template <class A>
struct Sum {
  static constexpr A kFirst = 0;
  static A join(A a, A b) { return a + b; }
};
template <class A>
struct Product {
  static constexpr A kFirst = 1;
  static A join(A a, A b) { return a * b; }
};
// A NaN stays once it is there.
template <class A>
struct Max {
  static constexpr A kFirst =
      std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
  static A join(A a, A b) { return b > a || b != b ? b : a; }
};
template <class A>
struct Min {
  static constexpr A kFirst =
      std::numeric_limits<A>::has_infinity ? std::numeric_limits<A>::infinity() : std::numeric_limits<A>::max();
  static A join(A a, A b) { return b < a || b != b ? b : a; }
};

template <class T, class A, class Joins>
class Cumulate {
 public:
  Cumulate(const CumulativeForm& form, const T* in, T* out, A* totals)
      : form_(form), layout_(planner::cumulative_layout(form)), in_(in), out_(out), totals_(totals) {}

  void run() const {
    if (layout_.blocks > 1) {
      each_task([&](const Task& task) { walk<false>(task, totals_ + task.total); });
      for (int64_t o = 0; o < form_.outer; ++o) totals_before(totals_ + o * layout_.blocks * form_.inner);
    }
    each_task([&](const Task& task) { walk<true>(task, layout_.blocks > 1 ? totals_ + task.total : nullptr); });
  }

 private:
  static constexpr int64_t kMostColumns = 512, kGrain = 4096;

  struct Task {
    int64_t first, begin, end, columns, total;  // of the first element in the arrays; of the length; of its totals
  };

  template <class Work>
  void each_task(const Work& work) const {
    const int64_t groups = (form_.inner + layout_.columns - 1) / layout_.columns, blocks = layout_.blocks;
    const int64_t elements = std::max<int64_t>(form_.length / blocks * layout_.columns, 1);
    parallel_for(form_.outer * blocks * groups, std::max<int64_t>(kGrain / elements, 1), [&](int64_t from, int64_t to) {
      for (int64_t t = from; t < to; ++t) {
        const int64_t group = t % groups, block = t / groups % blocks, o = t / groups / blocks;
        const int64_t column = group * layout_.columns;
        Task task{o * form_.length * form_.inner + column, form_.length * block / blocks,
                  form_.length * (block + 1) / blocks, std::min(layout_.columns, form_.inner - column),
                  (o * blocks + block) * form_.inner + column};
        work(task);
      }
    });
  }

  // Of each block, what those before it give.
  void totals_before(A* totals) const {
    const int64_t blocks = layout_.blocks, inner = form_.inner;
    for (int64_t column = 0; column < inner; ++column) {
      A sum = Joins::kFirst;
      for (int64_t b = 0; b < blocks; ++b) {
        A& total = totals[(form_.reverse ? blocks - 1 - b : b) * inner + column];
        const A next = Joins::join(sum, total);
        total = sum;
        sum = next;
      }
    }
  }

  // Writes what a block's elements give after `start` (null: nothing), or leaves what they give together there.
  template <bool kWrites>
  void walk(const Task& task, A* start) const {
    if (task.columns == 1) return kWrites ? walk_row(task, start) : total_of_row(task, *start);
    A sums[kMostColumns];
    for (int64_t c = 0; c < task.columns; ++c) sums[c] = kWrites && start ? start[c] : Joins::kFirst;
    for (int64_t n = task.begin; n < task.end; ++n) {
      const int64_t row = task.first + at(task, n) * form_.inner;
      // Two loops: in one, what is written might be what is read next.
      for (int64_t c = 0; c < task.columns; ++c) sums[c] = Joins::join(sums[c], value(in_[row + c]));
      if constexpr (kWrites) {
        for (int64_t c = 0; c < task.columns; ++c) out_[row + c] = rounded(sums[c]);
      }
    }
    if constexpr (!kWrites) std::copy_n(sums, task.columns, start);
  }

  void walk_row(const Task& task, const A* start) const {
    A sum = start ? *start : Joins::kFirst;
    for (int64_t n = task.begin; n < task.end; ++n) {
      const int64_t i = task.first + at(task, n) * form_.inner;
      sum = Joins::join(sum, value(in_[i]));
      out_[i] = rounded(sum);
    }
  }

  // Of every eighth element at a time, so that none waits for the one before.
  void total_of_row(const Task& task, A& total) const {
    constexpr int64_t kApart = 8;
    A sums[kApart];
    std::fill_n(sums, kApart, Joins::kFirst);
    int64_t n = task.begin;
    for (; n + kApart <= task.end; n += kApart) {
      for (int64_t j = 0; j < kApart; ++j) {
        sums[j] = Joins::join(sums[j], value(in_[task.first + (n + j) * form_.inner]));
      }
    }
    total = Joins::kFirst;
    for (const A sum : sums) total = Joins::join(total, sum);
    for (; n < task.end; ++n) total = Joins::join(total, value(in_[task.first + n * form_.inner]));
  }

  int64_t at(const Task& task, int64_t n) const { return form_.reverse ? task.begin + task.end - 1 - n : n; }

  static A value(T x) {
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<A>(x);
    else
      return static_cast<A>(static_cast<float>(x));
  }
  static T rounded(A sum) {
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<T>(sum);
    else
      return T(static_cast<float>(sum));
  }

  const CumulativeForm& form_;
  const CumulativeLayout layout_;
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
