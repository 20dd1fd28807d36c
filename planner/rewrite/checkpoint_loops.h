// Loops with checkpoints. A loop that runs backwards (reverse mode) reads what every step of the loop before it left,
// residuals stacked from the first step to the last. In segments the loop before keeps instead what each segment began
// with, a checkpoint of its carry; the loop backwards runs over the segments, and in each computes the residuals of its
// steps again, from the checkpoint, before it reads them. These are the same steps on the same values, and so the same
// bits; each level of segments costs one more run of the loop before. Of n steps, segments of sqrt(n) on one level hold
// about 2 sqrt(n) values in place of n, on two levels 3 times the cube root. (Griewank and Walther, Evaluating
// Derivatives, ch. 12; their binomial schedule holds less with segments of several lengths, which loops of a fixed
// length are not.) Tested in tests/planner/checkpoint_loops_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/rewrite/stacked_loops.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// A loop, and the lengths of its segments.
struct CheckpointedLoop {
  StackedLoop loop;
  std::vector<int64_t> segments;
};

/// Gives the graph with some of its loops, and their readers, in segments. No loop may be, or be a reader of, another
/// of them, nor may two have a reader in common.
tracing::Graph checkpoint_loops(const tracing::Graph& graph, const std::vector<CheckpointedLoop>& loops);

}  // namespace neap::planner
