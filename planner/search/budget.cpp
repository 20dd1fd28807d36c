#include "planner/search/budget.h"

#include <neap/bytes.h>
#include <neap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "planner/plan/queries.h"
#include "planner/search/budget_ledger.h"
#include "planner/search/budget_rematerialize.h"
#include "planner/search/budget_slices.h"
#include "planner/search/rematerialize_cheap.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Parts of all work at which parts of the search end, so that none takes the time of those after.
constexpr double kUntilRecompute = 0.35, kUntilRerun = 0.45, kUntilCheapSliced = 0.65, kUntilSlicedRerun = 0.8,
                 kUntilSlices = 0.88, kUntilCheckpointed = 1.12, kUntilNested = 1.2, kUntilSlicesAgain = 1.3;
constexpr double kUntilRecomputeFree = 0.2;  // without a budget: what is taken then was among the first, if at all

constexpr double kPlans = 200;               // of a large program, in all
constexpr double kRematerializerPlans = 10;  // what it plans, most of them not to the end

// Without a budget a search takes about as long as the program: so many nodes, but this many plans of a program that is
// not large. With the fewest nodes all cases of the bench have the plans that half as many again found.
constexpr double kNodesPerSecond = 80'000, kMostNodes = 50'000, kFewestPlans = 150, kFewestNodes = 7'000;

double nodes_of_free_search(const Graph& graph, double seconds) {
  const double few = kFewestPlans * static_cast<double>(count_nodes(graph));
  return std::max(std::min(few, kFewestNodes), std::min(kMostNodes, kNodesPerSecond * seconds));
}

// The plan in which what waits is computed again where that is cheap; none where nothing is.
std::optional<Planned> rematerialize_cheap(BudgetLedger& ledger, const Planned& planned) {
  if (ledger.done() || ledger.exhausted()) return std::nullopt;
  Rematerializer rematerializer(planned, ledger.options());
  rematerializer.rematerialize_cheap();
  rematerializer.rematerialize_products();
  ledger.charge(kRematerializerPlans * static_cast<double>(count_nodes(planned.graph)));
  return rematerializer.take();
}

BudgetCandidate cheap_candidate(Planned planned, std::string what) {
  BudgetCandidate candidate{std::move(planned.graph), std::move(planned.plan)};
  candidate.what = std::move(what);
  candidate.how = "what is cheap is computed again";
  return candidate;
}

// What waits in a plan with slices is computed again as well; then more is sliced.
void slice_again(BudgetLedger& ledger, SliceSearch& slices, const SlicedPlan& sliced) {
  if (sliced.decisions.empty()) return;
  std::optional<Planned> cheap = rematerialize_cheap(ledger, sliced.planned);
  if (!cheap) return;
  BudgetCandidate again = cheap_candidate(*std::move(cheap), "what waits beside slices");
  again.slices = sliced.slices;
  ledger.enter(again, sliced.decisions);
  slices.run(again, false, sliced.decisions);
}

// Where what is cheap is computed again, dear steps run again or slices are made; both.
void search_cheap(BudgetLedger& ledger, const Planned& usual) {
  ledger.allow(kUntilRerun);
  SlicedPlan from{usual, {}, {}};
  if (std::optional<Planned> cheap = rematerialize_cheap(ledger, usual)) {
    from.planned = *std::move(cheap);
    from.decisions = {ledger.decision_of(cheap_candidate(from.planned, "what waits"), "lowers the peak")};
  } else if (ledger.wanted() == Wanted::better) {
    return;  // there is little work to do, and what runs again costs time
  }
  enter_reruns(ledger, from);
  ledger.allow(kUntilCheapSliced);
  SliceSearch slices(ledger, {});
  slices.run({std::move(from.planned.graph), std::move(from.planned.plan)}, false, from.decisions);
  ledger.allow(kUntilSlicedRerun);
  if (slices.reached_for_free()) enter_reruns(ledger, *slices.reached_for_free());
}

