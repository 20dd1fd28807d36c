// The first pass computes the same outputs, bit for bit, from fewer and simpler nodes.
//
// Dead code and common subexpressions go, constants fold, views compose, gather and scatter read indices in their own
// dtype, every dot_general and sort becomes canonical (planner/kernels/dot.h, planner/kernels/sort.h), loops lose what
// nobody reads, and of branches the one that is taken stays where that is known. The rules are listed in
// planner/rewrite/builder.h. Tested in tests/planner/simplify_test.cpp.
#pragma once

#include "planner/rewrite/builder.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Simplifies a graph. Level::light folds constants, removes dead code and makes products and sorts canonical, as any
/// framework does while tracing; the naive pipeline uses it.
tracing::Graph simplify(const tracing::Graph& graph, Builder::Level level = Builder::Level::full);

/// Adds a loop without outputs that nobody reads and what only they need, without carries that never change (they
/// become consts) and without operands that the body does not read. `used[i]` says whether output i of the node is
/// read. Returns a value of `b.graph` for each output of the node, or no_value where it was removed. At Level::light it
/// only simplifies the body.
std::vector<tracing::ValueId> simplify_loop(Builder& b, const tracing::Graph& from, const tracing::Node& node,
                                            std::vector<tracing::ValueId> inputs, const std::vector<bool>& used);

/// Adds a cond whose predicate is not constant as two while_loops that run once at most, one for each branch, the
/// second on the results of the first. So a plan knows loops alone, and holds one branch at a time. Returns as
/// simplify_loop does.
std::vector<tracing::ValueId> lower_cond(Builder& b, const tracing::Graph& from, const tracing::Node& node,
                                         const std::vector<tracing::ValueId>& inputs, const std::vector<bool>& used);

}  // namespace neap::planner
