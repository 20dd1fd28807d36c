// Plans of the same program after another rewriting of its graph, each taken where it is the better one.
#pragma once

#include <optional>
#include <utility>

#include "planner/pipeline/pipeline.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// compact_updates() of the graph where that makes the better plan, else the graph as it is; with the plan.
std::pair<tracing::Graph, Planned> compact_where_better(tracing::Graph simple, const PlanOptions& options);

/// The plan of what lay_out() makes of a graph, where it is better than `usual`, that of the graph, which simplifies to
/// `simple`. (Slices are to be sought in `simple`: a batch lies outside of all other axes there.)
std::optional<Planned> plan_in_better_layout(const tracing::Graph& graph, const tracing::Graph& simple,
                                             const Planned& usual, const PlanOptions& options);

}  // namespace neap::planner
