#include "planner/order/order_exact.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>
#include <ranges>
#include <vector>

namespace neap::planner {

namespace {

using Set = uint64_t;

constexpr Set bit(int s) { return Set{1} << s; }

// The lowest peak that reaches each set of steps, in one piece of memory: sets are millions in a search for a plan.
class Reached {
 public:
  /// Returns whether the peak is lower than any before; then it is the set's.
  bool improve(Set set, size_t peak) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = find(set);
    if (slot.peak <= peak) return false;
    count_ += slot.peak == kNone ? 1 : 0;
    slot = {set, peak};
    return true;
  }
  size_t peak(Set set) { return find(set).peak; }

 private:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();
  struct Slot {
    Set set = 0;
    size_t peak = kNone;
  };

  Slot& find(Set set) {
    const size_t mask = slots_.size() - 1;
    size_t at = (set * 0x9e3779b97f4a7c15) >> 32 & mask;  // Fibonacci hashing (Knuth)
    while (slots_[at].peak != kNone && slots_[at].set != set) at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    std::vector<Slot> before(2 * slots_.size());
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.peak != kNone) find(slot.set) = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);
  size_t count_ = 0;
};

class Search {
 public:
  Search(const OrderGraph& graph, size_t below, size_t enough)
      : graph_(graph),
        below_(below),
        enough_(enough),
        before_(graph.steps, 0),
        touched_(graph.touching.size(), 0),
        started_(graph.steps, 0),
        whole_(graph.steps == 64 ? ~Set{0} : bit(graph.steps) - 1) {
    for (int s = 0; s < graph.steps; ++s) {
      for (const int next : graph.after[s]) before_[next] |= bit(s);
    }
    for (size_t v = 0; v < touched_.size(); ++v) {
      for (const int s : graph.touching[v]) touched_[v] |= bit(s);
    }
    std::vector<std::pair<int, Freed>> freed;
    for (int s = 0; s < graph.steps; ++s) {
      const auto bytes = [&](int v) { return static_cast<int64_t>(graph.problem.values[v].bytes); };
      for (const int v : graph.starts[s]) started_[s] += bytes(v);
      for (const int v : graph.touches[s]) {
        if (graph.frees(v)) freed.push_back({s, {touched_[v] & ~bit(s), bytes(v)}});
      }
    }
    freed_ = Lists<Freed>(graph.steps, freed);
  }

  ExactOrder run(int64_t& work) {
    size_t live = 0;
    for (const OrderProblem::Value& value : graph_.problem.values) live += value.given ? value.bytes : 0;
    if (live >= below_) return {{}, true};
    push({0, first_ready(), -1, -1, live, std::max(live, enough_)});
    while (!queue_.empty()) {
      if (work <= 0) return {};
      const int id = queue_.top().second;
      queue_.pop();
      Node node = nodes_[id];
      if (reached_.peak(node.done) < node.peak) continue;  // a lower way was found since
      run_free(node);
      if (node.done == whole_) return {path(id), true};
      if (node.done != nodes_[id].done && !reached_.improve(node.done, node.peak)) continue;
      work -= 2 + std::popcount(node.ready);
      for (Set ready = node.ready; ready != 0; ready &= ready - 1) {
        const int s = std::countr_zero(ready);
        const size_t peak = std::max(node.peak, node.live + need(node.done, s));
        if (peak >= below_) continue;
        Node next{node.done, node.ready, id, s, node.live, peak};
        run(next, s, growth(node.done, s));
        push(next);
      }
    }
    return {{}, true};
  }

 private:
  struct Node {
    Set done, ready;   // of the steps that are not done, those that can be the next
    int parent, step;  // the step that came last
    size_t live, peak;
  };
  struct Freed {
    Set others;  // the steps beside one that touch the value: the last of all frees it
    int64_t bytes;
  };
  using Rank = std::pair<size_t, int>;  // peak, node; of equal peaks the latest first
  struct Later {
    bool operator()(const Rank& a, const Rank& b) const {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    }
  };

  bool is_last(Set done, int s, int v) const { return graph_.frees(v) && (touched_[v] & ~done) == bit(s); }
  size_t need(Set done, int s) const {
    if (graph_.reuses[s].empty()) return graph_.need[s];
    return graph_.need[s] - reused_bytes(graph_.reuses[s], graph_.problem, [&](int v) { return is_last(done, s, v); });
  }
  int64_t growth(Set done, int s) const {
    int64_t bytes = started_[s];
    for (const Freed& value : freed_[s]) {
      if ((value.others & ~done) == 0) bytes -= value.bytes;
    }
    return bytes;
  }
  Set first_ready() const {
    Set ready = 0;
    for (int s = 0; s < graph_.steps; ++s) ready |= before_[s] == 0 ? bit(s) : 0;
    return ready;
  }
  void run(Node& node, int s, int64_t growth) const {
    node.done |= bit(s);
    node.live = static_cast<size_t>(static_cast<int64_t>(node.live) + growth);
    node.ready &= ~bit(s);
    for (const int next : graph_.after[s]) node.ready |= (before_[next] & ~node.done) == 0 ? bit(next) : 0;
  }

  void push(const Node& node) {
    if (!reached_.improve(node.done, node.peak)) return;
    queue_.emplace(node.peak, static_cast<int>(nodes_.size()));
    nodes_.push_back(node);
  }

  // Runs what is safe to run at once.
  void run_free(Node& node, std::vector<int>* ran = nullptr) const {
    for (bool again = true; again;) {
      again = false;
      for (Set ready = node.ready; ready != 0; ready &= ready - 1) {
        const int s = std::countr_zero(ready);
        const int64_t bytes = growth(node.done, s);
        if (bytes > 0 || node.live + need(node.done, s) > node.peak) continue;
        run(node, s, bytes);
        if (ran) ran->push_back(s);
        again = true;
      }
    }
  }

  std::vector<int> path(int id) const {
    std::vector<int> ids, order;
    for (; id >= 0; id = nodes_[id].parent) ids.push_back(id);
    for (const int i : std::views::reverse(ids)) {
      if (nodes_[i].step >= 0) order.push_back(nodes_[i].step);
      Node node = nodes_[i];
      run_free(node, &order);
    }
    return order;
  }

  const OrderGraph& graph_;
  const size_t below_, enough_;
  std::vector<Set> before_;       // of each step
  std::vector<Set> touched_;      // of each value
  std::vector<int64_t> started_;  // of each step: bytes of what it begins
  Lists<Freed> freed_;            // of each step: what it may free
  const Set whole_;
  std::vector<Node> nodes_;
  std::priority_queue<Rank, std::vector<Rank>, Later> queue_;
  Reached reached_;
};

}  // namespace

ExactOrder exact_order(const OrderGraph& graph, size_t below, size_t enough, int64_t& work) {
  return Search(graph, below, enough).run(work);
}

}  // namespace neap::planner
