// Forward mode: a graph that computes tangents beside values.
//
// The derivative of an elementwise op is its row of <neap/ops.def>; structural ops have a rule by family. A tangent
// that is zero because it depends on no active input is absent, never an array of zeros. Tested in tests/autodiff/.
#pragma once

#include <vector>

#include "trace/graph/graph.h"

namespace neap::autodiff {

using tracing::Graph;

/// Returns the graph of values and tangents. Its inputs are g's, then a tangent for each active input (of a floating
/// dtype); its outputs are g's, then the tangent of each output of a floating dtype (zeros where it depends on no
/// active input).
Graph jvp(const Graph& g, const std::vector<bool>& active);

/// ActiveJvp is the same with zeros left out: outputs are g's, then the tangents of the outputs marked in `active`.
struct ActiveJvp {
  Graph graph;
  std::vector<bool> active;
};
ActiveJvp jvp_active(const Graph& g, const std::vector<bool>& active);

}  // namespace neap::autodiff
