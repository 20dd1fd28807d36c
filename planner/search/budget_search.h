// The search for plans that fit a budget (planner/search/budget.h), by what it tries: budget_search.cpp is the order in
// which it tries, budget_recompute.cpp plans that compute again, budget_slices.cpp plans in which regions run slice by
// slice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/fuse/fuse.h"
#include "planner/pipeline/pipeline.h"
#include "planner/plan/plan.h"
#include "planner/search/slices.h"
#include "trace/graph/graph.h"

namespace neap::planner {

class BudgetSearch {
 public:
  /// `first` is the usual plan of `simplified`.
  BudgetSearch(tracing::Graph simplified, Planned first, PlanOptions options);

  /// Looks for a plan that fits options.memory_budget: all that it comes by without one.
  void run();
  /// One region in a fixed number of slices; false where there is none.
  bool slice_once(int64_t chunks);

  bool done() const { return fits(best_.plan.peak_bytes); }
  /// What every budget gets, from the usual plan to the one with the lowest peak.
  const std::vector<Tradeoff>& curve() const { return seen_; }
  PlanData take() { return std::move(best_.plan); }

 private:
  static constexpr size_t kFewNodes = 300;  // up to here many checkpoints and slices are tried

  // A candidate plan, and where it came from.
  struct Candidate {
    tracing::Graph graph;  // simplified
    PlanData plan;
    std::string strategy = "recompute";
    std::string what, how;  // for its decision
    int64_t chunks = 0;
  };

  // How to make a plan that computes again, and what it comes to.
  struct Recipe {
    size_t peak_bytes = 0;
    double seconds = 0;
    const Planned* from = nullptr;
    FuseOptions fuse_options;
    std::optional<std::vector<tracing::ValueId>> kept;  // none: `from` itself
    const tracing::Node* first = nullptr;               // that waits; in `from`

    std::string how() const;
  };

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

  bool fits(size_t peak_bytes) const { return options_.memory_budget && peak_bytes <= *options_.memory_budget; }
  bool exhausted() const;
  void charge(const tracing::Graph& graph) const;
  Planned plan(const tracing::Graph& graph) const { return plan(graph, fuse_options_); }
  Planned plan(const tracing::Graph& graph, const FuseOptions& fuse_options) const;
  bool record(const Candidate& candidate);
  Decision decision_of(const Candidate& sliced, const std::string& reason) const;

  void compute_again(const Planned& usual);
  void add_checkpoints(const Planned& from, const FuseOptions& fuse_options, std::vector<Recipe>& recipes) const;
  Candidate expand(const Recipe& recipe) const;

  void slice_from(const Candidate& start, bool nested);
  bool slice_one();
  std::optional<Candidate> slice_more(size_t level, const Slicing& slicing);
  bool slice_outside(size_t path);
  bool go_on_from(Candidate candidate);
  std::vector<Slicing> find_slicings(const Level& level, bool outputs) const;
  std::optional<Trial> lowest_trial(size_t level, const std::vector<Slicing>& all) const;
  std::optional<Trial> try_slices(size_t level, const Slicing& slicing, int64_t chunks) const;
  Candidate complete(Trial trial) const;
  static Score score(const PlanData& plan, const PlanData& before);

  PlanOptions options_;
  tracing::Graph graph_;
  Planned planned_;            // of graph_
  std::vector<Level> levels_;  // of planned_
  FuseOptions fuse_options_;
  Candidate best_;
  Alternative fused_;
  std::optional<Alternative> previous_;
  std::vector<Tradeoff> seen_;
  std::vector<Decision> decisions_;  // of rounds that are done
  mutable double planned_nodes_ = 0;
  double until_ = 1;  // of all that is planned
};

}  // namespace neap::planner
