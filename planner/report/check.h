// Whether a plan keeps its own promises, looked up without the code that made it. Tested in
// tests/planner/check_plan_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace neap::planner {

/// What is wrong, one sentence each; empty: nothing. Buffers alive together overlap or leave the arena, a step uses a
/// buffer that is not alive, or reads one after another of the same bytes was written, an alias leaves the buffer it
/// lies in, a buffer's bytes are not those of its shape, or peak, lower bound, a step's bytes or the budget do not
/// agree with the buffers. Plans of loop bodies are looked at too.
std::vector<std::string> check_plan(const PlanData& plan);

}  // namespace neap::planner
