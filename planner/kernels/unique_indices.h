// Which scatters update no element twice, known from how their indices are made.
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

/// Of a scatter node. What cannot be told is false.
ScatterRows scatter_rows(const tracing::Graph& graph, const tracing::Node& scatter);

/// The axis of the indices [B..., k] along which their column `column` counts from 0 up to the extent of the operand
/// axis that it indexes; -1: none. Of a gather or scatter, whether it is in the graph or only its operands are.
int64_t counted_axis(const tracing::Graph& graph, const tracing::Node& node, int64_t column);

}  // namespace neap::planner
