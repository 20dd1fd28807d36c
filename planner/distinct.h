// Which scatters update no element twice, known from how their indices are made.
//
// Iotas and permutations (argsort) give another number for each position along an axis; moved, reshaped, sliced,
// converted and joined to rows they still do. Where the columns of the indices together tell all rows apart, updates
// need no order, no atomics and no partial tables: the gradient of a sort, of an embedding of all rows, of a diagonal.
// Tested in tests/planner/distinct_test.cpp.
#pragma once

#include "trace/graph.h"

namespace neap::planner {

struct ScatterRows {
  bool distinct = false;  // no two rows that are in range update the same element
  bool covering = false;  // distinct, and every element is updated
};

/// Of a scatter node. What cannot be told is false.
ScatterRows scatter_rows(const tracing::Graph& graph, const tracing::Node& scatter);

}  // namespace neap::planner
