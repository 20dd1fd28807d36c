// Parts of fusion (planner/fuse/fuse.h): what must be stored, what a step computes, which steps merge.
#pragma once

#include <vector>

#include "planner/fuse/fuse.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Values that have to be in memory: outputs, operands and results of dot, sort and scan, reductions, scatters; and
/// inputs.
std::vector<bool> must_store(const tracing::Graph& graph);

/// What computing some values takes, down to stored ones.
struct Slice {
  std::vector<tracing::NodeId> nodes;    // in registers, ascending
  std::vector<tracing::ValueId> leaves;  // stored values read, ascending
  std::vector<tracing::NodeId> random_nodes;
  double cost = 0;       // of one element of each
  bool complete = true;  // false: too large, cut off
};

/// Finds the slices of a graph.
class Slicer {
 public:
  explicit Slicer(const tracing::Graph& graph);
  /// The slice of `roots` themselves (their defining nodes included, though they may be stored).
  Slice operator()(const std::vector<bool>& stored, const std::vector<tracing::ValueId>& roots);
  /// Of one element of a node; 0 where it has one or two.
  double cost(tracing::NodeId node) const { return cost_[node]; }

 private:
  void sort_nodes(std::vector<tracing::NodeId>& nodes) const;

  const tracing::Graph& graph_;
  std::vector<double> cost_;                 // of one element of each node
  std::vector<int> seen_node_, seen_value_;  // the latest slice that has them
  int slices_ = 0;
};

/// One group for each stored value that is not an input, in program order.
std::vector<Group> single_steps(const tracing::Graph& graph, const std::vector<bool>& stored);

/// The same, with reductions of the same elements in one group, and outputs of equal shape that share work.
std::vector<Group> share_steps(const tracing::Graph& graph, const std::vector<bool>& stored);

/// Whether values of one group would rather be apart, now that more is `stored` than when they were merged: what they
/// were to share may be in memory, and each then reads a large array of its own, which had to be alive with the
/// others'.
bool would_part(const tracing::Graph& graph, const std::vector<bool>& stored, const Fusion& fusion);

/// Puts groups in an order in which they can run, as near to program order as that allows; fills group_of.
void sort_groups(const tracing::Graph& graph, Fusion& fusion);

}  // namespace neap::planner
