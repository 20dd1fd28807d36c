// How often an op stands in a graph.
#pragma once

#include <algorithm>

#include "trace/graph/graph.h"

namespace neap::tracing {

/// Of the graph itself, not of the bodies in it.
inline int count(const Graph& graph, Op op) { return static_cast<int>(std::ranges::count(graph.nodes, op, &Node::op)); }

}  // namespace neap::tracing
