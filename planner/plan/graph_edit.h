// Copying parts of a graph into another, and what values and views allow where a graph is rewritten.
#pragma once

#include <vector>

#include "trace/graph/graph.h"

namespace neap::planner {

/// tracing::eliminate_dead_code() of a graph that may be used up: nothing is copied where all is live.
tracing::Graph drop_dead_code(tracing::Graph graph);

/// Gives an empty graph the name and the inputs of `from`. Returns what they are named in it, indexed by the values of
/// `from`; no_value for the others.
std::vector<tracing::ValueId> copy_inputs(tracing::Graph& to, const tracing::Graph& from);

/// Appends a node whose outputs have the avals of `node`'s in `from`; returns its id.
tracing::NodeId append_copy(tracing::Graph& to, const tracing::Graph& from, const tracing::Node& node,
                            std::vector<tracing::ValueId> inputs);

/// The same with the operands that `renamed`, indexed by the values of `from`, names in `to`; names its outputs there.
tracing::NodeId append_renamed(tracing::Graph& to, const tracing::Graph& from, const tracing::Node& node,
                               std::vector<tracing::ValueId>& renamed);

/// Whether an integer dtype holds 0 to `hi`; false for others.
bool holds(DType dtype, int64_t hi);

/// Whether every value of `from` is a value of `to` (converting there and back is the identity).
bool holds_exactly(DType to, DType from);

/// Whether the axes but those of extent 1 are in ascending order: moving them so is a reshape.
bool is_reshape(const Shape& shape, const tracing::Ints& permutation);

}  // namespace neap::planner
