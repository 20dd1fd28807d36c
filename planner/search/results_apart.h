// Results beside the arena. One in the arena leaves it after the run: its pages are moved out, and others come in for
// the next run, which is much of the time of a program that takes little. Results that have memory of their own for the
// whole run stay where they are; but nothing else can lie in their place before they are there. Tested in
// tests/planner/results_apart_test.cpp.
#pragma once

#include "planner/plan/plan.h"

namespace neap::planner {

/// Gives results memory of their own where that saves time and the plan then holds little more, within its budget; with
/// a decision that says so.
void lay_results_apart(PlanData& plan, const PlanOptions& options);

}  // namespace neap::planner
