// Updates of few rows go into the table that they change, without a gradient as large as the table: p - k * G, where G
// is updates scattered into zeros, becomes p with only those rows changed. The updates of one row are added up among
// themselves first, as they were in G: one by one, many small ones would be lost in a large element of p.
// A step of gradient descent on an embedding table so touches the rows that were read, in place where the table is
// donated. Tested in tests/planner/compact_updates_test.cpp.
#pragma once

#include <optional>

#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Returns a graph with the same outputs, bit for bit, in which such updates change rows only. `simple` is simplified;
/// nullopt where there is no such update, and on GPUs, which add updates in any order.
std::optional<tracing::Graph> compact_updates(const tracing::Graph& simple, const Target& target);

}  // namespace neap::planner
