#include "planner/search/budget.h"

#include <neap/bytes.h>
#include <neap/error.h>

#include <fmt/format.h>

#include <utility>

#include "planner/plan/queries.h"
#include "planner/search/budget_search.h"

namespace neap::planner {

using namespace tracing;

PlanData meet_budget(const Graph& simplified, Planned first, const PlanOptions& options) {
  BudgetSearch search(simplified, std::move(first), options);
  if (!search.done()) search.run();
  PlanData plan = search.take();
  plan.tradeoff = search.curve();
  return plan;
}

std::vector<Tradeoff> tradeoff_of(const Graph& simplified, Planned first, const PlanOptions& options) {
  BudgetSearch search(simplified, std::move(first), options);
  search.run();
  return search.curve();
}

void check_budget(const PlanData& plan) {
  if (!plan.budget || plan.peak_bytes <= *plan.budget) return;
  throw BudgetError(fmt::format("{}: no plan fits a memory budget of {} ({} bytes); the smallest peak that the planner "
                                "finds is {} ({} bytes).\n"
                                "alive at its widest moment:\n{}raise the budget to that, or make these values smaller",
                                plan.name.empty() ? "jit" : plan.name, format_bytes(*plan.budget), *plan.budget,
                                format_bytes(plan.peak_bytes), plan.peak_bytes, describe_alive(plan, "  ")),
                    plan.peak_bytes);
}

PlanData plan_in_chunks(const Graph& simplified, const PlanOptions& options, int64_t chunks) {
  BudgetSearch search(simplified, plan_simplified(simplified, options, {}), options);
  if (!search.slice_once(chunks)) {
    throw OptionError("strategy chunked: nothing in " + (options.name.empty() ? "the function" : options.name) +
                      " can be computed in slices; leave the strategy to the planner");
  }
  return search.take();
}

}  // namespace neap::planner
