#include "planner/order/order_graph.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace neap::planner {

OrderGraph::OrderGraph(const OrderProblem& p) : problem(p), steps(p.steps), need(p.scratch) {
  add_values();
  add_edges();
  std::vector<std::pair<int, OrderProblem::Reuse>> all;
  all.reserve(p.reuses.size());
  for (const OrderProblem::Reuse& reuse : p.reuses) all.emplace_back(reuse.step, reuse);
  reuses = Lists(steps, all);
}

void OrderGraph::add_values() {
  std::vector<std::pair<int, int>> steps_of, values_of, started;
  std::vector<int> all;
  for (int v = 0; v < static_cast<int>(problem.values.size()); ++v) {
    const OrderProblem::Value& value = problem.values[v];
    all = value.writers;
    all.insert(all.end(), value.readers.begin(), value.readers.end());
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    for (const int s : all) {
      steps_of.emplace_back(v, s);
      values_of.emplace_back(s, v);
    }
    if (value.writers.empty()) continue;
    started.emplace_back(value.writers[0], v);
    need[value.writers[0]] += value.bytes;
  }
  touching = Lists(problem.values.size(), steps_of);
  touches = Lists(steps, values_of);
  starts = Lists(steps, started);
}

void OrderGraph::add_edges() {
  std::vector<std::pair<int, int>> edges;
  const auto add = [&](int a, int b) {
    if (a < b) edges.emplace_back(a, b);
  };
  for (const auto& [a, b] : problem.before) add(a, b);
  std::vector<int> readers;
  for (const OrderProblem::Value& value : problem.values) {
    if (value.writers.empty()) continue;
    readers = value.readers;
    std::ranges::sort(readers);
    auto reader = std::ranges::upper_bound(readers, value.writers[0]);
    for (size_t w = 0; w < value.writers.size(); ++w) {
      const int writer = value.writers[w];
      const bool has_next = w + 1 < value.writers.size();
      for (; reader != readers.end() && (!has_next || *reader <= value.writers[w + 1]); ++reader) {
        add(writer, *reader);
        if (has_next) add(*reader, value.writers[w + 1]);
      }
      if (has_next) add(writer, value.writers[w + 1]);
    }
  }
  drop_implied(edges, steps);
  after = Lists(steps, edges);
  for (auto& [a, b] : edges) std::swap(a, b);
  earlier = Lists(steps, edges);
}

namespace {

using Edges = std::vector<std::pair<int, int>>;

// Exact: whatever a step reaches by an earlier successor needs no edge of its own.
void drop_all_implied(Edges& edges, int steps) {
  const size_t words = (static_cast<size_t>(steps) + 63) / 64;
  std::vector<uint64_t> reached(static_cast<size_t>(steps) * words);
  std::vector<bool> implied(edges.size(), false);
  for (size_t end = edges.size(); end > 0;) {  // those of one step, the last step first
    const auto s = static_cast<size_t>(edges[end - 1].first);
    size_t begin = end;
    while (begin > 0 && edges[begin - 1].first == edges[end - 1].first) --begin;
    uint64_t* mine = &reached[s * words];
    for (size_t e = begin; e < end; ++e) {
      const auto next = static_cast<size_t>(edges[e].second);
      implied[e] = mine[next / 64] >> (next % 64) & 1;
      if (implied[e]) continue;
      const uint64_t* theirs = &reached[next * words];
      for (size_t w = s / 64; w < words; ++w) mine[w] |= theirs[w];
      mine[next / 64] |= uint64_t{1} << (next % 64);
    }
    end = begin;
  }
  size_t left = 0;
  for (size_t e = 0; e < edges.size(); ++e) {
    if (!implied[e]) edges[left++] = edges[e];
  }
  edges.resize(left);
}

// As far as it shows in a forest: each step below the latest of those before it.
void drop_some_implied(Edges& edges, int steps) {
  std::vector<int> parent(steps, -1), in(steps), out(steps), pending;
  for (const auto& [s, next] : edges) parent[next] = std::max(parent[next], s);
  Edges down;
  for (int s = 0; s < steps; ++s) {
    if (parent[s] >= 0) down.emplace_back(parent[s], s);
  }
  const Lists<int> children(steps, down);
  int clock = 0;
  for (int root = 0; root < steps; ++root) {
    if (parent[root] >= 0) continue;
    pending.push_back(root);
    while (!pending.empty()) {
      const int s = pending.back();
      pending.pop_back();
      if (s < 0) {
        out[~s] = clock;
        continue;
      }
      in[s] = clock++;
      pending.push_back(~s);
      for (const int child : children[s]) pending.push_back(child);
    }
  }
  std::erase_if(edges, [&](const auto& edge) {
    const auto [s, next] = edge;
    const int latest = parent[next];
    return latest != s && in[s] <= in[latest] && in[latest] < out[s];
  });
}

}  // namespace

void drop_implied(std::vector<std::pair<int, int>>& edges, int steps) {
  std::ranges::sort(edges);
  edges.erase(std::ranges::unique(edges).begin(), edges.end());
  if (steps <= kFewSteps) {
    drop_all_implied(edges, steps);
  } else {
    drop_some_implied(edges, steps);
  }
}

OrderSimulation::OrderSimulation(const OrderGraph& graph) : graph_(graph), remaining_(graph.touching.size()) {
  for (size_t v = 0; v < remaining_.size(); ++v) {
    remaining_[v] = static_cast<int>(graph.touching[v].size());
    if (graph.problem.values[v].given) live += graph.problem.values[v].bytes;
  }
  peak = live;
}

