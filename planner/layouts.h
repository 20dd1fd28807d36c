// The order of axes in memory. A product gives its axes in one order; where a program wants another, as batches of
// tangents do, it transposes the result, and what is computed from that no longer lies as the product's operands do, so
// that it is copied before the next product. Here transposes pass through elementwise ops and products to where the
// order matters. Tested in tests/planner/layouts_test.cpp.
#pragma once

#include <optional>

#include "planner/steps.h"
#include "trace/graph.h"

namespace neap::planner {

/// The same outputs, bit for bit, with values in the order in memory that products give; for a graph that is not
/// simplified yet. nullopt where that changes nothing. It need not be better: plan both.
std::optional<tracing::Graph> lay_out(const tracing::Graph& graph);

/// The plan of what lay_out() makes of a graph, where it is better than `usual`, that of the graph, which simplifies to
/// `simple`. (Slices are to be sought in `simple`: a batch lies outside of all other axes there.)
std::optional<Planned> plan_in_better_layout(const tracing::Graph& graph, const tracing::Graph& simple,
                                             const Planned& usual, const PlanOptions& options);

}  // namespace neap::planner
