// Loops that leave residuals run in segments (planner/rewrite/checkpoint_loops.h): without a budget where that is
// little work for what it saves, and under one on ever more levels. Tested in tests/planner/checkpoint_loops_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/rewrite/checkpoint_loops.h"
#include "trace/graph/graph.h"

namespace neap::planner {

inline constexpr int kMostLevels = 4;  // of segments in segments: each is one more run of the loop

/// A graph with loops in segments.
struct LoopCheckpoints {
  tracing::Graph graph;  // simplified
  std::string how;       // for its decision
  tracing::Node first;   // the loop, as it was, that gains most
};

/// The loops of a simplified graph, in bodies of loops too, that would hold half as much or less in segments on so many
/// levels: those that gain most first, no two of which share a loop. The graph must outlive it.
class LoopsToSegment {
 public:
  LoopsToSegment(const tracing::Graph& simplified, int levels);

  bool empty() const { return choices_.empty(); }
  /// How many of them, from the first, gain this part of what all would.
  size_t count(double part) const;
  /// The graph with so many of them in segments; one at least.
  LoopCheckpoints checkpoint(size_t count) const;

 private:
  struct Choice {
    const tracing::Graph* graph;  // the whole, or a body in it
    CheckpointedLoop checkpointed;
    double gain;    // bytes
    size_t number;  // in the order in which they were found
  };
  void find(const tracing::Graph& graph, int levels);

  const tracing::Graph& graph_;
  std::vector<Choice> choices_;
};

/// Does so with those of them that gain this part; nullopt where there are none.
std::optional<LoopCheckpoints> checkpoint_stacked_loops(const tracing::Graph& simplified, int levels, double part);

}  // namespace neap::planner
