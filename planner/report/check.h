// This checks whether a plan keeps its own promises, without the code that made it. Tested in
// tests/planner/check_plan_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace neap::planner {

/// Returns one line for each thing that is wrong, in plans of loop bodies too. It finds buffers alive together that
/// overlap or leave the arena, a step that uses a buffer which is not alive or was overwritten, an alias that leaves
/// the buffer it lies in, bytes that are not those of a shape, a peak or a step's bytes that are not those of the
/// buffers, and a peak below the lower bound or above the budget.
std::vector<std::string> check_plan(const PlanData& plan);

}  // namespace neap::planner
