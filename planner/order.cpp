#include "planner/order.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "planner/steps.h"

namespace neap::planner {

namespace {

constexpr int kExactSteps = 12;

// The problem as a graph of steps.
struct Dependences {
  std::vector<std::vector<int>> after;    // steps that must come later
  std::vector<int> before;                // number of steps that must come earlier
  std::vector<std::vector<int>> starts;   // values whose first writer the step is
  std::vector<std::vector<int>> touches;  // values that the step reads or writes
  std::vector<int> uses;                  // of each value: how many steps touch it

  explicit Dependences(const OrderProblem& problem)
      : after(problem.steps), before(problem.steps, 0), starts(problem.steps), touches(problem.steps) {
    for (int v = 0; v < static_cast<int>(problem.values.size()); ++v) {
      const OrderProblem::Value& value = problem.values[v];
      std::vector<int> all = value.writers;
      all.insert(all.end(), value.readers.begin(), value.readers.end());
      std::ranges::sort(all);
      all.erase(std::ranges::unique(all).begin(), all.end());
      for (const int s : all) touches[s].push_back(v);
      uses.push_back(static_cast<int>(all.size()));
      if (value.writers.empty()) continue;
      starts[value.writers[0]].push_back(v);
      for (size_t w = 0; w < value.writers.size(); ++w) {
        const int writer = value.writers[w];
        const bool has_next = w + 1 < value.writers.size();
        const int next = has_next ? value.writers[w + 1] : problem.steps;
        for (const int reader : value.readers) {
          if (reader > writer && reader < next) add(writer, reader);
          if (has_next && reader < next && reader > writer) add(reader, next);
        }
        if (has_next) add(writer, next);
      }
    }
  }

  void add(int a, int b) {
    if (a == b) return;
    after[a].push_back(b);
    ++before[b];
  }
};

// Bytes alive while steps run one after the other.
class Simulation {
 public:
  Simulation(const OrderProblem& problem, const Dependences& dependences)
      : problem_(problem), dependences_(dependences), remaining_(dependences.uses) {}

  // What the step needs beside the bytes that are alive when it starts.
  size_t need(int step) const {
    size_t bytes = problem_.scratch[step];
    for (const int v : dependences_.starts[step]) bytes += problem_.values[v].bytes;
    return bytes;
  }
  // Growth of the live bytes by the step, after it.
  int64_t growth(int step) const {
    int64_t bytes = 0;
    for (const int v : dependences_.starts[step]) bytes += static_cast<int64_t>(problem_.values[v].bytes);
    for (const int v : dependences_.touches[step]) {
      if (remaining_[v] == 1 && !problem_.values[v].kept) bytes -= static_cast<int64_t>(problem_.values[v].bytes);
    }
    return bytes;
  }
  // `freeing`, if given, gets the values that only one step is left to touch.
  void run(int step, std::vector<int>* freeing = nullptr) {
    peak = std::max(peak, live + need(step));
    live = static_cast<size_t>(static_cast<int64_t>(live) + growth(step));
    for (const int v : dependences_.touches[step]) {
      if (--remaining_[v] == 1 && freeing) freeing->push_back(v);
    }
  }

  size_t live = 0;
  size_t peak = 0;

