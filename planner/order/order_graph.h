// An ordering problem as a graph of steps, and the bytes alive while they run: what all ways of ordering share.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "planner/order/order.h"

namespace neap::planner {

/// Lists of numbers, one after the other in memory.
template <class T>
class Lists {
 public:
  Lists() = default;
  /// `items`: list and item; each list keeps their order.
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

/// The steps of a problem and their precedences, which agree with the given order.
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

  /// Whether the value's bytes count; those of arguments do not.
  bool counts(int v) const { return problem.values[v].given || !problem.values[v].writers.empty(); }
  bool frees(int v) const { return counts(v) && !problem.values[v].kept; }

 private:
  void add_values();
  void add_edges();
};

/// Drops edges that others imply, or that are there twice: all of them where there are few steps, else those that show
/// quickly. Edges go from lower to higher numbers. They are sorted then.
void drop_implied(std::vector<std::pair<int, int>>& edges, int steps);

/// Bytes that writing over dying operands saves a step; `dies(v)`: the step is the last to touch v.
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

/// Bytes alive while steps run one after the other.
class OrderSimulation {
 public:
  explicit OrderSimulation(const OrderGraph& graph);

  bool is_last(int v) const { return remaining_[v] == 1 && graph_.frees(v); }
  /// What the step needs beside the bytes that are alive when it starts.
  size_t need(int step) const;
  /// Growth of the live bytes by the step, after it.
  int64_t growth(int step) const;
  /// `freeing`, if given, gets the values that only one step is left to touch.
  void run(int step, std::vector<int>* freeing = nullptr);

  size_t live = 0;
  size_t peak = 0;

 private:
  const OrderGraph& graph_;
  std::vector<int> remaining_;  // of each value: steps that will touch it
};

/// A permutation of the steps (planner/order/order.h).
std::vector<int> order_steps(const OrderGraph& graph);

/// The peak of an order.
size_t peak_of(const OrderGraph& graph, const std::vector<int>& order);

/// No order is below this: what is kept, what is given, what is alive during a step whatever the order
/// (planner/order/order_bound.cpp).
size_t least_peak(const OrderGraph& graph);

/// An order of all steps, with the bytes alive at each, of which stretches can be taken out and ordered anew.
class Arrangement {
 public:
  Arrangement(const OrderGraph& graph, std::vector<int> order);

  const std::vector<int>& order() const { return order_; }
  size_t during(int position) const { return during_[position]; }
  size_t peak() const;
  size_t peak(int begin, int end) const;

  /// The steps from position `begin` to `end` as a problem of their own, in this order, all others staying where they
  /// are. Its peaks are those of these steps less what is alive throughout.
  OrderProblem part(int begin, int end) const;
  /// Runs the steps of the part, a problem that begins at `begin`, in the order given as its steps.
  void reorder(const OrderGraph& part, int begin, const std::vector<int>& order);
  /// Positions that every order gives the same step, all others staying before or after.
  std::vector<int> separators() const;

 private:
  void set_ranges(int v);

  const OrderGraph& graph_;
  std::vector<int> order_, at_;
  std::vector<int> first_, last_;  // positions of the steps that touch each value
  std::vector<size_t> during_;
};

}  // namespace neap::planner
