#include "planner/search/budget_ledger.h"

#include <neap/bytes.h>

#include <fmt/format.h>

#include <utility>

#include "planner/place/place.h"
#include "planner/plan/queries.h"

namespace neap::planner {

using tracing::Graph;

namespace {

// Nodes planned in all, until which a search goes on: plans of 1,000 nodes take 10 to 15 ms each.
constexpr double kMostNodes = 80'000;
constexpr int64_t kMostPlacing = 1'000'000'000;  // what placing them may search with (planner/place/place.h)
constexpr double kPlanNodes = 50;                // what a plan costs beside its nodes

}  // namespace

BudgetLedger::BudgetLedger(const PlanData& usual, PlanOptions options)
    : options_(std::move(options)), usual_(alternative("fused", usual)) {
  if (!options_.placing) options_.placing = std::make_shared<SharedPlacing>(kMostPlacing);
  best_.plan = usual;
  curve_.push_back({usual.peak_bytes, usual.predicted_seconds, "fused"});
}

bool BudgetLedger::exhausted() const { return spent_ > kMostNodes * until_; }

void BudgetLedger::charge(const Graph& graph) { charge(kPlanNodes + static_cast<double>(count_nodes(graph))); }

Planned BudgetLedger::plan(const Graph& graph, const FuseOptions& fuse_options) {
  charge(graph);
  return plan_simplified(graph, options_, fuse_options);
}

bool BudgetLedger::enter(const BudgetCandidate& candidate, const std::vector<Decision>& before,
                         const std::optional<Alternative>& instead) {
  if (candidate.plan.peak_bytes >= best_.plan.peak_bytes) return false;
  BudgetCandidate taken = candidate;
  if (!taken.how.empty()) {
    const std::string reason = !fits(taken.plan.peak_bytes) ? "lowers the peak"
                               : taken.chunks > 0
                                   ? fmt::format("the fewest slices that fit {}", format_bytes(*options_.memory_budget))
                                   : fmt::format("fits {}", format_bytes(*options_.memory_budget));
    std::vector<Decision>& decisions = taken.plan.decisions;
    const Decision own = decision_of(taken, reason, instead);
    decisions.insert(decisions.end(), before.begin(), before.end());
    decisions.push_back(own);
  }
  if (taken.chunks > 0) note({taken.plan.peak_bytes, taken.plan.predicted_seconds, "chunked: " + taken.how});
  best_ = std::move(taken);
  return true;
}

Decision BudgetLedger::decision_of(const BudgetCandidate& candidate, const std::string& reason,
                                   const std::optional<Alternative>& instead) const {
  Decision decision;
  decision.what = candidate.what;
  decision.chosen = candidate.strategy;
  decision.reason = fmt::format("{}: {}", candidate.how, reason);
  decision.alternatives = {usual_, alternative(candidate.strategy, candidate.plan)};
  if (instead) decision.alternatives.push_back(*instead);
  return decision;
}

}  // namespace neap::planner
