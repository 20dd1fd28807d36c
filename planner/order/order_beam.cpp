#include "planner/order/order_beam.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace neap::planner {

namespace {

uint64_t hash_of(int step) {  // sums of these tell sets apart
  uint64_t x = (static_cast<uint64_t>(step) + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

struct State {
  std::vector<uint64_t> done;
  std::vector<int> ready;
  uint64_t hash = 0;
  size_t live = 0;
  int trace = -1;  // how it was reached
};

struct Candidate {
  size_t live;
  uint64_t hash;
  int from, step;

  auto operator<=>(const Candidate&) const = default;
};

class Beam {
 public:
  Beam(const OrderGraph& graph, size_t width, size_t limit, bool backward, int64_t& work)
      : graph_(graph),
        next_(backward ? graph.earlier : graph.after),
        previous_(backward ? graph.after : graph.earlier),
        width_(width),
        limit_(limit),
        backward_(backward),
        work_(work) {}

  std::vector<int> run() {
    states_ = {first()};
    alive_ = 1;
    if (states_[0].live > limit_) return {};
    for (int count = 0; count < graph_.steps; ++count) {
      if (work_ <= 0) return {};
      candidates_.clear();
      for (int i = 0; i < static_cast<int>(alive_); ++i) expand(i);
      if (candidates_.empty()) return {};
      keep_best();
    }
    std::vector<int> order;
    for (int t = states_[0].trace; t >= 0; t = traces_[t].first) order.push_back(traces_[t].second);
    if (!backward_) std::ranges::reverse(order);
    return order;
  }

 private:
  State first() const {
    State state;
    state.done.assign((graph_.steps + 63) / 64, 0);
    for (int s = 0; s < graph_.steps; ++s) {
      if (previous_[s].empty()) state.ready.push_back(s);
    }
    for (const OrderProblem::Value& value : graph_.problem.values) {
      const bool counts = value.given || !value.writers.empty();
      if (counts && (backward_ ? value.kept : value.given)) state.live += value.bytes;
    }
    return state;
  }

  static bool is_done(const State& state, int s) { return state.done[s / 64] >> (s % 64) & 1; }

  bool is_last(const State& state, int s, int v) const {
    return graph_.frees(v) && std::ranges::all_of(graph_.touching[v], [&](int other) {
             return other == s || is_done(state, other) != backward_;
           });
  }

  // Adds what can come next; alone what is free: it leaves no more alive.
  void expand(int i) {
    const State& state = states_[i];
    const size_t begin = candidates_.size();
    work_ -= static_cast<int64_t>(4 + state.ready.size() + state.done.size() / 4);
    for (const int s : state.ready) {
      size_t need = graph_.need[s], made = 0, freed = 0;
      for (const int v : graph_.starts[s]) made += graph_.problem.values[v].bytes;
      for (const int v : graph_.touches[s]) freed += is_last(state, s, v) ? graph_.problem.values[v].bytes : 0;
      if (!graph_.reuses[s].empty()) {
        need -= reused_bytes(graph_.reuses[s], graph_.problem, [&](int v) { return is_last(state, s, v); });
      }
      const size_t live = backward_ ? state.live + freed - made : state.live + made - freed;
      if ((backward_ ? live : state.live) + need > limit_) continue;
      const bool free = live <= state.live;
      if (free) candidates_.resize(begin);
      candidates_.push_back({live, state.hash + hash_of(s), i, s});
      if (free) return;
    }
  }

  void keep_best() {
    const size_t most = std::min(candidates_.size(), 4 * width_);  // many are reached twice
    std::ranges::partial_sort(candidates_, candidates_.begin() + static_cast<std::ptrdiff_t>(most));
    spare_.resize(std::max(spare_.size(), std::min(most, width_)));  // states that hold memory
    size_t kept = 0;
    for (size_t i = 0; i < most && kept < width_; ++i) {
      const Candidate& candidate = candidates_[i];
      if (i > 0 && candidates_[i - 1].hash == candidate.hash) continue;  // the same steps are done, as much is alive
      const State& from = states_[candidate.from];
      State& state = spare_[kept++];
      state = from;
      state.live = candidate.live;
      state.hash = candidate.hash;
      state.trace = static_cast<int>(traces_.size());
      traces_.emplace_back(from.trace, candidate.step);
      state.done[candidate.step / 64] |= uint64_t{1} << (candidate.step % 64);
      std::erase(state.ready, candidate.step);
      for (const int after : next_[candidate.step]) {
        if (std::ranges::all_of(previous_[after], [&](int s) { return is_done(state, s); })) {
          state.ready.push_back(after);
        }
      }
    }
    std::swap(states_, spare_);
    alive_ = kept;
  }

  const OrderGraph& graph_;
  const Lists<int>&next_, &previous_;  // of each step, in the direction of the search
  const size_t width_, limit_;
  const bool backward_;
  int64_t& work_;
  std::vector<State> states_, spare_;
  size_t alive_ = 0;  // of the states, those that are in use
  std::vector<Candidate> candidates_;
  std::vector<std::pair<int, int>> traces_;  // the one before, and the step
};

}  // namespace

std::vector<int> beam_order(const OrderGraph& graph, size_t width, size_t limit, bool backward, int64_t& work) {
  return Beam(graph, width, limit, backward, work).run();
}

}  // namespace neap::planner
