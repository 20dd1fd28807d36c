// Meeting a memory budget: ever other candidate plans, the fastest that fits wins.
//
// The plans that are tried, and their order, hardly depend on the budget, so a smaller budget gives no faster plan,
// where the usual plan is the fastest: the search ends with what fits and takes at most 3 % longer than that one. It
// tries the usual plan; those that compute again instead of keeping, from ever fewer checkpoints
// (planner/search/rematerialize.h), the fastest first; then regions in slices (planner/search/slices.h), for each the
// slicing that lowers the peak most, in more and more slices, here or inside the slices made before; the same of the
// lowest plan with checkpoints; slicings that leave most to gain inside them; last, what waits in the plan in slices is
// computed again where that is cheap, and more of it is sliced. The search ends after a fixed amount of work, and so do
// all the placements together of what it tries. Tested in tests/planner/budget_test.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/pipeline/pipeline.h"
#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Tells whether a plan fits options.memory_budget, where there is one.
inline bool fits(const PlanData& plan, const PlanOptions& options) {
  return !options.memory_budget || plan.peak_bytes <= *options.memory_budget;
}

/// The fastest plan that fits options.memory_budget, else the one with the lowest peak (check_budget then says so).
/// `usual` is the plan of `simplified` without one.
PlanData meet_budget(const tracing::Graph& simplified, const PlanData& usual, const PlanOptions& options);

/// The fastest plan that fits it of those that tradeoff_of() lists, else the lowest of them; `usual` where arguments
/// and results alone do not fit.
PlanData meet_budget_by_curve(const tracing::Graph& simplified, const PlanData& usual, const PlanOptions& options);

/// The lowest plan that is better than the usual one (planner/search/better.h) without a budget; nullopt where there is
/// none. The search takes about as long as the program is predicted to run, or some 0.1 s if that is more, but less for
/// a small program.
std::optional<PlanData> lower_for_free(const tracing::Graph& simplified, const PlanData& usual,
                                       const PlanOptions& options);

/// What the search for ever smaller budgets comes by: see planner/plan/plan.h.
std::vector<Tradeoff> tradeoff_of(const tracing::Graph& simplified, const PlanData& usual, const PlanOptions& options);

/// Throws BudgetError when the plan's peak is above its budget: the peak is then the smallest feasible one.
void check_budget(const PlanData& plan);

/// On request: the region with most to gain (or, with nothing stored on the way, the largest output) in so many slices.
/// OptionError where nothing can be sliced.
PlanData plan_in_chunks(const tracing::Graph& simplified, const PlanOptions& options, int64_t chunks);

}  // namespace neap::planner
