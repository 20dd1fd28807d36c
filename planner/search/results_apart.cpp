#include "planner/search/results_apart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "planner/kernels/predict.h"
#include "planner/place/buffer_assignment.h"
#include "planner/plan/queries.h"

namespace neap::planner {

namespace {

constexpr double kMore = 1.0 / 32;  // of the peak, at most, and no more of it than of the time,
constexpr double kLeast = 0.02;     // of which so much

}  // namespace

void lay_results_apart(PlanData& plan, const PlanOptions& options) {
  const double moves = options.target.gpu ? 0 : move_seconds(plan);
  if (moves == 0) return;
  const double saved = moves / (plan.predicted_seconds + moves);
  if (saved < kLeast) return;
  const auto more = static_cast<size_t>(std::min(kMore, saved) * static_cast<double>(plan.peak_bytes));
  const size_t budget = std::min(plan.budget.value_or(SIZE_MAX), options.machine_memory.value_or(SIZE_MAX));
  const size_t most = std::min(plan.peak_bytes + more, budget);
  PlanData apart = plan;
  Target target = options.target;
  target.carves = false;
  assign_buffers(apart, target, Placing::nowhere);  // as low as could be
  if (apart.peak_bytes > most) return;
  assign_buffers(apart, target);
  if (apart.peak_bytes > most) return;
  apart.lower_bound_bytes = plan.lower_bound_bytes;
  Decision decision{"results", "apart", "", {}};
  decision.reason = fmt::format("moving their pages out of the arena after a run takes {:.0f} us", 1e6 * moves);
  decision.alternatives = {alternative(decision.chosen, apart), alternative("in the arena", plan)};
  apart.decisions.push_back(std::move(decision));
  plan = std::move(apart);
}

}  // namespace neap::planner
