// Calls: nodes of functions with a derivative of their own (custom_jvp, custom_vjp). Each derivative is a graph in an
// attribute. Whoever runs a call runs its body.
#pragma once

#include <functional>
#include <source_location>

#include "trace/graph/graph.h"

namespace neap::tracing {

/// What a call computes. UserError for linear_call, whose transpose alone is known.
const Graph& called(Op op, const Attrs& attrs, std::source_location loc);

/// The same graph with the bodies of calls in their place; not inside of loops and branches.
Graph inline_calls(Graph graph);
/// The same, of those calls that the function chooses, and of all in their bodies that have one.
Graph inline_calls(const Graph& graph, const std::function<bool(const Node&)>& chosen);

/// A rule is traced where its function is called. One that calls functions with rules, its own perhaps, has theirs
/// traced as well, so deep; so often can a function be differentiated whose rule calls it.
inline constexpr int kRulesInRules = 4;
/// Whether a custom_jvp or custom_vjp has its derivative: those deeper do not.
inline bool has_rule(Op op, const Attrs& attrs) {
  return attrs.has(op == Op::custom_jvp ? Attr::derivative : Attr::forward);
}

/// How many of the first operands have no derivative.
inline size_t call_consts(const Node& node) { return static_cast<size_t>(node.attrs.integer(Attr::num_consts)); }

}  // namespace neap::tracing
