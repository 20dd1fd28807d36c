// How slicing an array along an axis carries over from a node's output to its operands. Tested in
// tests/planner/chunk_test.cpp.
#pragma once

#include "trace/graph.h"

namespace neap::planner {

inline constexpr int64_t kWhole = -1;       // every slice of the output needs all of the operand
inline constexpr int64_t kImpossible = -2;  // a slice of the output is no slice of the operand

/// The axis along which operand `i` is sliced when the output is sliced along `axis`.
int64_t operand_axis(const trace::Graph& graph, const trace::Node& node, int64_t axis, size_t i);

/// The output axis that slicing operand `i` along `axis` slices; kImpossible where there is none.
int64_t result_axis(const trace::Graph& graph, const trace::Node& node, size_t i, int64_t axis);

/// Whether the node sums (or multiplies, ...) over `axis` of operand `i`, so that slices give partial results.
bool folds_over(const trace::Graph& graph, const trace::Node& node, size_t i, int64_t axis);

}  // namespace neap::planner
