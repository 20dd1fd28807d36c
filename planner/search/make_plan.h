// The planner: of the plans that its pipeline makes of a graph, the best. Tested in tests/planner/plan_test.cpp.
#pragma once

#include <vector>

#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Graph to plan. Throws BudgetError when no plan fits memory_budget.
PlanData make_plan(const tracing::Graph& graph, const PlanOptions& options);

/// What every budget gets: the usual plan, then ever lower peaks. Of the planned pipeline, whatever the options' budget
/// and strategy.
std::vector<Tradeoff> tradeoff(const tracing::Graph& graph, const PlanOptions& options);

}  // namespace neap::planner
