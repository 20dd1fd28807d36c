// Updates of few rows go into the array that they end in: p - c * (scatter_add(0, i, u) + scatter_add(0, j, w)) becomes
// scatter_add(scatter_add(p, i, -c * u'), j, -c * w'), without the arrays of zeros, as large as p, in between. u' are
// the updates with those of one element added up among themselves: one by one, many small ones would be lost in a large
// element of p. A step of gradient descent on an embedding table so touches the rows that were read, in place where the
// table is donated. One scatter gives the same bits as before (but for the sign of zeros); several round once more
// each. Tested in tests/planner/scatter_into_test.cpp.
#pragma once

#include "trace/graph.h"

namespace neap::planner {

/// The same outputs, but for the order in which sums of several scatters round. Of a simplified graph.
trace::Graph scatter_into(const trace::Graph& graph);

}  // namespace neap::planner
