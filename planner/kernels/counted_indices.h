// This finds indices of gathers and scatters that follow from their place alone: iotas, constants, clipped, shifted,
// scaled and added. The lowering takes such an index for a place that is known when it compiles
// (ElementBuilder::counted in backends/lower_expr.h), so that storing it would only turn neighbours into elements that
// are looked up one by one.
#pragma once

#include <vector>

#include "trace/graph/graph.h"

namespace neap::planner {

/// Tells of each value whether it is such an index, of elements that exist, and nothing else reads it. What is long (24
/// operations) does not count.
std::vector<bool> counted_indices(const tracing::Graph& graph);

}  // namespace neap::planner
