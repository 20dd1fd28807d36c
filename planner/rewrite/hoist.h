// What a loop's body computes of nothing that changes from one iteration to the next is computed once, before the loop:
// a cosine of constants, a product of two matrices that the body closes over. Tested in tests/planner/hoist_test.cpp.
#pragma once

#include <optional>
#include <vector>

#include "planner/rewrite/builder.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// A loop's body and its operands, values of a builder's graph.
struct LoopParts {
  const tracing::Node& node;
  tracing::Graph body;
  std::vector<tracing::ValueId> operands;
  size_t consts = 0, carries = 0;
};

/// Adds such values to `b`, as more constants of the loop: those that are dear and take few bytes, all of them together
/// no more than a page. What the body then no longer reads stays among its inputs and nodes.
void hoist_few(Builder& b, LoopParts& loop);

/// Gives the graph with all such values computed before its loops, and loops in loops, that are dear and take no more
/// bytes each than what they are computed of; nullopt where there are none. More is then held while the loops run.
std::optional<tracing::Graph> hoist_from_loops(const tracing::Graph& graph);

}  // namespace neap::planner
