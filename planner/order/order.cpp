#include "planner/order/order.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "planner/order/order_beam.h"
#include "planner/order/order_exact.h"
#include "planner/order/order_hill_valley.h"
#include "planner/order/order_lists.h"

namespace neap::planner {

namespace {

// Work is counted in steps that a search weighs: in all, and beside that for each step of the program; in one window;
// in one search before the beams. It trades the time of planning (neap-plan-speed) for peaks (tests/bench/check_peaks).
constexpr int64_t kWork = 60'000, kWorkPerStep = 10, kWindowWork = 4'000, kFirstWork = 10'000;
constexpr size_t kFirstWidth = 8, kMostWidth = 512;  // of beams
constexpr size_t kFinest = 128;                      // a beam is run where it could gain a 128th of the peak
constexpr int kWindow = 32;                          // steps of a window at the peak
constexpr int kRounds = 3;                           // of segments, each from the order that the last one found

// A part of the program that is ordered by itself.
class Part {
 public:
  Part(const OrderProblem& problem, size_t enough, int64_t& work)
      : graph_(problem), order_(problem.steps), work_(work), enough_(std::max(enough, least_peak(graph_))) {
    std::iota(order_.begin(), order_.end(), 0);
    peak_ = peak_of(graph_, order_);
  }

  void improve() {
    if (done()) return;
    consider(forward_list(graph_));
    if (!done()) consider(backward_list(graph_));
    if (!done()) consider(depth_first(graph_));
    if (!done() && use_hill_valley()) return;
    if (!done() && search(kFirstWork)) return;
    if (!done()) use_beams();
    if (!done() && search(work_)) return;
    if (!done() && graph_.steps > kExactSteps) use_windows();
  }

  const OrderGraph& graph() const { return graph_; }
  const std::vector<int>& order() const { return order_; }

 private:
  bool done() const { return peak_ <= enough_; }
  int64_t lend(int64_t most) {
    const int64_t work = std::max<int64_t>(0, std::min(work_, most));
    work_ -= work;
    return work;
  }

  bool consider(std::vector<int> order) {
    const size_t peak = peak_of(graph_, order);
    if (peak >= peak_) return false;
    peak_ = peak;
    order_ = std::move(order);
    return true;
  }

  // Whether the order is now known to be the best.
  bool search(int64_t most) {
    if (graph_.steps > kExactSteps) return false;
    int64_t work = lend(most);
    ExactOrder found = exact_order(graph_, peak_, enough_, work);
    work_ += work;
    if (!found.order.empty()) consider(std::move(found.order));
    return found.proven;
  }

  // Wider and wider beams, each for a limit halfway between what is known to be possible and what failed.
  void use_beams() {
    int64_t work = lend(work_ / 2);
    const auto affordable = [&](int64_t cost) { return static_cast<size_t>(std::max<int64_t>(0, work) / cost); };
    size_t width = std::min(kFirstWidth, affordable(beam_work(graph_.steps)));
    while (width > 0 && !done()) {
      const int64_t before = work;
      for (size_t failed = enough_ - 1; peak_ - failed > 1 + peak_ / kFinest && work > 0;) {
        const size_t limit = failed + (peak_ - failed) / 2;
        std::vector<int> order = beam_order(graph_, width, limit, true, work);
        if (order.empty()) order = beam_order(graph_, width, limit, false, work);
        if (order.empty()) failed = limit;
        if (!order.empty()) consider(std::move(order));
      }
      const size_t next = std::min({4 * width, width * affordable(1 + before - work), kMostWidth});
      width = next < 2 * width ? 0 : next;
    }
    work_ += work;
  }

  // The given order of the problem is what says which reader of a value is the last. Whether the order is the best.
  bool use_hill_valley() {
    for (int round = 0; round < kRounds && !done(); ++round) {
      const std::vector<int> given = order_;
      const OrderProblem problem = Arrangement(graph_, given).part(0, graph_.steps);
      const OrderGraph graph(problem);
      bool better = false;
      for (const bool last_stays : {false, true}) {
        int64_t work = lend(graph_.steps > kExactSteps ? kFirstWork : 0);
        HillValleyOrder found = hill_valley_order(graph, last_stays, work);
        work_ += work;
        for (int& s : found.order) s = given[s];
        if (found.order.empty()) return false;
        better |= consider(std::move(found.order));
        if (found.proven) return true;
      }
      if (!better) break;
    }
    return false;
  }

