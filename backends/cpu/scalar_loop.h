// A loop that carries numbers, not arrays, as an ODE of a few variables does, spends its time on calls and on the way
// through memory. Where its body is one kernel of one element, that kernel becomes one whose rows are the iterations,
// and what is carried stays in registers. Bits are the same. Tested in tests/jit/scalar_loop_test.cpp.
#pragma once

#include "backends/cpu/program.h"
#include "backends/kernel.h"
#include "planner/plan/plan.h"

namespace neap::cpu {

/// Makes the only launch of the loop's body the whole loop (ScanCode::at_once), if it can be. All of `scan` but
/// `blocks` is known. Returns whether it was.
bool run_at_once(ScanCode& scan, const planner::PlanData& body, backends::Launch& launch, LaunchCode& code);

}  // namespace neap::cpu
