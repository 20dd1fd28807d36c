// A loop whose body computes arrays element by element (many filters, paths of prices, particles that do not meet)
// takes each column of them, the same element of all arrays, through all iterations before the next: what is carried
// stays in registers, and threads have columns of their own and never wait for each other. Bits are the same. Tested in
// tests/jit/column_loop_test.cpp.
#pragma once

#include <optional>
#include <span>

#include "backends/cpu/loop_kernel.h"
#include "backends/kernel.h"
#include "planner/plan/plan.h"

namespace neap::cpu {

/// Makes a kernel of the launches of the loop's body, in their order: its rows are the columns, and what it goes
/// through for each are the iterations. nullopt where the body does anything else, and where arrays are so large that
/// what is read and written a column at a time would not stay in a cache.
std::optional<LoopKernel> column_loop_of(const ScanCode& scan, const planner::PlanData& body,
                                         std::span<const backends::Launch> launches);

}  // namespace neap::cpu
