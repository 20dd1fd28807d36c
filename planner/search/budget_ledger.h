// What a search for less memory has come to: the plan that was asked for, the lowest one, what every budget gets, the
// work that is left. How plans are found is the business of those who enter them here: budget_rematerialize.h and
// budget_slices.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "planner/fuse/fuse.h"
#include "planner/pipeline/pipeline.h"
#include "planner/plan/plan.h"
#include "planner/search/better.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Up to so many nodes many checkpoints and slices are tried.
inline constexpr size_t kFewNodes = 300;

/// A plan that takes as much longer than the fastest is as fast.
inline constexpr double kAsFast = 1.03;

/// The slices of a plan, all of them together.
struct SliceMarks {
  bool split_sums = false;                                 // of floats
  double bytes = std::numeric_limits<double>::infinity();  // of the large values in the smallest slice
};

/// A candidate plan, and where it came from.
struct BudgetCandidate {
  tracing::Graph graph;  // simplified
  PlanData plan;
  std::string strategy = "recompute";
  std::string what, how;  // for its decision
  int64_t chunks = 0;
  SliceMarks slices = {};
};

/// What a search is for.
enum class Wanted : uint8_t {
  fitting,  // the fastest plan within options.memory_budget; where there is none, the lowest
  better,   // the lowest that is better than the usual one (planner/search/better.h)
};

/// What every budget gets of these points: the first, the usual plan, then of all below it those that are faster than
/// all that hold less.
std::vector<Tradeoff> curve_of(std::vector<Tradeoff> points);

class BudgetLedger {
 public:
  /// `usual`: the plan that fits where the budget is large.
  BudgetLedger(const PlanData& usual, PlanOptions options, Wanted wanted = Wanted::fitting);

  const PlanOptions& options() const { return options_; }
  Wanted wanted() const { return wanted_; }
  /// The lowest so far.
  const BudgetCandidate& lowest() const { return lowest_; }
  /// What was asked for, if that was found; else what keep_within() kept; else the lowest.
  PlanData take() { return std::move(answer_ ? answer_->plan : kept_ ? kept_->plan : lowest_.plan); }
  bool answered() const { return answer_.has_value(); }
  /// What every budget gets, from the usual plan to the one with the lowest peak, the faster first.
  std::vector<Tradeoff> curve() const;

  /// Whether nothing better can be found: what fits is as fast as the usual plan; or arguments and results alone hold
  /// too much.
  bool done() const;
  /// Whether such a plan would be taken for an answer.
  bool wants(Price price, const SliceMarks& slices = {}) const;

  /// Whether no plan is wanted that takes so long, and none to which slices or what is computed again is added.
  bool too_long(double seconds) const;

  /// The search has so much work to do, in nodes planned.
  void limit(double nodes) { most_ = std::min(most_, nodes); }
  /// As much at least, for a large program, up to a limit.
  void grant(double nodes);
  /// What follows may go on until this part of all work is done.
  void allow(double part) { until_ = part; }
  bool exhausted() const;
  /// The work of the search in all.
  double most() const { return most_; }
  /// Nodes planned so far; other work in the same unit.
  double spent() const { return spent_; }
  void charge(double nodes) { spent_ += nodes; }
  /// The work of one more plan of the graph.
  void charge(const tracing::Graph& graph);

  /// A plan, charged.
  Planned plan(const tracing::Graph& graph, const FuseOptions& fuse_options);
  /// The same; none that is too_long().
  std::optional<Planned> try_plan(const tracing::Graph& graph, const FuseOptions& fuse_options);

  /// Takes a candidate that is wanted for an answer, and one whose peak is below those of all before: then true.
  /// `before`: the decisions that led to it; `instead`: what was tried in its place.
  bool enter(const BudgetCandidate& candidate, const std::vector<Decision>& before = {},
             const std::optional<Alternative>& instead = {});
  /// What any plan holds: its arguments, or those that stay with the results.
  size_t least_bytes() const { return least_; }

  /// Keeps the fastest plan of so many bytes at most, of those that the curve names, and searches as without that.
  void keep_within(size_t bytes) { most_kept_ = bytes; }
  /// Takes a candidate as it is.
  void set_answer(BudgetCandidate candidate) { answer_ = std::move(candidate); }
  /// Another point of the curve, and how to make its plan, should it be kept.
  void note(Tradeoff point, const std::function<BudgetCandidate()>& make, const std::vector<Decision>& before = {},
            const std::optional<Alternative>& instead = {});

  Decision decision_of(const BudgetCandidate& candidate, const std::string& reason,
                       const std::optional<Alternative>& instead = {}) const;

 private:
  bool fits(size_t peak_bytes) const { return options_.memory_budget && peak_bytes <= *options_.memory_budget; }
  BudgetCandidate decided(const BudgetCandidate& candidate, const std::vector<Decision>& before,
                          const std::optional<Alternative>& instead) const;

  PlanOptions options_;
  Wanted wanted_;
  BudgetCandidate lowest_;
  std::optional<BudgetCandidate> answer_, kept_;
  std::optional<size_t> most_kept_;
  Alternative usual_;
  size_t least_;
  std::vector<Tradeoff> points_;
  double most_, spent_ = 0, until_ = 1;
};

}  // namespace neap::planner
