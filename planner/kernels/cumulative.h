// Backends run the cumulative ops (cumsum, cumprod, cummax, cummin) along any axis, as one step each: an element is
// what it and those before it (Attr::reverse: behind it) give. Sums and products of floats are accumulated in f64 and
// rounded where they are written. A row has blocks, and the bits follow from its length alone (cumulative_block()):
// slices of the other axes, and vmap, change none. Tested in tests/planner/cumulative_test.cpp and
// tests/conformance/cumulative_test.cpp.
#pragma once

#include <vector>

#include "planner/kernels/cumulative_form.h"
#include "trace/graph/graph.h"

namespace neap::planner {

CumulativeForm cumulative_form(const tracing::Graph& graph, const tracing::Node& node);

/// Returns the dtype of what is accumulated on a GPU.
DType cumulative_accumulator(const CumulativeForm& form);
/// Returns the scratch of the step: totals of blocks, where there are several.
std::vector<Aval> cumulative_scratch(const CumulativeForm& form, bool gpu);

}  // namespace neap::planner
