// Sums of a few terms as additions: the squared distance of points in three dimensions, the luminance of a pixel. A sum
// is a step of its own, whose result is stored; additions are computed where they are read, as other elementwise ops.
// They are in f64, as a sum's accumulator is, and rounded once. Tested in tests/planner/unroll_sums_test.cpp.
#pragma once

#include <optional>

#include "trace/graph/graph.h"

namespace neap::planner {

/// Gives the graph with its large sums of up to four terms, of f32 or halves, as additions, those in bodies of loops
/// too; nullopt where there are none.
std::optional<tracing::Graph> unroll_sums(const tracing::Graph& graph);

}  // namespace neap::planner
