#include "planner/search/budget_rematerialize.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "planner/rewrite/simplify.h"
#include "planner/search/loop_checkpoints.h"
#include "planner/search/rematerialize.h"
#include "planner/search/rematerialize_reruns.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr double kPartsOfLoops[] = {0.25, 0.5, 0.75, 1};               // of what loops in segments would save
constexpr double kPartsHeld[] = {0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4};  // of a plan's peak, by steps that run again
constexpr double kPartsOfBudget[] = {1, 0.95};                         // plans may hold more than their steps say
constexpr int kRoundsOfReruns = 3;
constexpr int64_t kRerunWork = 1'000'000;  // of each
constexpr double kRerunWorkOfNode = 300;   // that takes the time of a node planned
constexpr size_t kSegments[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64};  // between values that are kept

// How to make a plan that computes again, and what it comes to.
struct Recipe {
  FusedPlan from;
  std::optional<std::vector<ValueId>> kept;  // none: `from` itself
  const LoopCheckpoints* loops = nullptr;    // `from` is a plan of this
  const Node* first = nullptr;               // that waits; in `from`
  size_t peak_bytes = 0;
  double seconds = 0;

  std::string how() const {
    if (!kept) return loops ? loops->how : "values with several readers are computed by each";
    const std::string again = fmt::format("{} values kept, others computed again from them", kept->size());
    return loops ? loops->how + "; " + again : again;
  }
};

// Loops in segments, and their plan.
struct Segmented {
  LoopCheckpoints loops;
  Planned planned;
};

// Peaks to reach, the highest first: parts of what a plan holds, and the budget if that is lower. Where no plan can
// have that, and for the curve, the lowest there is.
std::vector<size_t> targets_below(size_t peak_bytes, const BudgetLedger& ledger) {
  std::vector<size_t> targets;
  for (const double part : kPartsHeld) targets.push_back(static_cast<size_t>(part * static_cast<double>(peak_bytes)));
  if (ledger.wanted() == Wanted::fitting) {
    const size_t budget = std::max(ledger.options().memory_budget.value_or(0), ledger.least_bytes());
    for (const double part : kPartsOfBudget) {
      const auto target = static_cast<size_t>(part * static_cast<double>(budget));
      if (target > 0 && target < peak_bytes) targets.push_back(target);
    }
  }
  std::ranges::sort(targets, std::ranges::greater());
  return targets;
}

class Rematerialization {
 public:
  Rematerialization(BudgetLedger& ledger, const Graph& graph) : ledger_(ledger), graph_(graph) {}

  void run(const FusedPlan& usual, const FusedPlan& again) {
    add_plan(again, nullptr);
    add_checkpoints(usual);
    add_checkpoints(again);
    add_loops(usual.fuse_options);
    std::vector<const Recipe*> fastest_first;
    for (const Recipe& recipe : recipes_) fastest_first.push_back(&recipe);
    std::ranges::sort(fastest_first, {}, [](const Recipe* r) { return std::tie(r->seconds, r->peak_bytes, r->kept); });
    const Recipe *lowest = nullptr, *entered = nullptr;
    for (const Recipe* recipe : fastest_first) {
      if (ledger_.done()) return;
      if (recipe->peak_bytes >= (lowest ? lowest->peak_bytes : ledger_.lowest().plan.peak_bytes)) continue;
      lowest = recipe;
      ledger_.note({recipe->peak_bytes, recipe->seconds, "recompute: " + recipe->how()},
                   [&] { return expand(*recipe); });
      if (!ledger_.wants({recipe->peak_bytes, recipe->seconds})) continue;
      entered = recipe;
      enter(*recipe);
    }
    if (lowest != entered && !ledger_.done()) enter(*lowest);
  }

 private:
  void add_plan(const FusedPlan& from, const LoopCheckpoints* loops) {
    const PlanData& plan = from.planned.plan;
    recipes_.push_back({from, {}, loops, nullptr, plan.peak_bytes, plan.predicted_seconds});
  }

  // Loops run in segments of their steps: some of them, all of them, on more and more levels.
  void add_loops(const FuseOptions& fuse_options) {
    const Segmented* lowest = nullptr;
    for (int levels = 1; levels <= kMostLevels; ++levels) {
      const LoopsToSegment loops(graph_, levels);
      size_t before = 0;
      for (const double part : kPartsOfLoops) {
        if (loops.empty() || ledger_.exhausted()) return;
        const size_t count = loops.count(part);
        if (std::exchange(before, count) == count) continue;
        LoopCheckpoints checkpoints = loops.checkpoint(count);
        Planned planned = ledger_.plan(checkpoints.graph, fuse_options);
        const Segmented& made = segmented_.emplace_back(std::move(checkpoints), std::move(planned));
        add_plan({made.planned, fuse_options}, &made.loops);
        if (!lowest || made.planned.plan.peak_bytes < lowest->planned.plan.peak_bytes) lowest = &made;
      }
    }
    if (lowest) add_checkpoints({lowest->planned, fuse_options}, &lowest->loops);
  }

