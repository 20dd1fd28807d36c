// Loops that leave residuals run in segments (planner/rewrite/checkpoint_loops.h): without a budget where that is
// little work for what it saves, and under one on ever more levels. Tested in tests/planner/checkpoint_loops_test.cpp.
#pragma once

#include <optional>
#include <string>

#include "trace/graph/graph.h"

namespace neap::planner {

inline constexpr int kMostLevels = 4;  // of segments in segments: each is one more run of the loop

/// A graph with loops in segments.
struct LoopCheckpoints {
  tracing::Graph graph;  // simplified
  std::string how;       // for its decision
  tracing::Node first;   // the loop, as it was, that gains most
};

/// Gives the simplified graph with loops in segments on so many levels, in bodies of loops too: those that gain most,
/// until this part of all that could be gained is. nullopt where none would hold half as much.
std::optional<LoopCheckpoints> checkpoint_stacked_loops(const tracing::Graph& simplified, int levels, double part);

}  // namespace neap::planner
