// The smallest program that still fails: outputs are dropped, values become inputs, what is no longer read goes.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "tests/conformance/harness.h"

namespace neap::conformance {

using Fails = std::function<bool(const Graph&, const Arrays&)>;
using GraphWithInputs = std::pair<Graph, Arrays>;

/// What every value of the graph is, by the naive pipeline.
inline std::vector<Array> all_values(const Graph& graph, const Arrays& inputs) {
  Graph open = graph;
  open.outputs.clear();
  for (const tracing::Node& node : graph.nodes)
    open.outputs.insert(open.outputs.end(), node.outputs.begin(), node.outputs.end());
  std::vector<Array> values(graph.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  const Arrays all = jitted(open, {.pipeline = Pipeline::naive})(inputs);
  for (size_t i = 0; i < all.size(); ++i) values[open.outputs[i]] = all[i];
  return values;
}

/// The graph with these outputs, in which the values `cut` are inputs that hold what they are in `values`.
inline GraphWithInputs part_of(const Graph& graph, const std::vector<Array>& values,
                               const std::vector<ValueId>& outputs, const std::set<ValueId>& cut) {
  std::set<ValueId> needed(outputs.begin(), outputs.end());
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool runs =
        std::ranges::any_of(node->outputs, [&](ValueId v) { return needed.contains(v) && !cut.contains(v); });
    if (runs) needed.insert(node->inputs.begin(), node->inputs.end());
  }
  Graph part;
  Arrays inputs;
  std::map<ValueId, ValueId> there;
  const auto add_input = [&](ValueId v) {
    there[v] = part.add_input(graph.aval(v));
    inputs.push_back(values[v]);
  };
  for (const ValueId v : graph.inputs)
    if (needed.contains(v)) add_input(v);
  for (const ValueId v : cut)
    if (needed.contains(v)) add_input(v);
  for (const tracing::Node& node : graph.nodes) {
    const bool runs =
        std::ranges::any_of(node.outputs, [&](ValueId v) { return needed.contains(v) && !cut.contains(v); });
    if (!runs) continue;
    std::vector<ValueId> in;
    for (const ValueId v : node.inputs) in.push_back(there.at(v));
    const std::vector<ValueId> out = part.nodes[part.add_node(node.op, in, node.attrs, node.loc)].outputs;
    for (size_t i = 0; i < out.size(); ++i)
      if (!cut.contains(node.outputs[i])) there[node.outputs[i]] = out[i];
  }
  for (const ValueId v : outputs) part.outputs.push_back(there.at(v));
  return {std::move(part), std::move(inputs)};
}

inline GraphWithInputs shrunk(const Graph& graph, const Arrays& inputs, const Fails& fails) {
  const std::vector<Array> values = all_values(graph, inputs);
  GraphWithInputs best{graph, inputs};
  const auto still_fails = [&](const GraphWithInputs& part) {
    try {
      return fails(part.first, part.second);
    } catch (const std::exception&) {
      return false;
    }
  };
  std::vector<ValueId> outputs = graph.outputs;
  std::set<ValueId> cut;
  const auto accept = [&](const std::vector<ValueId>& o, const std::set<ValueId>& c) {
    GraphWithInputs part = part_of(graph, values, o, c);
    if (!still_fails(part)) return false;
    best = std::move(part), outputs = o, cut = c;
    return true;
  };
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t i = 0; i < outputs.size() && outputs.size() > 1; ++i) {  // one output less
      std::vector<ValueId> fewer = outputs;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (accept(fewer, cut)) smaller = true, --i;
    }
    for (const tracing::Node& node : graph.nodes) {  // an output that is computed earlier
      if (outputs.size() != 1 || node.outputs.size() != 1) continue;
      if (node.outputs[0] < outputs[0] && accept({node.outputs[0]}, cut)) smaller = true;
    }
    for (const tracing::Node& node : graph.nodes) {  // one value more that is given
      std::set<ValueId> more = cut;
      for (const ValueId v : node.outputs)
        if (std::ranges::find(outputs, v) == outputs.end()) more.insert(v);
      if (more.size() > cut.size() &&
          part_of(graph, values, outputs, more).first.nodes.size() < best.first.nodes.size() && accept(outputs, more))
        smaller = true;
    }
  }
  return best;
}

}  // namespace neap::conformance