  // Only some of what waits across the peak step is kept: the values between two parts of what comes before it, or
  // those that wait, one out of several; or of the part of them that is read last.
  void add_checkpoints(const FusedPlan& from, const LoopCheckpoints* loops = nullptr) {
    const Graph& graph = from.planned.graph;
    const std::vector<ValueId> all = live_across_peak(from.planned);
    if (all.empty()) return;
    size_t total = 0;
    for (const ValueId v : all) total += graph.aval(v).bytes();
    std::set<std::vector<ValueId>> tried{all};
    const auto add = [&](std::vector<ValueId> kept) {
      if (ledger_.exhausted() || !tried.insert(kept).second) return;
      Recipe recipe{from, std::move(kept), loops, graph.def(all.front())};
      const std::optional<Planned> planned = ledger_.try_plan(graph_of(recipe), from.fuse_options);
      if (!planned) return;
      recipe.peak_bytes = planned->plan.peak_bytes;
      recipe.seconds = planned->plan.predicted_seconds;
      recipes_.push_back(std::move(recipe));
    };
    const Frontiers frontiers(from.planned);
    for (const size_t segments : kSegments) add(frontiers.checkpoints(total / segments));
    if (graph.nodes.size() > kFewNodes) return;
    for (const size_t part : {1, 2, 4}) {
      const std::span values = std::span(all).first(all.size() / part);
      for (const size_t segments : kSegments) {
        if (segments > values.size()) break;
        size_t bytes = 0;
        for (const ValueId v : values) bytes += graph.aval(v).bytes();
        std::vector<ValueId> kept = checkpoints(from.planned, values, bytes / segments);
        kept.insert(kept.end(), all.begin() + std::ssize(values), all.end());
        add(std::move(kept));
      }
    }
  }

  static Graph graph_of(const Recipe& recipe) {
    return simplify(rematerialize_from(recipe.from.planned, *recipe.kept));
  }

  void enter(const Recipe& recipe) {
    const BudgetCandidate candidate = expand(recipe);
    if (recipe.kept) ledger_.charge(candidate.graph);
    ledger_.enter(candidate);
  }

  BudgetCandidate expand(const Recipe& recipe) {
    BudgetCandidate candidate;
    if (!recipe.kept) {
      candidate.graph = recipe.loops ? recipe.loops->graph : graph_;
      candidate.plan = recipe.from.planned.plan;
      if (!recipe.loops) return candidate;
      candidate.what = fmt::format("what {} at {} leaves for the way back", name(recipe.loops->first.op),
                                   to_string(recipe.loops->first.loc));
      candidate.how = recipe.how();
      return candidate;
    }
    candidate.graph = graph_of(recipe);
    candidate.plan = plan_simplified(candidate.graph, ledger_.options(), recipe.from.fuse_options).plan;
    candidate.what = fmt::format("what waits from {} at {} on", name(recipe.first->op), to_string(recipe.first->loc));
    candidate.how = recipe.how();
    return candidate;
  }

  BudgetLedger& ledger_;
  const Graph& graph_;
  std::vector<Recipe> recipes_;
  std::deque<Segmented> segmented_;
};

}  // namespace

void enter_rematerialized(BudgetLedger& ledger, const Graph& graph, const FusedPlan& usual, const FusedPlan& again) {
  Rematerialization(ledger, graph).run(usual, again);
}

void enter_reruns(BudgetLedger& ledger, SlicedPlan from) {
  for (int round = 0; round < kRoundsOfReruns; ++round) {
    std::optional<Planned> lowest;
    for (const size_t target : targets_below(from.planned.plan.peak_bytes, ledger)) {
      if (ledger.done() || ledger.exhausted()) return;
      int64_t work = kRerunWork;
      std::optional<Rerun> rerun = rerun_within(from.planned, target, work);
      ledger.charge(static_cast<double>(kRerunWork - work) / kRerunWorkOfNode);
      if (!rerun) break;
      Planned planned = ledger.plan(simplify(rerun->graph), {});
      BudgetCandidate candidate{planned.graph, planned.plan};
      candidate.what = "what waits";
      candidate.how = "steps run again where that takes the least time";
      candidate.slices = from.slices;
      ledger.note(
          {candidate.plan.peak_bytes, candidate.plan.predicted_seconds, "recompute: " + candidate.how},
          [&] { return candidate; }, from.decisions);
      ledger.enter(candidate, from.decisions);
      const size_t least = lowest ? lowest->plan.peak_bytes : from.planned.plan.peak_bytes;
      if (planned.plan.peak_bytes < least) lowest = std::move(planned);
      if (!rerun->reached) break;
    }
    if (!lowest) return;
    from.planned = *std::move(lowest);
  }
}

}  // namespace neap::planner
