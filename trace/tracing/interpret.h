// The one walk over a graph that transforms share: node by node, with values of any type. Tested in
// tests/trace/interpret_test.cpp.
#pragma once

#include <utility>
#include <vector>

#include "core/check.h"
#include "trace/graph/op_table.h"
#include "trace/tracing/tracing.h"

namespace neap::tracing {

/// Returns a value for each value of the graph: for its inputs those given, for a node's results what `rule(node,
/// operands)` returns, a vector with one each. The rule runs at the node's line; what it traces is marked as the node
/// is. (inline_graph() has a walk of its own: run at once, its values die at their last use.)
template <class Value, class Rule>
std::vector<Value> interpret(const Graph& graph, std::vector<Value> inputs, const Rule& rule) {
  NEAP_CHECK(inputs.size() == graph.inputs.size(), "{} values for {} inputs", inputs.size(), graph.inputs.size());
  std::vector<Value> values(graph.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = std::move(inputs[i]);
  for (const Node& node : graph.nodes) {
    const AtLine at(node.loc);
    const MarkedLike as(node);
    std::vector<Value> operands;
    for (const ValueId v : node.inputs) operands.push_back(values[v]);
    std::vector<Value> results = rule(node, operands);
    NEAP_CHECK(results.size() == node.outputs.size(), "{}: {} results", name(node.op), results.size());
    for (size_t i = 0; i < results.size(); ++i) values[node.outputs[i]] = std::move(results[i]);
  }
  return values;
}

/// Returns the entries that belong to some of a graph's values.
template <class Value>
std::vector<Value> pick(const std::vector<Value>& values, const std::vector<ValueId>& picked) {
  std::vector<Value> some;
  for (const ValueId v : picked) some.push_back(values[v]);
  return some;
}

}  // namespace neap::tracing
