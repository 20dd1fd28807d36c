// These are parts of fusion (planner/fuse/fuse.h): what must be stored, what a step computes, which steps merge.
#pragma once

#include <vector>

#include "planner/fuse/fuse.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Marks the values that have to be in memory: inputs and outputs, operands and results of opaque steps and of joins,
/// reductions, scatters, and values marked Mark::separate or Mark::materialize.
std::vector<bool> must_store(const tracing::Graph& graph);

/// Says what computing some values takes, down to stored ones.
struct Expression {
  std::vector<tracing::NodeId> nodes;    // in registers, ascending
  std::vector<tracing::ValueId> leaves;  // stored values read, ascending
  std::vector<tracing::NodeId> random_nodes;
  double cost = 0;       // of one element of each
  bool complete = true;  // false: too large, cut off
};

/// Finds the expressions of a graph.
class ExpressionFinder {
 public:
  explicit ExpressionFinder(const tracing::Graph& graph);
  /// Returns the expression of `roots`; their defining nodes are in it, though the roots may be stored.
  Expression operator()(const std::vector<bool>& stored, const std::vector<tracing::ValueId>& roots);
  /// Returns the cost of one element of a node; 0 where the node has one or two elements.
  double cost(tracing::NodeId node) const { return cost_[node]; }

 private:
  void sort_nodes(std::vector<tracing::NodeId>& nodes) const;

  const tracing::Graph& graph_;
  std::vector<double> cost_;                 // of one element of each node
  std::vector<int> seen_node_, seen_value_;  // the latest expression that has them
  int count_ = 0;
  std::vector<tracing::NodeId> pending_, nodes_;  // of the latest expression, in memory that lasts
  std::vector<tracing::ValueId> leaves_;
};

/// Makes one group for each node with stored results, in program order.
std::vector<Group> single_steps(const tracing::Graph& graph, const std::vector<bool>& stored);

/// Does the same, but puts reductions of the same elements into one group, and values of equal shape that share work.
std::vector<Group> share_steps(const tracing::Graph& graph, const std::vector<bool>& stored);

/// Tells whether values of one group were better in groups of their own, now that more is `stored` than when they were
/// merged: what they were to share may be in memory, and each then reads a large array of its own, which has to be
/// alive together with the others'.
bool would_part(const tracing::Graph& graph, const std::vector<bool>& stored, const Fusion& fusion);

/// Puts groups in an order in which they can run, as near to program order as that allows; fills group_of.
void sort_groups(const tracing::Graph& graph, Fusion& fusion);

}  // namespace neap::planner
