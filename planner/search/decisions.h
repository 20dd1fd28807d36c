// Choices as values: what was decided for each random generator and scatter-add, and what else it could have been.
// Tested in tests/planner/choices_test.cpp.
#pragma once

#include "planner/plan/plan.h"
#include "planner/search/program.h"

namespace neap::planner {

/// Adds a decision for each place that draws random bits or scatters with add, with the strategy of its step.
void record_choices(PlanData& plan, const PlanOptions& options);

/// Plans the alternatives of the decisions and fills in their peaks and costs; the chosen one included.
void add_alternatives(PlanData& plan, const Program& program, const PlanOptions& options);

}  // namespace neap::planner
