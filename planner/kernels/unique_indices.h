// This finds scatters that update no element twice, from how their indices are made.
//
// Iotas and permutations (argsort) give another number for each position along an axis; moved, reshaped, sliced,
// converted and joined to rows they still do. Where the columns of the indices together tell all rows apart, updates
// need no order, no atomics and no partial tables: the gradient of a sort, of an embedding of all rows, of a diagonal.
// Tested in tests/planner/unique_indices_test.cpp.
#pragma once

#include "trace/graph/graph.h"

namespace neap::planner {

struct ScatterRows {
  bool unique_indices = false;  // no two rows that are in range update the same element
  bool covering = false;        // unique_indices, and every element is updated
};

/// Tells this of a scatter node; what cannot be proven is false.
ScatterRows scatter_rows(const tracing::Graph& graph, const tracing::Node& scatter);

/// Returns the axis of the indices [B..., k] of a gather or scatter along which their column `column` counts from 0 up
/// to the extent of the operand axis that it indexes; -1 where there is none. The node itself need not be in the graph.
int64_t counted_axis(const tracing::Graph& graph, const tracing::Node& node, int64_t column);

}  // namespace neap::planner
