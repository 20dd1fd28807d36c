// This counts what the naive pipeline holds at least without making its plan, quickly enough to ask of every plan.
// Tested in tests/planner/naive_bound_test.cpp.
#pragma once

#include <cstddef>

#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Returns bytes that the peak of the naive plan is not below. `graph` is simplified at least as that plan's is
/// (Builder::Level::light). It is near the peak for most graphs without loops, whose bodies are left out.
size_t naive_peak_at_least(const tracing::Graph& graph, const Target& target);

}  // namespace neap::planner
