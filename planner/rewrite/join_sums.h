// Small sums over ranks, together. Tested in tests/spmd/join_sums_test.cpp.
#pragma once

#include <optional>

#include "trace/graph/graph.h"

namespace neap::planner {

/// Small arrays that are summed over the same ranks, where none follows from another's sum, are summed as one: ranks
/// wait for each other once, not for each array, and what is computed first is sent first. No bit changes. nullopt
/// where there are no two. Loops' bodies are looked at, too.
std::optional<tracing::Graph> join_sums(const tracing::Graph& graph);

}  // namespace neap::planner