  void use_windows() {
    Arrangement arrangement(graph_, order_);
    for (bool better = true; better && work_ > 0;) {
      work_ -= graph_.steps / 8;  // of looking for the peak
      better = false;
      int at = 0;
      while (arrangement.during(at) < peak_) ++at;
      for (const int back : {kWindow / 2, kWindow - 1, 0}) {
        const int begin = std::max(0, at - back), end = std::min(graph_.steps, begin + kWindow);
        if (search_window(arrangement, begin, end)) {
          better = true;
          break;
        }
      }
      peak_ = arrangement.peak();
      if (done()) break;
    }
    order_ = arrangement.order();
  }

  bool search_window(Arrangement& arrangement, int begin, int end) {
    const OrderProblem problem = arrangement.part(begin, end);
    const OrderGraph window(problem);
    std::vector<int> given(problem.steps);
    std::iota(given.begin(), given.end(), 0);
    const size_t peak = peak_of(window, given), base = arrangement.peak(begin, end) - peak;
    int64_t work = lend(kWindowWork);
    const ExactOrder found = exact_order(window, peak, enough_ - std::min(enough_, base), work);
    work_ += work;
    if (found.order.empty()) return false;
    arrangement.reorder(window, begin, found.order);
    return true;
  }

  OrderGraph graph_;
  std::vector<int> order_;
  size_t peak_ = 0;
  int64_t& work_;
  size_t enough_;
};

// The stretches between steps that every order has at the same place.
std::vector<std::pair<int, int>> parts_between(const std::vector<int>& separators, int steps) {
  std::vector<std::pair<int, int>> parts;
  int begin = 0;
  for (size_t i = 0; i <= separators.size(); ++i) {
    const int end = i < separators.size() ? separators[i] : steps;
    if (end - begin > 1) parts.emplace_back(begin, end);
    begin = end + 1;
  }
  return parts;
}

}  // namespace

bool no_easier(const OrderProblem& problem, const OrderProblem& than) {
  if (problem.steps != than.steps || problem.values != than.values || problem.scratch != than.scratch ||
      problem.before != than.before) {
    return false;
  }
  auto it = than.reuses.begin();  // those of the one are some of the other's, in its order
  for (const OrderProblem::Reuse& reuse : problem.reuses) {
    it = std::find(it, than.reuses.end(), reuse);
    if (it == than.reuses.end()) return false;
    ++it;
  }
  return true;
}

size_t peak_of_order(const OrderProblem& problem, const std::vector<int>& order) {
  return peak_of(OrderGraph(problem), order);
}

std::vector<int> order_steps(const OrderProblem& problem) { return order_steps(OrderGraph(problem)); }

std::vector<int> order_steps(const OrderGraph& graph) {
  const OrderProblem& problem = graph.problem;
  std::vector<int> given(problem.steps);
  std::iota(given.begin(), given.end(), 0);
  if (problem.steps < 2) return given;
  Arrangement arrangement(graph, given);
  size_t enough = least_peak(graph);
  int64_t work = kWork + kWorkPerStep * problem.steps;
  using Entry = std::pair<size_t, std::pair<int, int>>;
  std::priority_queue<Entry> parts;  // the one with the highest peak first
  for (const auto& [begin, end] : parts_between(arrangement.separators(), problem.steps)) {
    parts.push({arrangement.peak(begin, end), {begin, end}});
  }
  for (; !parts.empty() && parts.top().first > enough; parts.pop()) {
    const auto [begin, end] = parts.top().second;
    const OrderProblem inner = arrangement.part(begin, end);
    std::vector<int> order(inner.steps);
    std::iota(order.begin(), order.end(), 0);
    const size_t base = parts.top().first - peak_of_order(inner, order);
    Part part(inner, enough - std::min(enough, base), work);
    part.improve();
    arrangement.reorder(part.graph(), begin, part.order());
    enough = std::max(enough, arrangement.peak(begin, end));  // the others need be no lower
  }
  return arrangement.order();
}

}  // namespace neap::planner
