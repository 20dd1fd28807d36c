// This says what became better or worse from one plan to another. Tested in tests/planner/diff_plans_test.cpp.
#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace neap::planner {

struct PlanDiff {
  bool worse = false;  // a higher peak; or the same one and a predicted time that is more than 1 % longer
  std::string text;    // at most 80 columns, but for names
};

/// Compares peaks, steps, strategies, the largest buffers that came, went, grew or live longer, and decisions. Buffers
/// are matched by label, storage and source, decisions by name.
PlanDiff diff_plans(const PlanData& before, const PlanData& after);

}  // namespace neap::planner
