// Reports call a step by its op, strategy and reason, which follow from its sub-graph.
#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace neap::planner {

/// Sets op, strategy and reason. `recomputes` says that other steps compute some of its values too.
void name_step(PlanStep& step, bool naive, bool recomputes);

/// Returns the label of a step's scratch buffers.
std::string scratch_label(const PlanStep& step);

/// Notes in the step's strategy and reason that it runs in place.
void name_in_place(PlanStep& step);

}  // namespace neap::planner
