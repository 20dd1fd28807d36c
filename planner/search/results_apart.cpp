#include "planner/search/results_apart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "planner/kernels/cost.h"
#include "planner/place/buffer_assignment.h"
#include "planner/plan/queries.h"

namespace neap::planner {

namespace {

constexpr double kMore = 1.0 / 32;   // of the peak, at most, and no more of it than of the time,
constexpr double kLeast = 0.02;      // of which so much
constexpr size_t kMoved = 64 << 10;  // bytes of a result whose pages are moved: smaller ones are copied

// Of the moves after a run, by the results that lie in the arena.
double seconds_of_moves(const PlanData& plan) {
  std::set<int> results;
  for (const int b : plan.outputs) results.insert(plan.root(b));
  double seconds = 0;
  for (const int b : results) {
    const PlanBuffer& buffer = plan.buffers[b];
    if (buffer.storage != Storage::output || buffer.offset < 0 || buffer.bytes <= kMoved) continue;
    seconds += predicted::kMove + predicted::kMovedByte * static_cast<double>(buffer.bytes);
  }
  return seconds;
}

}  // namespace

void lay_results_apart(PlanData& plan, const PlanOptions& options) {
  if (plan.naive || !plan.slab || options.target.gpu) return;
  const double moves = seconds_of_moves(plan);
  const double saved = moves / (plan.predicted_seconds + moves);
  if (saved < kLeast) return;
  PlanData apart = plan;
  Target target = options.target;
  target.carves = false;
  assign_buffers(apart, target);
  const auto more = static_cast<size_t>(std::min(kMore, saved) * static_cast<double>(plan.peak_bytes));
  const size_t budget = std::min(plan.budget.value_or(SIZE_MAX), options.machine_memory.value_or(SIZE_MAX));
  if (apart.peak_bytes > std::min(plan.peak_bytes + more, budget)) return;
  Alternative within = alternative("in the arena", plan);
  within.cost += moves;
  apart.lower_bound_bytes = plan.lower_bound_bytes;
  Decision decision{"results", "apart", "their pages need not be moved out of the arena after each run", {}};
  decision.alternatives = {alternative(decision.chosen, apart), std::move(within)};
  apart.decisions.push_back(std::move(decision));
  plan = std::move(apart);
}

}  // namespace neap::planner
