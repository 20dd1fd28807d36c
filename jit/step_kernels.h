// Kernels as text for pages of plans. Tested in tests/jit/dump_test.cpp.
#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace neap::jit_detail {

/// Returns the kernels that a step is lowered to, in the kernel IR that all backends read; "" where it is none of the
/// kinds that are lowered, or has nothing to compute.
std::string step_kernels(const planner::PlanStep& step);

}  // namespace neap::jit_detail