size_t OrderSimulation::need(int step) const {
  const auto& reuses = graph_.reuses[step];
  if (reuses.empty()) return graph_.need[step];
  return graph_.need[step] - reused_bytes(reuses, graph_.problem, [&](int v) { return is_last(v); });
}

int64_t OrderSimulation::growth(int step) const {
  int64_t bytes = 0;
  for (const int v : graph_.starts[step]) bytes += static_cast<int64_t>(graph_.problem.values[v].bytes);
  for (const int v : graph_.touches[step]) {
    if (is_last(v)) bytes -= static_cast<int64_t>(graph_.problem.values[v].bytes);
  }
  return bytes;
}

void OrderSimulation::run(int step, std::vector<int>* freeing) {
  peak = std::max(peak, live + need(step));
  live = static_cast<size_t>(static_cast<int64_t>(live) + growth(step));
  for (const int v : graph_.touches[step]) {
    if (--remaining_[v] == 1 && freeing) freeing->push_back(v);
  }
}

size_t peak_of(const OrderGraph& graph, const std::vector<int>& order) {
  OrderSimulation simulation(graph);
  for (const int s : order) simulation.run(s);
  return simulation.peak;
}

Arrangement::Arrangement(const OrderGraph& graph, std::vector<int> order)
    : graph_(graph),
      order_(std::move(order)),
      at_(order_.size()),
      first_(graph.touching.size(), -1),
      last_(graph.touching.size(), -1),
      during_(order_.size()) {
  OrderSimulation simulation(graph);
  for (int i = 0; i < graph.steps; ++i) {
    at_[order_[i]] = i;
    during_[i] = simulation.live + simulation.need(order_[i]);
    simulation.run(order_[i]);
  }
  for (int v = 0; v < static_cast<int>(graph.touching.size()); ++v) set_ranges(v);
}

void Arrangement::set_ranges(int v) {
  if (!graph_.counts(v) || graph_.touching[v].empty()) return;
  const auto by_position = [&](int s) { return at_[s]; };
  first_[v] = at_[std::ranges::min(graph_.touching[v], {}, by_position)];
  last_[v] = at_[std::ranges::max(graph_.touching[v], {}, by_position)];
}

size_t Arrangement::peak() const { return peak(0, graph_.steps); }

size_t Arrangement::peak(int begin, int end) const {
  return begin < end ? *std::max_element(during_.begin() + begin, during_.begin() + end) : 0;
}

OrderProblem Arrangement::part(int begin, int end) const {
  const OrderProblem& whole = graph_.problem;
  OrderProblem part;
  part.steps = end - begin;
  std::unordered_map<int, int> renamed;  // values; those alive throughout get -1
  for (int i = begin; i < end; ++i) {
    const int s = order_[i];
    part.scratch.push_back(whole.scratch[s]);
    for (const int next : graph_.after[s]) {
      if (at_[next] < end) part.before.emplace_back(i - begin, at_[next] - begin);
    }
    for (const int v : graph_.touches[s]) {
      if (!graph_.counts(v)) continue;
      const auto [it, is_new] = renamed.emplace(v, -1);
      if (is_new) {
        OrderProblem::Value value;
        value.bytes = whole.values[v].bytes;
        value.given = first_[v] < begin || whole.values[v].given;
        value.kept = last_[v] >= end || whole.values[v].kept;
        if (value.given && value.kept) continue;
        it->second = static_cast<int>(part.values.size());
        if (!value.given) value.writers.push_back(i - begin);
        part.values.push_back(std::move(value));
      }
      if (it->second >= 0) part.values[it->second].readers.push_back(i - begin);
    }
    for (const OrderProblem::Reuse& reuse : graph_.reuses[s]) {
      const int from = renamed.contains(reuse.from) ? renamed.at(reuse.from) : -1;
      const int into = renamed.contains(reuse.into) ? renamed.at(reuse.into) : -1;
      if (from >= 0 && into >= 0) part.reuses.push_back({i - begin, from, into});
    }
  }
  return part;
}

void Arrangement::reorder(const OrderGraph& part, int begin, const std::vector<int>& order) {
  if (std::ranges::is_sorted(order)) return;  // as it is
  const std::vector<int> before(order_.begin() + begin, order_.begin() + begin + part.steps);
  std::vector<int> given(part.steps);
  std::iota(given.begin(), given.end(), 0);
  const size_t base = peak(begin, begin + part.steps) - peak_of(part, given);
  OrderSimulation simulation(part);
  for (int i = 0; i < part.steps; ++i) {
    during_[begin + i] = base + simulation.live + simulation.need(order[i]);
    simulation.run(order[i]);
    order_[begin + i] = before[order[i]];
    at_[order_[begin + i]] = begin + i;
  }
  std::vector<int> touched;
  for (const int s : before) touched.insert(touched.end(), graph_.touches[s].begin(), graph_.touches[s].end());
  std::ranges::sort(touched);
  touched.erase(std::ranges::unique(touched).begin(), touched.end());
  for (const int v : touched) set_ranges(v);
}

std::vector<int> Arrangement::separators() const {
  std::vector<int> positions;
  int reach = 0;  // of edges from before the position; the end for a step that nothing follows
  for (int i = 0; i < graph_.steps; ++i) {
    if (graph_.earlier[order_[i]].empty()) reach = i;
  }
  for (int i = 0; i < graph_.steps; ++i) {
    if (reach <= i) positions.push_back(i);
    const std::span<const int> after = graph_.after[order_[i]];
    if (after.empty()) reach = graph_.steps;
    for (const int next : after) reach = std::max(reach, at_[next]);
  }
  return positions;
}

}  // namespace neap::planner
