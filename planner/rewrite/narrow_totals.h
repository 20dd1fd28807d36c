// What a loop adds up over its steps and what is then read only through linear functions of fewer elements: those are
// added up in its place. The gradient of points through the distances of all pairs is the case: backwards, each step
// adds to a matrix of all pairs, of which in the end a sum over rows is taken; a step that takes its own sum adds to
// the gradient of the points. The sums are those of the program in another order: their last bits differ, and where
// what is added cancels, so does what overflows on the way. Of f32 and f64 alone. Tested in
// tests/planner/narrow_totals_test.cpp.
#pragma once

#include <cstddef>
#include <optional>

#include "trace/graph/graph.h"

namespace neap::planner {

/// Bytes of a total; smaller ones stay in caches.
inline constexpr size_t kLeastTotal = size_t{16} << 20;

/// Gives the simplified graph with totals of so many bytes or more narrowed, those in bodies of loops too; nullopt
/// where there are none.
std::optional<tracing::Graph> narrow_totals(const tracing::Graph& graph, size_t least_bytes = kLeastTotal);

}  // namespace neap::planner
