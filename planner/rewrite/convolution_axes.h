// Convolutions read and write arrays in any order of axes. Tested in tests/planner/convolution_test.cpp.
#pragma once

#include "trace/graph/graph.h"

namespace neap::planner {

/// Lets convolutions read what was transposed for them as it lies in memory, and write in the order of axes in which
/// alone their result is read.
tracing::Graph absorb_transposes(tracing::Graph graph);

}  // namespace neap::planner
