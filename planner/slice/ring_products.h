// A product of what all ranks have, while blocks go from rank to rank. Tested in tests/spmd/ring_products_test.cpp.
#pragma once

#include <optional>

#include "trace/graph/graph.h"

namespace neap::planner {

/// Instead of an all_gather that one canonical product reads, blocks go round in a ring, and each rank multiplies the
/// one that it has, into its rows or columns of the result: no rank holds more than two blocks, and the next is under
/// way meanwhile (planner/search/overlap.h). No bit changes: blocks are parts of rows and columns, never of sums.
/// nullopt where there is no such product. Loops' bodies are looked at, too.
std::optional<tracing::Graph> ring_products(const tracing::Graph& graph);

}  // namespace neap::planner