 private:
  const OrderProblem& problem_;
  const Dependences& dependences_;
  std::vector<int> remaining_;
};

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

// Among the steps that can run: one that frees more than it makes and passes the peak least, else the earliest.
std::vector<int> list_schedule(const OrderProblem& problem, const Dependences& dependences) {
  Simulation simulation(problem, dependences);
  std::vector<size_t> needs;
  for (int s = 0; s < problem.steps; ++s) needs.push_back(simulation.need(s));
  Ready ready(std::move(needs));
  std::vector<std::vector<int>> touching(problem.values.size());  // the steps that touch each value
  std::vector<int> missing = dependences.before, order, freeing;
  for (int s = 0; s < problem.steps; ++s) {
    for (const int v : dependences.touches[s]) touching[v].push_back(s);
    if (missing[s] == 0) ready.set(s, simulation.growth(s));
  }
  while (!ready.empty()) {
    const int step = ready.best(simulation.peak - simulation.live);
    ready.remove(step);
    freeing.clear();
    simulation.run(step, &freeing);
    order.push_back(step);
    for (const int v : freeing) {  // the one that is left frees it
      if (problem.values[v].kept) continue;
      for (const int other : touching[v]) {
        if (ready.contains(other)) ready.lower(other, problem.values[v].bytes);
      }
    }
    for (const int next : dependences.after[step]) {
      if (--missing[next] == 0) ready.set(next, simulation.growth(next));
    }
  }
  return order;
}

// Dynamic programming over sets of steps done.
std::vector<int> exact_schedule(const OrderProblem& problem, const Dependences& dependences) {
  const int n = problem.steps;
  const size_t sets = size_t{1} << n;
  std::vector<uint32_t> needs(n, 0), touched(problem.values.size(), 0);
  for (int s = 0; s < n; ++s) {
    for (const int next : dependences.after[s]) needs[next] |= 1u << s;
    for (const int v : dependences.touches[s]) touched[v] |= 1u << s;
  }
  const auto live = [&](size_t done) {  // after the steps of the set
    size_t bytes = 0;
    for (size_t v = 0; v < problem.values.size(); ++v) {
      const auto& value = problem.values[v];
      if (value.writers.empty() || !(done >> value.writers[0] & 1)) continue;
      if (value.kept || (touched[v] & ~done) != 0) bytes += value.bytes;
    }
    return bytes;
  };
  constexpr size_t kNever = std::numeric_limits<size_t>::max();
  std::vector<size_t> peak(sets, kNever);
  std::vector<int8_t> last(sets, -1);
  peak[0] = 0;
  for (size_t done = 0; done + 1 < sets; ++done) {
    if (peak[done] == kNever) continue;
    const size_t before = live(done);
    for (int s = 0; s < n; ++s) {
      if ((done >> s & 1) || (needs[s] & ~done) != 0) continue;
      size_t during = before + problem.scratch[s];
      for (const int v : dependences.starts[s]) during += problem.values[v].bytes;
      const size_t then = std::max(peak[done], during);
      const size_t next = done | size_t{1} << s;
      if (then < peak[next]) peak[next] = then, last[next] = static_cast<int8_t>(s);
    }
  }
  std::vector<int> order;
  for (size_t done = sets - 1; done != 0; done &= ~(size_t{1} << last[done])) order.push_back(last[done]);
  std::ranges::reverse(order);
  return order;
}

size_t peak_with(const OrderProblem& problem, const Dependences& dependences, const std::vector<int>& order) {
  Simulation simulation(problem, dependences);
  for (const int s : order) simulation.run(s);
  return simulation.peak;
}

// No order is below what the widest step touches, nor below what is kept.
size_t least_peak(const OrderProblem& problem, const Dependences& dependences) {
  size_t least = 0;
  for (const OrderProblem::Value& value : problem.values) {
    if (value.kept && !value.writers.empty()) least += value.bytes;
  }
  for (int s = 0; s < problem.steps; ++s) {
    size_t bytes = problem.scratch[s];
    for (const int v : dependences.touches[s]) bytes += problem.values[v].bytes;
    least = std::max(least, bytes);
  }
  return least;
}

}  // namespace

size_t peak_of_order(const OrderProblem& problem, const std::vector<int>& order) {
  return peak_with(problem, Dependences(problem), order);
}

std::vector<int> order_steps(const OrderProblem& problem) {
  std::vector<int> best(problem.steps);
  std::iota(best.begin(), best.end(), 0);
  if (problem.steps < 3) return best;
  const Dependences dependences(problem);
  size_t lowest = peak_with(problem, dependences, best);
  if (lowest == least_peak(problem, dependences)) return best;
  const auto offer = [&](std::vector<int> order) {
    const size_t peak = peak_with(problem, dependences, order);
    if (peak < lowest) lowest = peak, best = std::move(order);
  };
  if (problem.steps <= kExactSteps) {
    offer(exact_schedule(problem, dependences));
  } else {
    offer(list_schedule(problem, dependences));
  }
  return best;
}

void order(PlanData& plan) {
  OrderProblem problem;
  problem.steps = static_cast<int>(plan.steps.size());
  problem.values.resize(plan.buffers.size());
  problem.scratch.assign(problem.steps, 0);
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const Storage storage = plan.buffers[b].storage;
    if (storage == Storage::intermediate || storage == Storage::output) problem.values[b].bytes = plan.buffers[b].bytes;
  }
  const auto whole = [&](int b) { return plan.buffers[b].alias_of < 0 ? b : plan.buffers[b].alias_of; };
  for (const int b : plan.outputs) problem.values[b].kept = true;
  for (int s = 0; s < problem.steps; ++s) {
    for (const int b : plan.steps[s].reads) problem.values[whole(b)].readers.push_back(s);
    for (const int b : plan.steps[s].writes) problem.values[whole(b)].writers.push_back(s);
    for (const int b : plan.steps[s].scratch) problem.scratch[s] += plan.buffers[b].bytes;
  }
  const std::vector<int> order = order_steps(problem);
  std::vector<PlanStep> steps;
  steps.reserve(order.size());
  for (const int s : order) steps.push_back(std::move(plan.steps[s]));
  plan.steps = std::move(steps);
  set_live_ranges(plan);
}

}  // namespace neap::planner
