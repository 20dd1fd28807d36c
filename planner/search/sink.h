// What a loop reads in every iteration, and what is cheap to compute of less, is computed in the loop's body where it
// is read: the distances of all pairs of points, a mask, a table of weights. It is then held in registers, not in
// memory for as long as the loop runs. Tested in tests/planner/sink_test.cpp.
#pragma once

#include <optional>

#include "planner/pipeline/pipeline.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Gives the graph of a plan with such values, of those alive at its peak step, computed in the bodies of its loops;
/// nullopt where there are none, or the graph would be much larger.
std::optional<tracing::Graph> sink_into_loops(const Planned& planned);

}  // namespace neap::planner
