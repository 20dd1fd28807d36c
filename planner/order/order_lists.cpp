#include "planner/order/order_lists.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <ranges>
#include <set>

namespace neap::planner {

namespace {

// The steps that can run, by what they need; finds the one that grows least among those that need little enough.
class Ready {
 public:
  using Rank = std::pair<int64_t, int>;  // growth, step
  static constexpr Rank kNone{std::numeric_limits<int64_t>::max(), -1};

  explicit Ready(std::vector<size_t> needs) : needs_(std::move(needs)), at_(needs_.size()), sorted_(needs_.size()) {
    std::iota(sorted_.begin(), sorted_.end(), 0);
    std::ranges::sort(sorted_, {}, [&](int s) { return std::pair(needs_[s], s); });
    for (size_t i = 0; i < sorted_.size(); ++i) at_[sorted_[i]] = i;
    width_ = std::bit_ceil(std::max<size_t>(1, sorted_.size()));
    tree_.assign(2 * width_, kNone);
  }

  void set(int step, int64_t growth) { set(at_[step], Rank{growth, step}); }
  void lower(int step, size_t bytes) { set(step, tree_[width_ + at_[step]].first - static_cast<int64_t>(bytes)); }
  void remove(int step) { set(at_[step], kNone); }
  bool contains(int step) const { return tree_[width_ + at_[step]] != kNone; }
  bool empty() const { return tree_[1] == kNone; }

  // Within the allowance the step that grows least, the earliest of them; else one of those that need least.
  int best(size_t allowance) const {
    Rank found = least(0, end_of(allowance));
    if (found == kNone) {
      const size_t lowest = needs_[sorted_[first()]];
      found = least(0, end_of(lowest));
    }
    return found.second;
  }

 private:
  void set(size_t i, Rank rank) {
    for (tree_[i += width_] = rank; i > 1; i /= 2) tree_[i / 2] = std::min(tree_[i], tree_[i ^ 1]);
  }
  size_t end_of(size_t need) const {
    const auto end = std::ranges::upper_bound(sorted_, need, {}, [&](int s) { return needs_[s]; });
    return static_cast<size_t>(end - sorted_.begin());
  }
  Rank least(size_t begin, size_t end) const {
    Rank found = kNone;
    for (begin += width_, end += width_; begin < end; begin /= 2, end /= 2) {
      if (begin & 1) found = std::min(found, tree_[begin++]);
      if (end & 1) found = std::min(found, tree_[--end]);
    }
    return found;
  }
  size_t first() const {  // the leftmost there is
    size_t i = 1;
    while (i < width_) i = 2 * i + (tree_[2 * i] == kNone ? 1 : 0);
    return i - width_;
  }

  std::vector<size_t> needs_;  // of each step
  std::vector<size_t> at_;     // its place among those sorted by need
  std::vector<int> sorted_;
  size_t width_ = 1;
  std::vector<Rank> tree_;
};

}  // namespace

std::vector<int> forward_list(const OrderGraph& graph) {
  OrderSimulation simulation(graph);
  Ready ready(graph.need);
  std::vector<int> missing, order, freeing;
  for (int s = 0; s < graph.steps; ++s) {
    missing.push_back(static_cast<int>(graph.earlier[s].size()));
    if (missing[s] == 0) ready.set(s, simulation.growth(s));
  }
  while (!ready.empty()) {
    const int step = ready.best(simulation.peak - simulation.live);
    ready.remove(step);
    freeing.clear();
    simulation.run(step, &freeing);
    order.push_back(step);
    for (const int v : freeing) {  // the one that is left frees it
      if (!graph.frees(v)) continue;
      for (const int other : graph.touching[v]) {
        if (ready.contains(other)) ready.lower(other, graph.problem.values[v].bytes);
      }
    }
    for (const int next : graph.after[step]) {
      if (--missing[next] == 0) ready.set(next, simulation.growth(next));
    }
  }
  return order;
}

std::vector<int> backward_list(const OrderGraph& graph) {
  std::vector<bool> alive(graph.touching.size());
  std::vector<int64_t> growth(graph.steps);  // of the bytes before the step over those after it
  std::vector<int> missing, order;
  std::set<std::pair<int64_t, int>> ready;  // growth; of equals the latest
  const auto bytes = [&](int v) { return static_cast<int64_t>(graph.problem.values[v].bytes); };
  for (size_t v = 0; v < alive.size(); ++v) alive[v] = !graph.frees(static_cast<int>(v));
  for (int s = 0; s < graph.steps; ++s) {
    for (const int v : graph.touches[s]) growth[s] += alive[v] ? 0 : bytes(v);
    for (const int v : graph.starts[s]) growth[s] -= bytes(v);
    missing.push_back(static_cast<int>(graph.after[s].size()));
    if (missing[s] == 0) ready.emplace(growth[s], -s);
  }
  while (!ready.empty()) {
    const int step = -ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(step);
    for (const int v : graph.touches[step]) {
      if (alive[v]) continue;
      alive[v] = true;
      for (const int other : graph.touching[v]) {
        const bool waits = ready.erase({growth[other], -other}) > 0;
        growth[other] -= bytes(v);
        if (waits) ready.emplace(growth[other], -other);
      }
    }
    for (const int before : graph.earlier[step]) {
      if (--missing[before] == 0) ready.emplace(growth[before], -before);
    }
  }
  std::ranges::reverse(order);
  return order;
}

std::vector<int> depth_first(const OrderGraph& graph) {
  // The bytes that a step needs if the parts before it are trees: the widest first, then what the others leave.
  std::vector<size_t> width(graph.steps), leaves(graph.steps);
  std::vector<std::vector<int>> operands(graph.steps);
  for (int s = 0; s < graph.steps; ++s) {
    for (const int v : graph.starts[s]) leaves[s] += graph.problem.values[v].bytes;
    operands[s].assign(graph.earlier[s].begin(), graph.earlier[s].end());
    std::ranges::sort(operands[s], {}, [&](int p) {
      return std::pair(static_cast<int64_t>(leaves[p]) - static_cast<int64_t>(width[p]), p);
    });
    size_t held = 0;
    for (const int p : operands[s]) {
      width[s] = std::max(width[s], held + width[p]);
      held += leaves[p];
    }
    width[s] = std::max(width[s], held + graph.need[s]);
  }
  std::vector<int> order, pending;
  std::vector<char> seen(graph.steps, 0);
  for (int root = 0; root < graph.steps; ++root) {
    if (!graph.after[root].empty()) continue;
    pending.push_back(root);
    while (!pending.empty()) {
      const int s = pending.back();
      if (seen[s]) {
        pending.pop_back();
        if (seen[s] == 1) order.push_back(s);
        seen[s] = 2;
        continue;
      }
      seen[s] = 1;
      for (const int p : std::views::reverse(operands[s])) {
        if (!seen[p]) pending.push_back(p);
      }
    }
  }
  return order;
}

}  // namespace neap::planner
