// This is the recorder behind neap::Profile.
#pragma once

#include <atomic>
#include <span>

#include "backends/executable.h"

namespace neap::jit_detail {

extern std::atomic<bool> profiling;

/// Adds the timings of one run of a plan.
void record(const planner::PlanData& plan, std::span<const backends::StepTiming> timings);

}  // namespace neap::jit_detail
