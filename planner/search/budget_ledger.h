// What a search for a plan that fits a budget has come to: the best plan, what every budget gets, the work that is
// left. How plans are found is the business of those who enter them here: budget_rematerialize.h and budget_slices.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/fuse/fuse.h"
#include "planner/pipeline/pipeline.h"
#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Up to so many nodes many checkpoints and slices are tried.
inline constexpr size_t kFewNodes = 300;

/// A candidate plan, and where it came from.
struct BudgetCandidate {
  tracing::Graph graph;  // simplified
  PlanData plan;
  std::string strategy = "recompute";
  std::string what, how;  // for its decision
  int64_t chunks = 0;
};

class BudgetLedger {
 public:
  /// `usual`: the plan that fits where the budget is large.
  BudgetLedger(const PlanData& usual, PlanOptions options);

  const PlanOptions& options() const { return options_; }
  const BudgetCandidate& best() const { return best_; }
  PlanData take() { return std::move(best_.plan); }
  /// What every budget gets, from the usual plan to the one with the lowest peak.
  const std::vector<Tradeoff>& curve() const { return curve_; }

  bool fits(size_t peak_bytes) const { return options_.memory_budget && peak_bytes <= *options_.memory_budget; }
  bool done() const { return fits(best_.plan.peak_bytes); }

  /// What follows may go on until this part of all work is done.
  void allow(double part) { until_ = part; }
  bool exhausted() const;
  /// Nodes planned so far; other work in the same unit.
  double spent() const { return spent_; }
  void charge(double nodes) { spent_ += nodes; }
  /// The work of one more plan of the graph.
  void charge(const tracing::Graph& graph);

  /// A plan, charged.
  Planned plan(const tracing::Graph& graph, const FuseOptions& fuse_options);

  /// Takes a candidate if its peak is below those of all before, which did not fit, or there would be none after.
  /// `before`: the decisions that led to it; `instead`: what was tried in its place.
  bool enter(const BudgetCandidate& candidate, const std::vector<Decision>& before = {},
             const std::optional<Alternative>& instead = {});
  /// Takes a candidate as it is.
  void set_best(BudgetCandidate candidate) { best_ = std::move(candidate); }
  /// Another point of the curve, below those before.
  void note(Tradeoff point) { curve_.push_back(std::move(point)); }

  Decision decision_of(const BudgetCandidate& candidate, const std::string& reason,
                       const std::optional<Alternative>& instead = {}) const;

 private:
  PlanOptions options_;
  BudgetCandidate best_;
  Alternative usual_;
  std::vector<Tradeoff> curve_;
  double spent_ = 0, until_ = 1;
};

}  // namespace neap::planner
