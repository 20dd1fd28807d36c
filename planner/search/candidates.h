// The plans that a program may get where no budget decides, and the search for the best of them: a table of candidates
// (candidates.cpp), each a row that says when it applies and takes its plan where better() (planner/search/better.h)
// prefers that. A new strategy is a row, the rewrite that makes its plan, and a test.
// Tested in tests/planner/candidates_test.cpp.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "planner/pipeline/pipeline.h"
#include "planner/search/better.h"
#include "planner/search/program.h"
#include "planner/search/rematerialize_cheap.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// The best plan of a graph so far, and what candidates leave for those after them.
struct Search {
  const Program& program;           // must outlive this
  PlanOptions options;              // with what was chosen
  tracing::Graph simple;            // simplified, compacted where that is better
  Planned planned;                  // where searches for less begin
  std::optional<PlanData> other{};  // better, but no search begins there: in slices, or naive

  std::vector<std::string_view> taken{};           // names of the candidates that were better, in their order
  std::optional<Planned> plain{};                  // the plan of `simple` before another took its place
  std::optional<Rematerializer> rematerializer{};  // of `planned`, while its values may be made again
  std::optional<Planned> unrolled{};               // of `simple` with small sums as additions
  std::optional<Planned> fused{};                  // what "stored" took the place of
  std::optional<size_t> naive_at_least{};          // bytes that the naive plan holds
  std::optional<PlanData> naive{};                 // the naive plan, where this one might hold more

  struct Start {
    tracing::Graph simple;
    PlanData plan;
  };
  std::vector<Start> others{};  // where a search for less begins as well: what "sunk" took the place of, what was
                                // smaller and too slow

  PlanData& plan() { return other ? *other : planned.plan; }
  const PlanData& plan() const { return other ? *other : planned.plan; }
  const Planned& plain_plan() const { return plain ? *plain : planned; }
  Price price() const { return price_of(plan(), options.target); }
};

struct Candidate {
  std::string_view name;
  bool of_steps;  // it is tried again where steps are parted
  bool (*applies)(Search&);
  bool (*consider)(Search&);  // takes its plan where that is better, and says whether it was
};

/// The candidates in the order in which they are tried.
std::span<const Candidate> candidates();

/// Plans a program simplified, with nothing tried yet. (A Search must not be moved while it has a rematerializer.)
Search begin_search(const Program& program, const PlanOptions& options);
Search begin_search(Program&&, const PlanOptions&) = delete;

/// Tries all candidates.
Search search_candidates(const Program& program, const PlanOptions& options);
Search search_candidates(Program&&, const PlanOptions&) = delete;

/// Plans a program as the naive pipeline does.
PlanData plan_naive(const Program& program, PlanOptions options);

}  // namespace neap::planner
