// `recompute`: values live across the peak step are made again where they are read later, from a few that are
// kept: n equal layers fit in O(sqrt n) activations for one more forward pass (Chen et al., Training deep nets with
// sublinear memory cost, 2016), in any graph, without the user's `checkpoint`. Tested in
// tests/planner/rematerialize_test.cpp.
#pragma once

#include <span>
#include <vector>

#include "planner/fuse/groups.h"
#include "planner/pipeline/pipeline.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// The most that an element may cost to be cheap to compute again: some elementwise ops, a gather.
inline constexpr double kCheap = 256;
/// Tells whether an expression is that cheap; none that draws random numbers is.
inline bool is_cheap(const Expression& expression) {
  return expression.complete && expression.random_nodes.empty() && expression.cost <= kCheap;
}

/// Which values of the graph are in memory, inputs among them.
std::vector<bool> stored_values(const Planned& planned);

/// The values made up to the peak step and read after it, but inputs and outputs, in the order in which they are
/// made.
std::vector<tracing::ValueId> live_across_peak(const Planned& planned);

/// Of the values live `across` the peak, some to keep: each time the values since the last one exceed `segment_bytes`,
/// the next.
std::vector<tracing::ValueId> checkpoints(const Planned& planned, std::span<const tracing::ValueId> across,
                                          size_t segment_bytes);

/// Where the part of a program up to its peak step can be cut: what is alive between two of its steps for the sake of
/// that part alone, as few bytes as possible, is enough to compute the rest of it again.
class Frontiers {
 public:
  explicit Frontiers(const Planned& planned);
  /// Values to keep: of cuts with about `segment_bytes` of values live across the peak between them, each where least
  /// is alive.
  std::vector<tracing::ValueId> checkpoints(size_t segment_bytes) const;

 private:
  struct Crossing {
    tracing::ValueId value;
    int first, last;  // alive after these steps
  };
  std::vector<Crossing> crossings_;
  std::vector<size_t> alive_,
      made_across_;  // bytes after each step up to the peak; of what each makes that is live across it
};

/// The graph whose later steps compute what they need again from `kept`, inputs and outputs. Its nodes are in the order
/// of the plan, each copy just before its first reader, marked so that it stays apart from the original (is_copy).
tracing::Graph rematerialize_from(const Planned& planned, const std::vector<tracing::ValueId>& kept);

}  // namespace neap::planner
