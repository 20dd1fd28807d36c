// Effects: calls of the host (trace/graph/host_call.h) that are made whether or not anybody reads their results, in the
// order of the nodes.
//
// In a graph as it is traced and transformed an effect is a node like others, which nobody reads, and that is not dead.
// Before a graph is planned, each effect reads what the one before it left, through loops and branches: from then on
// the order is one of values, of which passes need to know nothing.
#pragma once

#include "core/function_ref.h"
#include "trace/graph/graph.h"

namespace neap::tracing {

/// Returns whether the node, or one in a body of it, has an effect that nothing keeps alive but itself.
bool has_effects(const Node& node);
bool has_effects(const Graph& graph);
/// Returns the first node of it that has such an effect, the node itself or one in a body; nullptr: none.
const Node* first_effect(const Node& node);
/// Returns whether the node, or one in a graph of it, calls the host, or other ranks; `with_results`: a function that
/// has results.
bool calls_host(const Node& node, bool with_results = false);
bool calls_host(const Graph& graph, bool with_results = false);

/// Returns which nodes the outputs are made of, and those that `kept` names.
std::vector<bool> live_nodes(const Graph& graph, FunctionRef<bool(const Node&)> kept);

/// Returns whether the node, or one in any graph of it, the rules of its derivatives among them, calls the host.
bool may_call_host(const Node& node);
bool may_call_host(const Graph& graph);

/// Returns the node without the effects in its graphs of which no result of the graph is made, for what runs a second
/// time; or the graph without its own.
Node without_effects(const Node& node);
Graph without_effects(const Graph& graph);
/// Returns the graph with calls of the host that are made only where `mask`, a bool scalar among its inputs, is true.
Graph masked_calls(const Graph& graph, ValueId mask);
/// Returns the graph with the mask as an input before all others.
Graph with_mask(const Graph& graph);
/// Returns the graph with its effects in an order of values, calls inlined; where there are any, one more result, the
/// last, a u8 scalar that comes after all of them.
Graph ordered_effects(Graph graph);
/// Returns a graph with effects in such an order without those that have no results, for what runs a second time.
Graph without_ordered_effects(const Graph& graph);

}  // namespace neap::tracing
