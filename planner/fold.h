// Reductions and products over the sliced axis of a region: each slice adds to a total that the loop carries, in f64
// for sums of floats, as in one kernel. Tested in tests/planner/chunk_test.cpp.
#pragma once

#include "planner/split_axis.h"
#include "trace/graph.h"

namespace neap::planner {

struct Fold {
  trace::Op combine;
  DType dtype;  // of the total
  trace::AttrValue initial;
};

/// How the node, a reduction or canonical product, is computed from slices.
Fold fold_of(const trace::Graph& graph, const trace::Node& node);

/// Whether it can be.
bool can_fold(const trace::Node& node);

/// The total and what a slice adds to it, in graph `g`. `inputs`: of the node, of the slice; those of `node` are in
/// `graph`.
trace::ValueId add_slice(trace::Graph& g, const trace::Graph& graph, const trace::Node& node,
                         std::vector<trace::ValueId> inputs, trace::ValueId total);

}  // namespace neap::planner
