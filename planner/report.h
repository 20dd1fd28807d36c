// What the reports (to_text, to_json, to_html in planner/plan.h) share. Tested in tests/planner/report_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "planner/plan.h"

namespace neap::planner {

/// The step with the most live bytes, the first of them; -1 where there are no steps.
int widest_step(const PlanData& plan);

/// Buffers that hold bytes during a step, the largest first; aliases are left out.
std::vector<int> alive_at(const PlanData& plan, int step);

/// One line for each value alive at the widest step: bytes, storage, shape, what made it, source line.
std::string describe_alive(const PlanData& plan, const std::string& indent);

}  // namespace neap::planner
