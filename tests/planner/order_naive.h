// What orders are compared with, straight from what a problem says: which are allowed, what is alive, what is lowest.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "order_programs.h"
#include "planner/order/order.h"

namespace neap::planner {

inline std::vector<int> given_order(const OrderProblem& problem) {
  std::vector<int> order(problem.steps);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

inline size_t given_peak(const OrderProblem& problem) { return peak_of_order(problem, given_order(problem)); }

/// All pairs of steps whose order matters.
inline std::vector<std::pair<int, int>> precedences(const OrderProblem& problem) {
  std::vector<std::pair<int, int>> pairs = problem.before;
  for (const auto& value : problem.values) {
    for (const int writer : value.writers) {
      for (const int other : value.writers) {
        if (writer < other) pairs.emplace_back(writer, other);
      }
      for (const int reader : value.readers) {
        if (writer < reader) pairs.emplace_back(writer, reader);
        if (reader < writer) pairs.emplace_back(reader, writer);
      }
    }
  }
  return pairs;
}

/// Whether the order has every step once, after those that must come before it.
inline bool valid(const OrderProblem& problem, const std::vector<int>& order) {
  std::vector<int> at(problem.steps, -1);
  for (size_t i = 0; i < order.size(); ++i) at[order[i]] = static_cast<int>(i);
  return std::ranges::find(at, -1) == at.end() && order.size() == at.size() &&
         std::ranges::all_of(precedences(problem), [&](const auto& pair) { return at[pair.first] < at[pair.second]; });
}

/// Bytes by the set of steps that are done, whatever the order in which they were. For few steps.
class NaiveOrder {
 public:
  using Set = uint32_t;

  explicit NaiveOrder(const OrderProblem& problem)
      : problem_(problem), earlier_(problem.steps, 0), touched_(problem.values.size(), 0) {
    for (const auto& [a, b] : precedences(problem)) earlier_[b] |= Set{1} << a;
    for (size_t v = 0; v < touched_.size(); ++v) {
      for (const int s : problem.values[v].writers) touched_[v] |= Set{1} << s;
      for (const int s : problem.values[v].readers) touched_[v] |= Set{1} << s;
    }
  }

  Set all() const { return (Set{1} << problem_.steps) - 1; }
  Set touched(size_t v) const { return touched_[v]; }
  /// Whether the step can come next.
  bool ready(Set done, int s) const { return !(done >> s & 1) && (earlier_[s] & ~done) == 0; }
  /// Whether the step can be the last of these.
  bool can_be_last(Set of, int s) const {
    if (!(of >> s & 1)) return false;
    for (int t = 0; t < problem_.steps; ++t) {
      if ((of >> t & 1) && (earlier_[t] >> s & 1)) return false;
    }
    return true;
  }

  bool alive(size_t v, Set done) const {
    const OrderProblem::Value& value = problem_.values[v];
    const bool born = value.given || (!value.writers.empty() && (done >> value.writers[0] & 1));
    return born && (value.kept || (touched_[v] & ~done) != 0);
  }
  bool alive_during(size_t v, Set done, int s) const {
    const OrderProblem::Value& value = problem_.values[v];
    return alive(v, done) || (!value.writers.empty() && value.writers[0] == s);
  }
  size_t live(Set done) const {
    size_t bytes = 0;
    for (size_t v = 0; v < touched_.size(); ++v) bytes += alive(v, done) ? problem_.values[v].bytes : 0;
    return bytes;
  }
  /// While the step runs after those that are done.
  size_t during(Set done, int s) const {
    size_t bytes = problem_.scratch[s];
    for (size_t v = 0; v < touched_.size(); ++v) bytes += alive_during(v, done, s) ? problem_.values[v].bytes : 0;
    std::vector<int> taken;
    for (const auto& reuse : problem_.reuses) {
      if (reuse.step != s || alive(reuse.from, done | Set{1} << s)) continue;
      if (std::ranges::find(taken, reuse.from) != taken.end() || std::ranges::find(taken, reuse.into) != taken.end())
        continue;
      taken.insert(taken.end(), {reuse.from, reuse.into});
      bytes -= problem_.values[reuse.into].bytes;
    }
    return bytes;
  }
  int64_t growth(Set done, int s) const {
    return static_cast<int64_t>(live(done | Set{1} << s)) - static_cast<int64_t>(live(done));
  }

  /// Of all orders.
  size_t lowest_peak() const {
    constexpr size_t kNever = std::numeric_limits<size_t>::max();
    std::vector<size_t> peak(size_t{1} << problem_.steps, kNever);
    peak[0] = live(0);
    for (Set done = 0; done < all(); ++done) {
      if (peak[done] == kNever) continue;
      for (int s = 0; s < problem_.steps; ++s) {
        if (!ready(done, s)) continue;
        size_t& next = peak[done | Set{1} << s];
        next = std::min(next, std::max(peak[done], during(done, s)));
      }
    }
    return peak.back();
  }

  /// Calls f with each order that is allowed.
  template <class F>
  void for_each_order(F&& f) const {
    std::vector<int> order;
    extend(order, 0, f);
  }

 private:
  template <class F>
  void extend(std::vector<int>& order, Set done, F& f) const {
    if (done == all()) return f(std::as_const(order));
    for (int s = 0; s < problem_.steps; ++s) {
      if (!ready(done, s)) continue;
      order.push_back(s);
      extend(order, done | Set{1} << s, f);
      order.pop_back();
    }
  }

  const OrderProblem& problem_;
  std::vector<Set> earlier_;  // of each step
  std::vector<Set> touched_;  // of each value: the steps that read or write it
};

inline size_t lowest_peak(const OrderProblem& problem) { return NaiveOrder(problem).lowest_peak(); }

}  // namespace neap::planner
