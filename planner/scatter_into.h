// Updates of few rows go straight into the array that they end in: p - c * (scatter_add(0, i, u) + scatter_add(0, j,
// w)) becomes scatter_add(scatter_add(p, i, -c * u), j, -c * w), without the arrays of zeros, as large as p, in
// between. A step of gradient descent on an embedding table so touches the rows that were read, in place where the
// table is donated. Sums are rounded in another order, so not of half floats, in which a large sum swallows small
// terms. Tested in tests/planner/scatter_into_test.cpp.
#pragma once

#include "trace/graph.h"

namespace neap::planner {

/// The same outputs, but for the order in which sums round. Of a simplified graph.
trace::Graph scatter_into(const trace::Graph& graph);

}  // namespace neap::planner
