// Calls: nodes of functions with a derivative of their own (custom_jvp, custom_vjp). Each derivative is a graph in an
// attribute. To run a call is to run its body.
#pragma once

#include <functional>
#include <source_location>

#include "trace/graph/graph.h"

namespace neap::tracing {

/// Returns the graph that a call computes. Throws UserError for linear_call, of which only the transpose is known.
const Graph& called(Op op, const Attrs& attrs, std::source_location loc);

/// Tells whether a node of the graph is a call; one inside of a loop or branch is not of it.
bool has_calls(const Graph& graph);
/// Returns the same graph with the bodies of calls in their place; calls inside of loops and branches stay.
Graph inline_calls(Graph graph);
/// Inlines only those calls that the function chooses, and every call in whose body it chooses one.
Graph inline_calls(const Graph& graph, const std::function<bool(const Node&)>& chosen);

/// A function whose derivative rule calls functions with rules (itself perhaps) has their rules traced as well, to this
/// depth; so it can be differentiated this often. Each level traces the rules once more, so the time of tracing may
/// grow with a power of the depth; `neap-plan-speed` measures tracing, though none of its programs has rules.
inline constexpr int kRulesInRules = 4;
/// Returns whether a custom_jvp or custom_vjp has its derivative: those nested deeper do not.
inline bool has_rule(Op op, const Attrs& attrs) {
  return attrs.has(op == Op::custom_jvp ? Attr::derivative : Attr::forward);
}

/// Returns how many of the first operands have no derivative.
inline size_t call_consts(const Node& node) { return static_cast<size_t>(node.attrs.integer(Attr::num_consts)); }

}  // namespace neap::tracing
