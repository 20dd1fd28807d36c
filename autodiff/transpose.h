// Transposition of a linear graph: from tangents forward to cotangents backward.
//
// The graph is linear in its marked inputs; every node that depends on one is linear in that operand (jvp and linearize
// make only such; UserError where a custom rule is not). A cotangent that is zero because nothing used the value is
// absent. Tested in tests/autodiff/.
#pragma once

#include <vector>

#include "trace/graph/graph.h"

namespace neap::autodiff {

using tracing::Graph;

/// Transposed has as inputs the inputs of g that are not linear, then the cotangents of the outputs marked in
/// `cotangents`, then a sum for each linear input marked in `sums` (in f32 for half types); its outputs are the
/// cotangents of the linear inputs marked in `active` (one mark for each input of g). Where rows of an input with a sum
/// are read, their cotangents are added to the rows of the sum, without an array as large as the input in between: it
/// is marked in `summed`, and its output is the sum with all that is added to it.
struct Transposed {
  Graph graph;
  std::vector<bool> active, summed;
};
Transposed transpose_active(const Graph& g, const std::vector<bool>& linear, const std::vector<bool>& cotangents,
                            const std::vector<bool>& sums = {});

}  // namespace neap::autodiff
