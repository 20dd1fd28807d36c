// These functions say how slicing an array along an axis carries over from a node's output to its operands and back.
// Tested in tests/planner/chunk_test.cpp.
#pragma once

#include "trace/graph/graph.h"

namespace neap::planner {

/// Cuts an axis into slices of whole blocks: a slice of n elements of a region takes n * block elements of this axis.
/// (What is one axis of a batch is the major part of a longer one where a reshape has merged it.)
struct Cut {
  enum class Kind : uint8_t {
    slices,      // along the axis
    whole,       // every slice of the output needs all of the operand
    impossible,  // a slice of the output is no slice of the operand
    unused,      // in a loop (planner/slice/split_scan.h): no slice needs it, or makes it
    after,       // the same: it follows from totals over the slices
  };
  int64_t axis = 0;
  int64_t block = 1;
  Kind kind = Kind::slices;

  bool is_slices() const { return kind == Kind::slices; }
  auto operator<=>(const Cut&) const = default;
};
inline constexpr Cut kWhole{.kind = Cut::Kind::whole};
inline constexpr Cut kImpossible{.kind = Cut::Kind::impossible};

/// Says how operand `i` is sliced when the output is sliced by `cut`.
Cut operand_cut(const tracing::Graph& graph, const tracing::Node& node, Cut cut, size_t i);

/// Returns the number of a region's elements of which slices of the output by `cut` must be multiples to have the bits
/// of the whole.
int64_t slice_unit(const tracing::Graph& graph, const tracing::Node& node, Cut cut);

/// Says how slicing operand `i` by `cut` slices the output; kImpossible where it does not.
Cut result_cut(const tracing::Graph& graph, const tracing::Node& node, size_t i, Cut cut);

/// Returns the column of a gather's or scatter's indices that only counts along an axis of theirs, as that of a batch
/// does, so that the operand axis which it indexes is sliced when the output is sliced by `cut`; -1 where there is
/// none.
int64_t counting_column(const tracing::Graph& graph, const tracing::Node& node, Cut cut);

/// Tells whether the node adds up products of two operands: a product of matrices or a convolution.
bool sums_products(const tracing::Node& node);
/// Returns the axis of operand `i` along which such a node adds up.
int64_t summed_axis(const tracing::Node& node, size_t i);

/// Tells whether the node sums (or multiplies, ...) over the axis of operand `i`, so that slices give partial results.
bool reduces_over(const tracing::Graph& graph, const tracing::Node& node, size_t i, int64_t axis);

}  // namespace neap::planner
