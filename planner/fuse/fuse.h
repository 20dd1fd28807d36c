// Fusion decides which values are stored, and which are computed where they are read.
//
// A value is stored if it must be (an output, an operand or result of an opaque step, a reduction, a scatter) or if
// storing it costs less than computing it again for each reader. Everything else lives in registers inside the kernels
// of the stored values that need it. That one choice is fusion: a step is a stored value with all it needs down to
// other stored values. Reductions over the same elements, and outputs of the same shape, share a step.
// Tested in tests/planner/fuse_test.cpp.
#pragma once

#include <limits>
#include <vector>

#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// A group becomes a step: it lists the stored values that the step makes.
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
  bool could_part = false;       // it makes a difference whether steps are parted
};

/// Says how much the traffic of a stored value weighs against computing it again, both in units of
/// planner/kernels/cost.h.
struct FuseOptions {
  double keep_weight = 1;     // a value is stored when the work saved exceeds this times the traffic
  double random_weight = 40;  // the same for what random numbers go into: memory is worth that much time there; no
                              // measurement is recorded, `neap-bench --case random-normal,dropout-mlp` shows both

  bool operator==(const FuseOptions&) const = default;
};
inline constexpr FuseOptions kStoreShared{.keep_weight = 0, .random_weight = 0};
inline constexpr FuseOptions kComputeShared{.keep_weight = std::numeric_limits<double>::infinity(),
                                            .random_weight = std::numeric_limits<double>::infinity()};

/// Chooses the steps of a simplified graph with canonical products. With `part_steps`, they are merged for what they
/// share once it is known what is stored, not for what they might share before.
Fusion fuse(const tracing::Graph& graph, const FuseOptions& options = {}, bool part_steps = false);

/// Groups as the naive pipeline does: each node by itself, but constants, broadcasts and reshapes, which every
/// framework reads in place.
Fusion fuse_nothing(const tracing::Graph& graph);

}  // namespace neap::planner
