#include "planner/search/overlap.h"

#include <neap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.h"
#include "planner/fuse/steps.h"
#include "planner/kernels/cost.h"
#include "planner/kernels/partials.h"
#include "planner/kernels/predict.h"
#include "planner/order/order_graph.h"
#include "planner/pipeline/pipeline.h"
#include "planner/plan/queries.h"
#include "trace/graph/collective.h"

namespace neap::planner {

using namespace tracing;

namespace {

using Phase = PlanStep::Phase;

// By how many steps others may go ahead of what waits for messages: the more, the longer values live.
constexpr std::array kAhead{1 << 30, 32, 8, 2};

// Of the predicted time of messages: networks are slower, and other ranks late.
constexpr double kPatience = 100;

// What a plan may take of the time of one that holds less.
constexpr double kWorthMore = 0.98;

// A collective takes two steps; what lies between them is chosen.
PlanData in_two_steps(const PlanData& plan, double least) {
  PlanData split = plan;
  split.steps.clear();
  for (const PlanStep& step : plan.steps) {
    split.steps.push_back(step);
    if (message_seconds(step) <= least) continue;
    split.steps.back().phase = Phase::begin;
    split.steps.push_back(step);
    split.steps.back().phase = Phase::end;
  }
  return split;
}

bool calls_functions(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.op == Op::host_call || std::ranges::any_of(node.attrs.items(), [](const auto& item) {
             const GraphPtr* inner = std::get_if<GraphPtr>(&item.second);
             return inner && calls_functions(**inner);
           });
  });
}

// What reads a result comes after its end, and nothing is under way while the host runs a function of the program.
void add_barriers(const PlanData& split, OrderProblem& problem) {
  std::vector<int> begins, ends, calls;
  std::map<int, int> written;  // the end that has written each buffer
  const auto use = [&](int s, int b) {
    const auto end = written.find(split.root(b));
    if (end != written.end() && end->second < s) problem.before.emplace_back(end->second, s);
  };
  for (int s = 0; s < static_cast<int>(split.steps.size()); ++s) {
    const PlanStep& step = split.steps[s];
    for (const auto* list : {&step.reads, &step.writes})
      for (const int b : *list) use(s, b);
    if (step.phase == Phase::end) written[split.root(step.writes[0])] = s;
    if (step.phase == Phase::begin) {
      begins.push_back(s);
      for (const int call : calls) problem.before.emplace_back(call, s);
    } else if (step.phase == Phase::end) {
      ends.push_back(s);
    } else if (calls_functions(step.group)) {
      calls.push_back(s);
      for (const int end : ends) problem.before.emplace_back(end, s);
    }
  }
}

// Runs steps in their given order, but for messages, what they need and what waits for them.
class Schedule {
 public:
  Schedule(const PlanData& split, const OrderGraph& graph, const std::vector<double>& seconds, size_t most, int ahead)
      : split_(split), graph_(graph), seconds_(seconds), most_(most), ahead_(ahead), simulation_(graph) {}

  std::vector<int> run() {
    for (int s = 0; s < graph_.steps; ++s) {
      const auto sends = [&](int after) { return step(after).phase == Phase::begin && reads_of(after, s); };
      urgent_.push_back(step(s).phase == Phase::whole && std::ranges::any_of(graph_.after[s], sends));
    }
    for (int s = 0; s < graph_.steps; ++s) {
      missing_.push_back(graph_.earlier[s].size());
      if (missing_[s] == 0) make_ready(s);
    }
    while (std::ssize(order_) < graph_.steps) take(next());
    return std::move(order_);
  }

  /// The largest sum of live bytes, once it has run.
  size_t peak() const { return simulation_.peak; }

 private:
  const PlanStep& step(int s) const { return split_.steps[s]; }
  double end_of(int s) const { return ends_.at(step(s).writes[0]); }
  // Whether a step reads what another writes.
  bool reads_of(int reader, int writer) const {
    return std::ranges::any_of(step(reader).reads, [&](int read) {
      return std::ranges::any_of(step(writer).writes, [&](int b) { return split_.root(b) == split_.root(read); });
    });
  }
  bool fits(int s) const { return simulation_.live + simulation_.need(s) <= most_; }

