// This finds bytes that every order of steps holds at once.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "planner/order/order_graph.h"

namespace neap::planner {

namespace {

// Above these a weaker bound is taken, so that planning stays quick (neap-plan-speed). The sets of steps take
// kFewSteps^2 / 4 bytes.
constexpr int64_t kMostAdditions = 20'000'000;  // of a value's bytes to those of a step

// Sets of steps.
class Sets {
 public:
  Sets(int count, int steps) : words_((static_cast<size_t>(steps) + 63) / 64), bits_(count * words_) {}

  uint64_t* operator[](int set) { return &bits_[set * words_]; }
  size_t words() const { return words_; }
  void insert(int set, int step) { (*this)[set][step / 64] |= uint64_t{1} << (step % 64); }
  void join(int set, int other) {
    for (size_t w = 0; w < words_; ++w) (*this)[set][w] |= (*this)[other][w];
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

// Of different values.
size_t bytes_of(const OrderGraph& graph, std::vector<int> values) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  size_t bytes = 0;
  for (const int v : values) bytes += graph.problem.values[v].bytes;
  return bytes;
}

// Bytes that writing over dying operands can save the step at most.
size_t most_reused(const OrderGraph& graph, int step) {
  std::vector<int> from, into;
  for (const OrderProblem::Reuse& reuse : graph.reuses[step]) from.push_back(reuse.from), into.push_back(reuse.into);
  return std::min(bytes_of(graph, std::move(from)), bytes_of(graph, std::move(into)));
}

// Of each step: bytes of the values that it touches, but of those that it reads before they begin.
std::vector<size_t> touched_bytes(const OrderGraph& graph) {
  std::vector<size_t> bytes(graph.steps, 0);
  for (int s = 0; s < graph.steps; ++s) {
    for (const int v : graph.touches[s]) {
      const OrderProblem::Value& value = graph.problem.values[v];
      if (value.given || (graph.counts(v) && value.writers[0] <= s)) bytes[s] += value.bytes;
    }
  }
  return bytes;
}

// Of each step: bytes of the values that are alive during it in every order, as it touches them, or a step before it
// begins them and one after it touches them.
std::vector<size_t> surely_alive(const OrderGraph& graph) {
  Sets before(graph.steps, graph.steps), behind(graph.steps, graph.steps);  // the steps themselves included
  for (int s = 0; s < graph.steps; ++s) {
    before.insert(s, s);
    for (const int other : graph.earlier[s]) before.join(s, other);
  }
  for (int s = graph.steps; s-- > 0;) {
    behind.insert(s, s);
    for (const int other : graph.after[s]) behind.join(s, other);
  }
  std::vector<size_t> bytes(graph.steps, 0);
  std::vector<uint64_t> alive(before.words());
  int64_t additions = 0;
  for (int v = 0; v < static_cast<int>(graph.touching.size()); ++v) {
    const OrderProblem::Value& value = graph.problem.values[v];
    if (!graph.counts(v) || value.bytes == 0) continue;
    std::ranges::fill(alive, value.kept ? ~uint64_t{0} : 0);
    if (!value.kept) {
      for (const int s : graph.touching[v]) {
        for (size_t w = 0; w < alive.size(); ++w) alive[w] |= before[s][w];
      }
    }
    for (size_t w = 0; w < alive.size(); ++w) {
      uint64_t steps = alive[w] & (value.given ? ~uint64_t{0} : behind[value.writers[0]][w]);
      for (; steps; steps &= steps - 1) {
        const size_t s = 64 * w + static_cast<size_t>(std::countr_zero(steps));
        if (s < bytes.size()) bytes[s] += value.bytes, ++additions;
      }
    }
    if (additions > kMostAdditions) return touched_bytes(graph);
  }
  return bytes;
}

}  // namespace

size_t least_peak(const OrderGraph& graph) {
  size_t kept = 0, given = 0;
  for (const OrderProblem::Value& value : graph.problem.values) {
    if (value.kept && (value.given || !value.writers.empty())) kept += value.bytes;
    if (value.given) given += value.bytes;
  }
  size_t least = std::max(kept, given);
  const std::vector<size_t> bytes = graph.steps <= kFewSteps ? surely_alive(graph) : touched_bytes(graph);
  for (int s = 0; s < graph.steps; ++s) {
    least = std::max(least, graph.problem.scratch[s] + bytes[s] - most_reused(graph, s));
  }
  return least;
}

}  // namespace neap::planner
