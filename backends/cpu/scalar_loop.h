// A loop that carries numbers or a few of them in an array, as an ODE does, spends its time on calls and on the way
// through memory. Where its body is kernels of few elements, they become one whose rows are the iterations, and what is
// carried stays in registers. Bits are the same. Tested in tests/jit/scalar_loop_test.cpp.
#pragma once

#include <optional>
#include <span>

#include "backends/cpu/loop_kernel.h"
#include "backends/kernel.h"
#include "planner/plan/plan.h"

namespace neap::cpu {

/// Makes it of the launches of the loop's body, in their order; nullopt where they are of more than one element, or do
/// anything else than read, carry and stack numbers, or where arrays are of so few `iterations`, those of the loops
/// around it counted, that longer code is not worth its compilation. All of `scan` but `blocks` is known.
std::optional<LoopKernel> scalar_loop_of(const ScanCode& scan, const planner::PlanData& body,
                                         std::span<const backends::Launch> launches, double iterations);

}  // namespace neap::cpu
