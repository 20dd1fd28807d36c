// What the naive pipeline holds at least, counted on the traced graph: quick enough to ask of every plan, where making
// the naive plan would take as long as making the plan. Tested in tests/conformance/random_programs_test.cpp.
#pragma once

#include <cstddef>

#include "planner/plan.h"
#include "trace/graph.h"

namespace neap::planner {

/// At most the peak of the naive plan of a graph, near to it for most: values that simplification may take out of
/// memory (constants, transposed operands of products) are left out, and so are bodies of loops.
size_t naive_peak_at_least(const tracing::Graph& graph, const Target& target);

}  // namespace neap::planner
