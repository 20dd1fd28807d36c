// Loops with residuals: what reverse mode stacks, and in what segments it would hold less. Tested in
// tests/planner/checkpoint_loops_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/graph/graph.h"

namespace neap::planner {

/// A loop with residuals: stacked results that other loops, as long as it, read step by step, and nothing else reads.
struct StackedLoop {
  tracing::NodeId loop = tracing::no_node;
  std::vector<tracing::NodeId> readers;
  std::vector<size_t> residuals;  // results of the loop
  std::vector<bool> needed;       // of each carry: residuals follow from it
  int64_t length = 0;             // steps
  size_t stacked_bytes = 0;       // what one step leaves in the stacks
  size_t carry_bytes = 0;         // a checkpoint
  size_t input_bytes = 0;         // what one step reads of stacked operands, with the readers' others
};

/// Gives the loops of the graph, but not those in bodies, that leave residuals.
std::vector<StackedLoop> stacked_loops(const tracing::Graph& graph);

/// Gives the lengths of segments on so many levels, outermost first, that hold the least; fewer where a level would not
/// lower that. Segments have equal lengths where the length has divisors for it.
std::vector<int64_t> best_segments(const StackedLoop& loop, int levels);

/// Gives what the loop then holds in stacks: checkpoints, and the residuals of a segment.
size_t segmented_bytes(const StackedLoop& loop, std::span<const int64_t> segments);

}  // namespace neap::planner
