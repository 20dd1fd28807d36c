// These write a plan for people and tools. Tested in tests/planner/report_test.cpp and
// tests/planner/parse_plan_test.cpp.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "planner/plan/plan.h"

namespace neap::planner {

std::string to_text(const PlanData&);
std::string to_json(const PlanData&);  // see docs/plan-json.md

/// Returns a step's kernel as text; the planner has none itself (jit/step_kernels.h).
using KernelText = std::function<std::string(const PlanStep&)>;
/// Writes one self-contained page: naive beside planned, every step with what is in it, the decisions.
std::string to_html(const PlanData&, const KernelText& kernels = {});

/// Reads the plan that to_json wrote, as far as the JSON says: enough for the reports and to_json, not to run. A step's
/// group is its results, without nodes. Throws UserError, with `name` and the place in the JSON, for any other text.
PlanData parse_plan(std::string_view json, const std::string& name);

}  // namespace neap::planner