// All that is tried, in its order.
void search(BudgetLedger& ledger, const Graph& graph) {
  const Planned usual = ledger.plan(graph, {});
  const Planned again = ledger.plan(graph, kComputeShared);
  ledger.allow(ledger.wanted() == Wanted::better ? kUntilRecomputeFree : kUntilRecompute);
  enter_rematerialized(ledger, graph, {usual, {}}, {again, kComputeShared});
  const BudgetCandidate start{graph, again.plan, "", "", "", 0}, checkpointed = ledger.lowest();
  search_cheap(ledger, usual);
  SliceSearch slices(ledger, kComputeShared);
  ledger.allow(kUntilSlices);
  slices.run(start, false);
  const SlicedPlan sliced = slices.reached();
  const bool from_checkpoints = !checkpointed.how.empty() && !ledger.too_long(checkpointed.plan.predicted_seconds);
  if (from_checkpoints) {
    ledger.allow(kUntilCheckpointed);
    slices.run(checkpointed, false);
  }
  ledger.allow(kUntilNested);
  slices.run(start, true);
  if (from_checkpoints) slices.run(checkpointed, true);
  ledger.allow(kUntilSlicesAgain);
  slice_again(ledger, slices, sliced);
}

// The same, with as much work as the program's size asks for.
void search_long(BudgetLedger& ledger, const Graph& graph) {
  ledger.grant(kPlans * static_cast<double>(count_nodes(graph)));
  search(ledger, graph);
}

}  // namespace

PlanData meet_budget(const Graph& simplified, const PlanData& usual, const PlanOptions& options) {
  BudgetLedger ledger(usual, options);
  if (!ledger.done()) search_long(ledger, simplified);
  PlanData plan = ledger.take();
  plan.tradeoff = ledger.curve();
  return plan;
}

PlanData meet_budget_by_curve(const Graph& simplified, const PlanData& usual, const PlanOptions& options) {
  PlanOptions open = options;
  open.memory_budget.reset();
  BudgetLedger ledger(usual, open);
  if (ledger.least_bytes() > *options.memory_budget) return usual;
  ledger.keep_within(*options.memory_budget);
  search_long(ledger, simplified);
  PlanData plan = ledger.take();
  plan.budget = options.memory_budget;
  plan.tradeoff = ledger.curve();
  return plan;
}

std::optional<PlanData> lower_for_free(const Graph& simplified, const PlanData& usual, const PlanOptions& options) {
  BudgetLedger ledger(usual, options, Wanted::better);
  ledger.limit(nodes_of_free_search(simplified, usual.predicted_seconds));
  if (!ledger.done()) search(ledger, simplified);
  if (!ledger.answered()) return std::nullopt;
  return ledger.take();
}

std::vector<Tradeoff> tradeoff_of(const Graph& simplified, const PlanData& usual, const PlanOptions& options) {
  BudgetLedger ledger(usual, options);
  search_long(ledger, simplified);
  return ledger.curve();
}

void check_budget(const PlanData& plan) {
  if (!plan.budget || plan.peak_bytes <= *plan.budget) return;
  const char* what = plan.budget_of_machine ? "the memory that is left," : "a memory budget of";
  const char* hint = plan.budget_of_machine ? "make these values smaller, or free others"
                                            : "raise the budget to that, or make these values smaller";
  const char* least = plan.naive ? "that of the naive pipeline, which is asked for, has a peak of"
                                 : "the smallest peak that the planner finds is";
  throw BudgetError(
      fmt::format("{}: no plan fits {} {} ({} bytes); {} {} ({} bytes).\nalive at its peak:\n{}{}",
                  plan.name.empty() ? "jit" : plan.name, what, format_bytes(*plan.budget), *plan.budget, least,
                  format_bytes(plan.peak_bytes), plan.peak_bytes, describe_alive(plan, "  "), hint),
      plan.peak_bytes);
}

PlanData plan_in_chunks(const Graph& simplified, const PlanOptions& options, int64_t chunks) {
  const Planned usual = plan_simplified(simplified, options, {});
  BudgetLedger ledger(usual.plan, options);
  if (!SliceSearch(ledger, {}).run_once(usual, chunks)) {
    throw OptionError("strategy chunked: nothing in " + (options.name.empty() ? "the function" : options.name) +
                      " can be computed in slices; leave the strategy to the planner");
  }
  return ledger.take();
}

}  // namespace neap::planner
