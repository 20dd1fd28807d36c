// All ways of ordering share these: an ordering problem as a graph of steps, and the bytes alive while they run.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "planner/order/order.h"

namespace neap::planner {

/// The most steps for which it is found out what comes before and after each: such sets take kFewSteps^2 / 8 bytes, and
/// as many again for the other direction. neap-plan-speed measures the time.
inline constexpr int kFewSteps = 4096;

/// Holds lists of items one after the other in memory.
template <class T>
class Lists {
 public:
  Lists() = default;
  /// Makes `count` lists of `items`, which are pairs of a list and an item; each list keeps their order.
  Lists(size_t count, const std::vector<std::pair<int, T>>& items) : begin_(count + 1, 0), items_(items.size()) {
    for (const auto& [list, item] : items) ++begin_[static_cast<size_t>(list) + 1];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    std::vector<size_t> end(begin_.begin(), begin_.end() - 1);
    for (const auto& [list, item] : items) items_[end[list]++] = item;
  }

  size_t size() const { return begin_.size() - 1; }
  std::span<const T> operator[](size_t list) const {
    return std::span(items_).subspan(begin_[list], begin_[list + 1] - begin_[list]);
  }

 private:
  std::vector<size_t> begin_{0};
  std::vector<T> items_;
};

/// Holds the steps of a problem and their precedences, which agree with the given order.
struct OrderGraph {
  explicit OrderGraph(const OrderProblem& problem);

  const OrderProblem& problem;
  int steps;
  Lists<int> after;                   // steps that must come later, sorted; hardly any that others imply
  Lists<int> earlier;                 // steps that must come before, sorted
  Lists<int> starts;                  // values that begin to live with the step
  Lists<int> touches;                 // values that the step reads or writes
  Lists<int> touching;                // of each value: the steps that touch it, sorted
  Lists<OrderProblem::Reuse> reuses;  // of each step
  std::vector<size_t> need;           // of each step: what it adds to the live bytes while it runs, without reuse

  /// Tells whether the value's bytes count; those of arguments do not.
  bool counts(int v) const { return problem.values[v].given || !problem.values[v].writers.empty(); }
  bool frees(int v) const { return counts(v) && !problem.values[v].kept; }

 private:
  void add_values();
  void add_edges();
};

/// Sorts the edges, which go from lower to higher numbers, and drops those that are there twice or that others imply:
/// all of them where there are few steps, else those that are found quickly.
void drop_implied(std::vector<std::pair<int, int>>& edges, int steps);

/// Counts the bytes that writing over dying operands saves a step; `dies(v)` tells whether it is the last to touch v.
template <class Dies>
size_t reused_bytes(std::span<const OrderProblem::Reuse> reuses, const OrderProblem& problem, Dies&& dies) {
  size_t bytes = 0;
  uint64_t taken = 0;
  for (size_t i = 0; i < reuses.size() && i < 64; ++i) {
    bool free = dies(reuses[i].from);
    for (size_t j = 0; free && j < i; ++j) {
      const bool same = reuses[j].from == reuses[i].from || reuses[j].into == reuses[i].into;
      if (same && (taken >> j & 1)) free = false;
    }
    if (!free) continue;
    taken |= uint64_t{1} << i;
    bytes += problem.values[reuses[i].into].bytes;
  }
  return bytes;
}

/// Counts the bytes alive while steps run one after the other.
class OrderSimulation {
 public:
  explicit OrderSimulation(const OrderGraph& graph);

  bool is_last(int v) const { return remaining_[v] == 1 && graph_.frees(v); }
  /// Returns the bytes that the step needs beside those that are alive when it starts.
  size_t need(int step) const;
  /// Returns by how many bytes more are alive after the step than before it.
  int64_t growth(int step) const;
  /// Runs the step. `freeing`, if given, gets the values that only one step is left to touch.
  void run(int step, std::vector<int>* freeing = nullptr);

  size_t live = 0;
  size_t peak = 0;

 private:
  const OrderGraph& graph_;
  std::vector<int> remaining_;  // of each value: steps that will touch it
};

/// Returns a permutation of the steps (planner/order/order.h).
std::vector<int> order_steps(const OrderGraph& graph);

/// Returns the peak of an order.
size_t peak_of(const OrderGraph& graph, const std::vector<int>& order);

/// Returns bytes that the peak of no order is below: what is kept, what is given, and what is alive during a step
/// whatever the order (planner/order/order_bound.cpp).
size_t least_peak(const OrderGraph& graph);

/// Holds an order of all steps with the bytes alive at each. Stretches of it can be taken out and ordered anew.
class Arrangement {
 public:
  Arrangement(const OrderGraph& graph, std::vector<int> order);

  const std::vector<int>& order() const { return order_; }
  size_t during(int position) const { return during_[position]; }
  size_t peak() const;
  size_t peak(int begin, int end) const;

  /// Makes the steps at positions `begin` to `end` a problem of their own, in this order, while all others stay where
  /// they are. Its peaks are those of these steps less what is alive throughout.
  OrderProblem part(int begin, int end) const;
  /// Puts the steps of `part`, which begins at position `begin`, into `order`, which numbers them as the part does.
  void reorder(const OrderGraph& part, int begin, const std::vector<int>& order);
  /// Returns the positions of steps that all others must come before or after.
  std::vector<int> separators() const;

 private:
  void set_ranges(int v);

  const OrderGraph& graph_;
  std::vector<int> order_, at_;
  std::vector<int> first_, last_;  // positions of the steps that touch each value
  std::vector<size_t> during_;
};

}  // namespace neap::planner
