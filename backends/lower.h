// Steps to kernels, the parts that the kinds share. The public function is lower() in backends/kernel.h.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "backends/kernel.h"
#include "backends/lower_expr.h"
#include "planner/plan/plan.h"

namespace neap::backends {

/// A kernel whose buffers are all of the step's: reads, then writes, then scratch (of the given types).
Kernel kernel_of(const planner::PlanStep& step, Kernel::Kind kind, std::span<const DType> scratch);

/// A launch over all of the step's operands; sets cost_per_element.
Launch launch_of(Kernel kernel);

/// Adds a map kernel's stores for the element at `flat`, a row-major index of the iteration space.
using StoreElements = std::function<void(ElementBuilder&, const IndexExpr& flat, Kernel&)>;

/// The map kernel over `shape` (not empty) that `store` fills in. The two loop levels split the axes of `shape` where
/// the estimated cost is lowest: [1, N] where every access stays free of divisions, else rows by columns.
Kernel best_map(const planner::PlanStep& step, std::span<const DType> scratch, const Shape& shape,
                const StoreElements& store);

/// Makes a map kernel store `value` at element `index` of a buffer.
void add_store(ElementBuilder& elements, Kernel& kernel, int buffer, const IndexExpr& index, scalar::X value);

/// Cost of a whole kernel in vector instructions, if `vector_level` becomes the lanes.
double estimate(const Kernel& kernel, int vector_level);
/// The same for one element, without the waste of short rows.
double cost_per_element(const Kernel& kernel);
/// Instructions that the kernel's results need.
std::vector<bool> live_instructions(const Kernel& kernel);

std::vector<Launch> lower_map(const planner::PlanStep& step);
std::vector<Launch> lower_reduce(const planner::PlanStep& step);
std::vector<Launch> lower_scatter(const planner::PlanStep& step);

}  // namespace neap::backends