  // Begins wherever there is room, then what messages have arrived for, then what messages need and holds no more, then
  // the first of all others.
  int next() const {
    int first = graph_.steps;
    for (const std::set<int>* some : {&begins_, &others_})
      if (!some->empty()) first = std::min(first, *some->begin());
    for (const auto& [time, s] : ends_ready_) first = std::min(first, s);
    const auto near = [&](int s) { return s - first <= ahead_; };
    if (!begins_.empty() && near(*begins_.begin()) && fits(*begins_.begin())) return *begins_.begin();
    if (!ends_ready_.empty() && ends_ready_.begin()->first <= now_) return ends_ready_.begin()->second;
    for (const int s : urgents_)
      if (near(s) && fits(s) && simulation_.growth(s) <= 0) return s;
    if (!others_.empty() && (*others_.begin() == first || (near(*others_.begin()) && fits(*others_.begin()))))
      return *others_.begin();
    if (!ends_ready_.empty()) return ends_ready_.begin()->second;
    return first;
  }

  void make_ready(int s) {
    if (step(s).phase == Phase::end)
      ends_ready_.emplace(end_of(s), s);
    else
      (step(s).phase == Phase::begin ? begins_ : others_).insert(s);
    if (urgent_[s]) urgents_.insert(s);
  }

  void take(int s) {
    if (step(s).phase == Phase::end)
      ends_ready_.erase({end_of(s), s});
    else
      (step(s).phase == Phase::begin ? begins_ : others_).erase(s);
    urgents_.erase(s);
    order_.push_back(s);
    simulation_.run(s);
    if (step(s).phase == Phase::begin) {
      sent_ = std::max(sent_, now_) + kPatience * message_seconds(step(s));
      ends_[step(s).writes[0]] = sent_;
      now_ += predicted::kHandOver;
    } else if (step(s).phase == Phase::end) {
      now_ = std::max(now_, end_of(s));
    } else {
      now_ += seconds_[s];
    }
    for (const int after : graph_.after[s]) {
      if (--missing_[after] == 0) make_ready(after);
    }
  }

  const PlanData& split_;
  const OrderGraph& graph_;
  const std::vector<double>& seconds_;
  size_t most_;
  int ahead_;
  OrderSimulation simulation_;
  std::vector<size_t> missing_;
  std::vector<bool> urgent_;                     // of each step: what it writes is sent
  std::set<int> begins_, others_;                // that are ready
  std::set<int> urgents_;                        // of the others
  std::set<std::pair<double, int>> ends_ready_;  // with when their messages arrive
  std::vector<int> order_;
  double now_ = 0, sent_ = 0;
  std::map<int, double> ends_;
};

// A collective beside which nothing runs is one step again.
void join_idle(PlanData& plan, const std::vector<double>& seconds, const std::vector<int>& order, double least) {
  std::map<int, double> beside;  // seconds of the steps between, by what is written
  std::set<int> idle;
  for (const int s : order) {
    const PlanStep& step = plan.steps[s];
    const int written = step.writes[0];
    if (step.phase == Phase::begin) beside[written] = 0;
    if (step.phase == Phase::end && beside.extract(written).mapped() <= least) idle.insert(written);
    if (step.phase == Phase::whole)
      for (auto& [begun, sum] : beside) sum += seconds[s];
  }
  reorder(plan, order);
  const auto is_idle = [&](const PlanStep& step) {
    return step.phase != Phase::whole && idle.contains(step.writes[0]);
  };
  std::erase_if(plan.steps, [&](const PlanStep& step) { return step.phase == Phase::end && is_idle(step); });
  for (PlanStep& step : plan.steps) {
    if (is_idle(step)) step.phase = Phase::whole;
  }
  set_live_ranges(plan);
}

// Says of both steps of a collective what is beside it.
void explain(PlanData& plan) {
  std::map<int, int> begins;
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    PlanStep& step = plan.steps[s];
    if (step.phase == Phase::begin) begins[step.writes[0]] = s;
    if (step.phase != Phase::end) continue;
    const int begin = begins.at(step.writes[0]);
    plan.steps[begin].op += " begins";
    const int beside = s - begin - 1;
    plan.steps[begin].reason += fmt::format(", beside {} step{}", beside, beside == 1 ? "" : "s");
    step.op += " ends";
    step.reason = "what has come";
  }
}

size_t count(const PlanData& plan, Phase phase) {
  size_t found = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.body) found += count(*step.body, phase);
    if (step.phase == phase && message_seconds(step) > 0) ++found;
  }
  return found;
}

class Overlapper {
 public:
  /// A body may have `more` bytes than it has.
  Overlapper(const PlanOptions& options, size_t more)
      : options_(options),
        more_(more),
        all_(options.overlap == Overlap::all),
        least_(all_ ? 0 : predicted::kHandOver) {}

