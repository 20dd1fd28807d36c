// These functions copy parts of a graph into another, and say what dtypes and views allow where a graph is rewritten.
#pragma once

#include <source_location>
#include <vector>

#include "trace/graph/graph.h"

namespace neap::planner {

/// Tells whether every node is live, also in bodies.
bool is_all_live(const tracing::Graph& graph);
/// Does what tracing::eliminate_dead_code() does, but returns the graph itself, without a copy, where that
/// is_all_live().
tracing::Graph drop_dead_code(tracing::Graph graph);

/// Gives an empty graph the name and the inputs of `from`. Returns the new value of each value of `from`: that of an
/// input, no_value for the others.
std::vector<tracing::ValueId> copy_inputs(tracing::Graph& to, const tracing::Graph& from);

/// Appends a node whose outputs have the avals of `node`'s in `from`; returns its id.
tracing::NodeId append_copy(tracing::Graph& to, const tracing::Graph& from, const tracing::Node& node,
                            std::vector<tracing::ValueId> inputs);

/// Does the same with operands found in `renamed`, which maps values of `from` to those of `to`; adds the outputs to
/// it.
tracing::NodeId append_renamed(tracing::Graph& to, const tracing::Graph& from, const tracing::Node& node,
                               std::vector<tracing::ValueId>& renamed);

/// Appends a slice of `v`: the elements [begin, end) of an axis.
tracing::ValueId append_slice(tracing::Graph& to, tracing::ValueId v, int64_t axis, int64_t begin, int64_t end,
                              std::source_location loc = {});

/// Tells whether the dtype is an integer one that holds 0 to `hi`.
bool holds(DType dtype, int64_t hi);

/// Tells whether every value of `from` is a value of `to`, so that converting there and back is the identity.
bool holds_exactly(DType to, DType from);

/// Returns, for each of the axes, what `by_axis` has of it: another axis, or an extent.
tracing::Ints mapped(const tracing::Ints& axes, const tracing::Ints& by_axis);

/// Tells whether the permutation keeps all axes but those of extent 1 in ascending order, so that it is a reshape.
bool is_reshape(const Shape& shape, const tracing::Ints& permutation);

}  // namespace neap::planner
