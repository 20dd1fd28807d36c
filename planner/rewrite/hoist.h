// What a loop's body computes of nothing that changes from one iteration to the next is computed once, before the loop:
// a cosine of constants, a product of two matrices that the body closes over. Tested in tests/planner/hoist_test.cpp.
#pragma once

#include <vector>

#include "planner/rewrite/builder.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// A loop's body and its operands, values of a builder's graph.
struct LoopParts {
  tracing::Graph body;
  std::vector<tracing::ValueId> operands;
  size_t consts = 0, carries = 0;
  bool has_condition = false;  // the first carry
};

/// Adds such values to `b`, as more constants of the loop: those that are dear, and take no more bytes than what they
/// are computed of, or few. What the body then no longer reads stays among its inputs and nodes.
void hoist(Builder& b, LoopParts& loop);

}  // namespace neap::planner