  /// Returns the plan with messages beside other steps, nullopt where there are none. `loop`: whose body it is, or
  /// null. `most`: bytes of its peak; of a body, of its arena.
  std::optional<PlanData> of(const PlanData& plan, const CountedLoop* loop, size_t most) const {
    if (!plan.ordered) return std::nullopt;
    PlanData ordered = *plan.ordered;
    const bool inside = of_bodies(ordered);
    const PlanData split = in_two_steps(ordered, least_);
    std::optional<PlanData> found;
    if (split.steps.size() > ordered.steps.size()) found = in_best_order(split, plan, loop, most);
    if (!found && inside) found = if_better(place_in_order(std::move(ordered), options_, loop), plan, loop, most);
    return found;
  }

 private:
  // Whether one has messages beside its steps.
  bool of_bodies(PlanData& ordered) const {
    bool any = false;
    for (PlanStep& step : ordered.steps) {
      if (!step.body || step.scratch.size() > 1) continue;
      const CountedLoop loop(step.group.nodes[0].attrs);
      const size_t most = step.body->arena_bytes + (step.scratch.empty() ? 0 : more_);
      std::optional<PlanData> body = of(*step.body, &loop, most);
      if (!body) continue;
      any = true;
      step.body = std::make_shared<const PlanData>(*std::move(body));
      if (step.scratch.empty()) continue;
      PlanBuffer& arena = ordered.buffers[step.scratch[0]];
      const std::vector<Aval> needed = scratch_of(step, options_.target);
      arena.aval = needed.empty() ? Aval{{0}, DType::u8} : needed[0];
      arena.bytes = round_up_64(arena.aval.bytes());
    }
    return any;
  }

  std::optional<PlanData> in_best_order(const PlanData& split, const PlanData& plan, const CountedLoop* loop,
                                        size_t most) const {
    OrderProblem problem = order_problem(split, order_options(options_, loop));
    add_barriers(split, problem);
    const OrderGraph graph(problem);
    const size_t room = most - std::min(most, loop ? 0 : held_beside(split, options_.target));
    const std::vector<double> seconds = predict_steps(split, plan.peak_bytes, loop);
    std::vector<int> before;
    for (const int ahead : kAhead) {
      Schedule schedule(split, graph, seconds, room, ahead);
      const std::vector<int> order = schedule.run();
      if (schedule.peak() > room || order == std::exchange(before, order)) continue;
      PlanData ordered = split;
      join_idle(ordered, seconds, order, least_);
      if (std::ranges::none_of(ordered.steps, [](const PlanStep& step) { return step.phase == Phase::begin; }))
        continue;
      explain(ordered);
      std::optional<PlanData> found = if_better(place_in_order(std::move(ordered), options_, loop), plan, loop, most);
      if (found) return found;
    }
    return std::nullopt;
  }

  std::optional<PlanData> if_better(PlanData found, const PlanData& plan, const CountedLoop* loop, size_t most) const {
    const bool fits = (loop ? found.arena_bytes : found.peak_bytes) <= most;
    if (!fits || (!all_ && found.predicted_seconds >= plan.predicted_seconds)) return std::nullopt;
    return found;
  }

  const PlanOptions& options_;
  size_t more_;
  bool all_;
  double least_;  // seconds of messages, and of what runs beside them
};

}  // namespace

void overlap_messages(PlanData& plan, const PlanOptions& options) {
  if (options.overlap == Overlap::none || options.target.gpu || plan.naive || !plan.ordered) return;
  std::optional<PlanData> found = Overlapper(options, 0).of(plan, nullptr, plan.peak_bytes);
  const size_t most = std::min(plan.budget.value_or(0), options.machine_memory.value_or(SIZE_MAX));
  if (most > plan.peak_bytes) {
    std::optional<PlanData> more = Overlapper(options, most - plan.peak_bytes).of(plan, nullptr, most);
    const double seconds = (found ? *found : plan).predicted_seconds;
    if (more && more->predicted_seconds <= kWorthMore * seconds) found = std::move(more);
  }
  if (!found) return;
  const size_t begun = count(*found, Phase::begin), all = begun + count(*found, Phase::whole);
  Decision decision{"messages", "beside other steps", fmt::format("of {} collectives {}", all, begun), {}};
  decision.alternatives = {alternative(decision.chosen, *found), alternative("in turn", plan)};
  PlanData before = std::move(plan);
  plan = *std::move(found);
  plan.name = std::move(before.name);
  plan.budget = before.budget;
  plan.budget_of_machine = before.budget_of_machine;
  plan.tradeoff = std::move(before.tradeoff);
  plan.decisions = std::move(before.decisions);
  plan.passes = std::move(before.passes);
  plan.decisions.push_back(std::move(decision));
}

void drop_ordered(PlanData& plan) {
  plan.ordered.reset();
  for (PlanStep& step : plan.steps) {
    if (!step.body) continue;
    auto body = std::make_shared<PlanData>(*step.body);
    drop_ordered(*body);
    step.body = std::move(body);
  }
}

}  // namespace neap::planner
