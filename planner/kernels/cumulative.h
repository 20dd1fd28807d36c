// Backends run the cumulative ops (cumsum, cumprod, cummax, cummin) along any axis, as one step each: an element is
// what it and those before it (Attr::reverse: behind it) give. Sums and products of floats are accumulated in f64 and
// rounded where they are written; where there are few rows, a long one is cut into blocks, whose totals are found first
// and added up from the first block on. So the bits follow from the shape alone. Tested in
// tests/planner/cumulative_test.cpp and tests/conformance/cumulative_test.cpp.
#pragma once

#include <vector>

#include "planner/kernels/cumulative_form.h"
#include "trace/graph/graph.h"

namespace neap::planner {

CumulativeForm cumulative_form(const tracing::Graph& graph, const tracing::Node& node);

/// Returns the dtype of what is accumulated on a GPU.
DType cumulative_accumulator(const CumulativeForm& form);
/// Returns the elements of a block on a GPU, each of which an invocation walks over.
int64_t cumulative_block(const CumulativeForm& form);

/// Returns the scratch of the step: totals of blocks, where there are several.
std::vector<Aval> cumulative_scratch(const CumulativeForm& form, bool gpu);

}  // namespace neap::planner
