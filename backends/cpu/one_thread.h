// Loops whose kernels are faster on one thread. Small arrays stay in the cache of the core that wrote them; where the
// next kernel has the other threads read them (a column of what was written by rows), lines go from core to core, which
// takes longer than all of the kernel's work.
#pragma once

#include <span>

#include "backends/cpu/analysis.h"
#include "backends/cpu/program.h"
#include "backends/kernel.h"

namespace neap::cpu {

/// Tells whether that holds of a loop's body, by an estimate: where all of its steps are kernels and what they write is
/// small. `launches` are those of the body, in the order of its steps.
bool is_faster_on_one_thread(const ScanCode& scan, const planner::PlanData& body,
                             std::span<const backends::Launch> launches, const VectorUnit& unit, int num_threads);

}  // namespace neap::cpu
