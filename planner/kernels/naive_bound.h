// What the naive pipeline holds at least, counted without making its plan: quick enough to ask of every plan. Tested in
// tests/planner/naive_bound_test.cpp, and by every random program.
#pragma once

#include <cstddef>

#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// At most the peak of the naive plan of a graph that is simplified as that plan's is, or more; near to it for most:
/// bodies of loops are left out.
size_t naive_peak_at_least(const tracing::Graph& graph, const Target& target);

}  // namespace neap::planner
