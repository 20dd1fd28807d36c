// A branch of a few ops on a few numbers takes less time than to find out which one is taken and to call it. Tested in
// tests/planner/select_branches_test.cpp.
#pragma once

#include "trace/graph/graph.h"

namespace neap::planner {

/// Returns the graph, the body of a loop, with selects between the results of both branches in place of every cond
/// whose branches are cheap and touch nothing but their results.
tracing::Graph select_branches(const tracing::Graph& graph);

}  // namespace neap::planner
