// What the transposition rules share. A rule runs inside a trace and gives the cotangent of each operand; one without a
// value (`Array()`) is zero.
#pragma once

#include "autodiff/jvp_rules.h"

namespace neap::autodiff {

struct TransposeSite {
  const Graph& graph;
  const Node& node;
  const Arrays& in;                 // operands that are not linear; no value for the others
  const std::vector<bool>& linear;  // of the operands; at least one is
  const Arrays& cotangents;         // of the results; at least one is not zero
  /// Of a scan: for operands that have one, the sum that their cotangent is added to instead of being returned. The
  /// rule leaves the new sum there, and no value where it added nothing.
  Arrays* sums = nullptr;

  const Array& ct() const { return cotangents[0]; }
  const Aval& aval(size_t operand) const { return graph.aval(node.inputs[operand]); }
  const Shape& shape(size_t operand) const { return aval(operand).shape; }
  Array zeros_of(size_t operand) const { return zeros(shape(operand), aval(operand).dtype); }
};

/// Throws: only the rule of a custom_jvp can bring a tangent to such a node.
[[noreturn]] void not_linear(const Node& node);

/// Throws: a while_loop would need as much memory on its way back as it takes steps.
[[noreturn]] void no_way_back(const Node& node);

Arrays transpose_elementwise(const TransposeSite& site);
Array transpose_cumsum(const TransposeSite& site);
Arrays transpose_layout(const TransposeSite& site);
Arrays transpose_dot(const TransposeSite& site);
/// Adds the cotangent to `so_far`, which earlier gathers of the same operand gave; half types are added in f32.
Array transpose_gather(const TransposeSite& site, const Array& so_far);
/// Does the same for a dynamic_slice; `so_far` is not zero.
Array transpose_window(const TransposeSite& site, const Array& so_far);
Arrays transpose_convolution(const TransposeSite& site);
Arrays transpose_scatter(const TransposeSite& site);
Arrays transpose_scan(const TransposeSite& site);
Arrays transpose_cond(const TransposeSite& site);
Arrays transpose_call(const TransposeSite& site);
Array transpose_collective(const TransposeSite& site);

}  // namespace neap::autodiff
