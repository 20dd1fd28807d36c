// Plans in which regions run slice by slice (planner/search/slices.h), for a budget. Tested in
// tests/planner/budget_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/search/budget_ledger.h"
#include "planner/search/slices.h"

namespace neap::planner {

/// A plan in slices, the decisions that led to it, and the slices that they made.
struct SlicedPlan {
  Planned planned;
  std::vector<Decision> decisions;
  SliceMarks slices;
};

class SliceSearch {
 public:
  SliceSearch(BudgetLedger& ledger, FuseOptions fuse_options) : ledger_(ledger), fuse_options_(fuse_options) {}

  /// From a candidate on, one thing after the other in slices, each lower than the one before, until the ledger is
  /// done.
  /// `nested`: the first ones are those after which most could be gained by slicing inside.
  /// `before`: the decisions that led to the start.
  void run(const BudgetCandidate& start, bool nested, std::vector<Decision> before = {});
  /// Where the last run ended.
  SlicedPlan reached() const { return {planned_, decisions_, slices_}; }
  /// The last plan on its way there that took about as long as the one it began with; none where none did.
  const std::optional<SlicedPlan>& reached_for_free() const { return reached_for_free_; }
  /// One region of a plan in a fixed number of slices; false where there is none.
  bool run_once(const Planned& planned, int64_t chunks);

 private:
  // A slicing tried: of the whole graph, or of a loop's body, whose plan alone is made then.
  struct Trial {
    size_t level = 0;
    const Slicing* slicing = nullptr;
    int64_t chunks = 0;
    tracing::Graph graph;
    PlanData plan;
  };

  // How good a plan is, the less the better: its peak, then how much is alive near that of the plan before.
  struct Score {
    size_t peak_bytes = 0;
    double load = 0, seconds = 0;
    auto operator<=>(const Score&) const = default;
  };

  bool slice_one();
  std::optional<BudgetCandidate> slice_more(size_t level, const Slicing& slicing, bool to_the_end);
  bool slice_outside(size_t path);
  bool go_on_from(BudgetCandidate candidate);
  void move_to(tracing::Graph graph);
  std::vector<Slicing> find_slicings(const Level& level, bool outputs);
  std::optional<Trial> lowest_trial(size_t level, const std::vector<Slicing>& all);
  // None where there is no such plan, and unless `however_long`, where it is of the whole and takes too long.
  std::optional<Trial> try_slices(size_t level, const Slicing& slicing, int64_t chunks, bool however_long = false);
  BudgetCandidate complete(Trial trial);
  Score score(const PlanData& plan) const { return score(plan, planned_.plan); }
  static Score score(const PlanData& plan, const PlanData& before);

  BudgetLedger& ledger_;
  const FuseOptions fuse_options_;
  Planned planned_;                      // what the next round begins with
  std::vector<Level> levels_;            // of planned_
  std::optional<Alternative> previous_;  // tried before what a decision is about
  std::vector<Decision> decisions_;      // of rounds that are done
  SliceMarks slices_;                    // of those
  double start_seconds_ = 0;
  std::optional<SlicedPlan> reached_for_free_;
};

}  // namespace neap::planner
