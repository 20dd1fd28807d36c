// Windows that are written into an array where constants say. Tested in tests/trace/indexing_test.cpp.
#pragma once

#include <optional>

#include "trace/graph/graph.h"

namespace neap::planner {

/// Returns where the window of a dynamic_update_slice starts, if constants say so.
std::optional<tracing::Ints> known_start(const tracing::Graph& graph, const tracing::Node& update);

/// Returns where the window starts of a step's result, a dynamic_update_slice, that it writes by kernels for the window
/// and for what lies around it: each element is then read and written by one of them, at plain places. It does where
/// the start is known, the step has no other result, and there are neither many kernels nor short runs.
std::optional<tracing::Ints> start_written_apart(const tracing::Graph& group, tracing::ValueId v);

}  // namespace neap::planner
