// Which values are stored, and which are computed where they are read.
//
// A value is stored if it must be (an output, an operand or result of an opaque step, a reduction, a scatter) or if
// storing it costs less than computing it again for each reader. Everything else lives in registers inside the kernels
// of the stored values that need it. That one choice is fusion: a step is a stored value with all it needs down to
// other stored values. Reductions over the same elements, and outputs of the same shape, share a step.
// Tested in tests/planner/fuse_test.cpp.
#pragma once

#include <vector>

#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// A step to be: the stored values that it makes.
struct Group {
  PlanStep::Kind kind = PlanStep::Kind::map;
  std::vector<tracing::ValueId> roots;
};

struct Fusion {
  std::vector<Group> groups;  // in an order in which they can run
  std::vector<int> group_of;  // of each value: the group that stores it, or -1 (inputs, joins, values in registers)
  std::vector<bool> stored;   // of each value: in memory
  std::vector<Decision> decisions;
  std::vector<bool> recomputed;  // of each value: several groups compute it
  bool parts = false;            // FuseOptions::part_steps makes a difference
};

/// How much a stored byte of random numbers, or of anything, weighs against computing again.
struct FuseOptions {
  double keep_weight = 1;     // a value is kept when the work saved exceeds this times the traffic
  double random_weight = 40;  // the same for what random numbers go into
  bool part_steps = false;    // steps are merged for what they share once it is known what is stored: Fusion::parts
};

/// Of a simplified graph with canonical dots.
Fusion fuse(const tracing::Graph& graph, const FuseOptions& options = {});

/// The naive pipeline: a group for each node, but constants and broadcasts, which every framework reads in place.
Fusion fuse_nothing(const tracing::Graph& graph);

}  // namespace neap::planner
