// What a step is called in reports: its op, strategy and reason, from its sub-graph.
#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace neap::planner {

/// Sets op, strategy and reason. `recomputes`: some of its values are computed by other steps too.
void name_step(PlanStep& step, bool naive, bool recomputes);

/// The label of a step's scratch buffer.
std::string scratch_label(const PlanStep& step);

/// Adds the alias of an output to an input to the step's strategy and reason.
void name_in_place(PlanStep& step);

}  // namespace neap::planner
