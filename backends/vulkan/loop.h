// A loop of a plan as commands: its body once, and where the body's buffers lie from one iteration to the next.
//
// The body is lowered as any plan is (steps.h); what a loop adds is where its addresses come from, how they move on,
// what is copied to the carries, and how the host learns that a condition no longer holds (program.h). Tested in
// tests/vulkan/loop_test.cpp and tests/vulkan/control_test.cpp.
#pragma once

#include <vector>

#include "backends/vulkan/assembly.h"

namespace neap::vk {

/// Adds the commands of a step of kind scan to the list. `outer` is the scope of the plan that has the step.
void lower_loop(Assembly& assembly, Scope& outer, const planner::PlanStep& step, std::vector<Command>& list);

}  // namespace neap::vk
