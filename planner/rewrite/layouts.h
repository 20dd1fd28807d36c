// This pass chooses the order of axes in memory. A product gives its axes in one order; where a program wants another,
// as batches of tangents do, it transposes the result, and what is computed from that no longer lies as the product's
// operands do, so that it is copied before the next product. Here transposes pass through elementwise ops and products
// to where the order matters. Tested in tests/planner/layouts_test.cpp.
#pragma once

#include <optional>

#include "trace/graph/graph.h"

namespace neap::planner {

/// Returns a graph with the same outputs, bit for bit, whose values lie in the order in memory that products give;
/// nullopt where that changes nothing. `graph` is not simplified yet. The result need not be better: plan both.
std::optional<tracing::Graph> lay_out(const tracing::Graph& graph);

}  // namespace neap::planner
