// Tables whose rows follow from rows near them (a step of the heat or wave equation on a torus) are written over what
// they follow from, band by band: a band is computed from the rows around it as they were, of which few are kept, and
// put where it belongs. One table and a band are then in memory in place of two tables, and no bit changes. Tested in
// tests/planner/stencil_test.cpp.
#pragma once

#include <cstddef>
#include <optional>

#include "trace/graph/graph.h"

namespace neap::planner {

/// Gives the graph with such carries of its loops, also of those in bodies, updated in bands; nullopt where there are
/// none: a carry of many rows whose next value is computed of it element by element, from rows a few before or after
/// (roll along axis 0), and of what does not depend on it. Tables of fewer bytes are in a cache anyway.
std::optional<tracing::Graph> update_in_bands(const tracing::Graph& graph, size_t fewest_bytes = size_t{4} << 20);

}  // namespace neap::planner
