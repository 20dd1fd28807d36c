// Reductions and products over the sliced axis of a region are partial: each slice adds to a total that the loop
// carries.
//
// Integers, maxima and the like combine with what a slice comes to. A float sum must not depend on where slices end, so
// its tree is fixed by the whole: the elements in blocks of the sliced axis, whose size is chosen by the shapes of the
// whole, each block summed by itself (with all else that is reduced), and the blocks added to the total one after the
// other, in f64. Slices are whole blocks. A product adds to its total along k, in the order in which the whole one does
// (planner/kernels/dot.h). Tested in tests/planner/chunk_test.cpp and tests/jit/split_sums_test.cpp.
#pragma once

#include "planner/slice/split_axis.h"
#include "trace/graph/graph.h"

namespace neap::planner {

struct PartialSum {
  tracing::Op combine;
  DType dtype;  // of the total
  tracing::AttrValue initial;
  int64_t block = 1;  // elements of the sliced axis of the operand
};

/// Says how the node, a reduction or canonical product, is computed from slices of its first operand by `cut`.
PartialSum partial_sum_of(const tracing::Graph& graph, const tracing::Node& node, Cut cut);

/// Returns the number of the region's elements of which slices of the operand by `cut` must be multiples.
int64_t partial_sum_unit(const tracing::Graph& graph, const tracing::Node& node, Cut cut);

/// Tells whether the node can be summed from slices of operand `i` along `axis`. What is added in order already can be
/// only along its outermost axis, sums in f64 only along their longest, so that bits do not depend on the slices.
bool can_sum_partially(const tracing::Graph& graph, const tracing::Node& node, size_t i, int64_t axis);

/// Adds to `total` what a slice comes to, in graph `g`. `inputs` are slices of the operands of `node`, which is in
/// `graph`. Only the last slice may end within a block.
tracing::ValueId add_slice(tracing::Graph& g, const tracing::Graph& graph, const tracing::Node& node, Cut cut,
                           std::vector<tracing::ValueId> inputs, tracing::ValueId total);

}  // namespace neap::planner
