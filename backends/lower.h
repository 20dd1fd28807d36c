// The kinds of steps share these when they are lowered to kernels. The public function is lower() in backends/kernel.h.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "backends/kernel.h"
#include "backends/lower_expr.h"
#include "planner/plan/plan.h"

namespace neap::backends {

/// Makes a kernel whose buffers are all of the step's: reads, then writes, then scratch (of the given types).
Kernel kernel_of(const planner::PlanStep& step, Kernel::Kind kind, std::span<const DType> scratch);

/// Makes a launch over all of the step's operands, and sets cost_per_element.
Launch launch_of(Kernel kernel);

/// Adds a map kernel's stores for the element at `flat`, a row-major index of the iteration space.
using StoreElements = std::function<void(ElementBuilder&, const IndexExpr& flat, Kernel&)>;

/// Makes the map kernel over `shape` (not empty) that `store` fills in. Its two loops are [1, N] where no access then
/// needs a division; else they split the axes of `shape` where the estimated cost is lowest. An iteration is one
/// element or, if they may go `together`, a whole last axis of few.
Kernel best_map(const planner::PlanStep& step, std::span<const DType> scratch, const Shape& shape,
                const StoreElements& store, bool together = false);

/// Makes a map kernel store `value` at element `index` of a buffer.
void add_store(ElementBuilder& elements, Kernel& kernel, int buffer, const IndexExpr& index, scalar::X value);

/// Estimates the cost of a whole kernel in vector instructions, if `vector_level` becomes the lanes.
double estimate(const Kernel& kernel, int vector_level);
/// Estimates the cost of one element without the waste of short rows, in units of planner/kernels/cost.h.
double cost_per_element(const Kernel& kernel);
/// Counts the loads that lanes of the inner loop find far apart and neighbouring rows do, too.
int far_loads(const Kernel& kernel);
/// Marks the instructions that the kernel's results need.
std::vector<bool> live_instructions(const Kernel& kernel);

std::vector<Launch> lower_map(const planner::PlanStep& step);
std::vector<Launch> lower_reduce(const planner::PlanStep& step);
std::vector<Launch> lower_scatter(const planner::PlanStep& step);

}  // namespace neap::backends
