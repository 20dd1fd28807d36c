#include "trace/graph/graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"
#include "core/hash.h"
#include "trace/graph/effects.h"
#include "trace/graph/infer.h"

namespace neap::tracing {
namespace {

// Numbers each value in the order inputs, then outputs of the nodes: the same for graphs of equal structure.
std::vector<ValueId> canonical_numbers(const Graph& graph) {
  std::vector<ValueId> number(graph.values.size(), no_value);
  ValueId next = 0;
  for (const ValueId v : graph.inputs) number[v] = next++;
  for (const Node& node : graph.nodes) {
    for (const ValueId v : node.outputs) number[v] = next++;
  }
  return number;
}

}  // namespace

ValueId Graph::add_input(Aval aval) {
  const auto id = static_cast<ValueId>(values.size());
  values.push_back({std::move(aval), no_node, static_cast<int>(inputs.size())});
  inputs.push_back(id);
  return id;
}

NodeId Graph::add_node(Op op, std::vector<ValueId> operands, Attrs attrs, std::source_location loc) {
  std::vector<Aval> avals;
  avals.reserve(operands.size());
  for (const ValueId v : operands) {
    NEAP_CHECK(v >= 0 && v < static_cast<ValueId>(values.size()), "operand {} of {} values", v, values.size());
    avals.push_back(values[v].aval);
  }
  std::vector<Aval> results = infer(op, avals, attrs, loc);

  const auto id = static_cast<NodeId>(nodes.size());
  Node node{op, std::move(operands), std::move(attrs), {}, loc};
  for (size_t i = 0; i < results.size(); ++i) {
    node.outputs.push_back(static_cast<ValueId>(values.size()));
    values.push_back({std::move(results[i]), id, static_cast<int>(i)});
  }
  nodes.push_back(std::move(node));
  return id;
}

ValueId Graph::add(Op op, std::vector<ValueId> operands, Attrs attrs, std::source_location loc) {
  const NodeId id = add_node(op, std::move(operands), std::move(attrs), loc);
  NEAP_CHECK(nodes[id].outputs.size() == 1, "the node has {} outputs", nodes[id].outputs.size());
  return nodes[id].out();
}

ValueId Graph::constant(double value, DType dtype, Shape shape) {
  Attrs attrs{{Attr::dtype, dtype}, {Attr::shape, std::move(shape)}};
  // Integer constants have one form, so that equal constants are equal attributes.
  if (!is_inexact(dtype) && value == std::trunc(value) && std::abs(value) < 0x1p63) {
    attrs.set(Attr::value, static_cast<int64_t>(value));
  } else {
    attrs.set(Attr::value, value);
  }
  return add(Op::constant, {}, std::move(attrs), std::source_location());
}

bool Graph::operator==(const Graph& other) const {
  if (inputs.size() != other.inputs.size() || nodes.size() != other.nodes.size() ||
      outputs.size() != other.outputs.size() || num_captured != other.num_captured) {
    return false;
  }
  const std::vector<ValueId> mine = canonical_numbers(*this);
  const std::vector<ValueId> theirs = canonical_numbers(other);
  const auto same_values = [&](const std::vector<ValueId>& a, const std::vector<ValueId>& b) {
    return std::ranges::equal(
        a, b, [&](ValueId x, ValueId y) { return mine[x] == theirs[y] && values[x].aval == other.values[y].aval; });
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& a = nodes[i];
    const Node& b = other.nodes[i];
    if (a.op != b.op || !same_values(a.inputs, b.inputs) || !same_values(a.outputs, b.outputs) ||
        !(a.attrs == b.attrs)) {
      return false;
    }
  }
  return same_values(inputs, other.inputs) && same_values(outputs, other.outputs);
}

size_t Graph::hash() const {
  const std::vector<ValueId> number = canonical_numbers(*this);
  std::vector<uint64_t> words{static_cast<uint64_t>(num_captured), inputs.size(), nodes.size(), outputs.size()};
  const auto add_aval = [&](const Aval& aval) {
    words.push_back(static_cast<uint64_t>(aval.dtype) << 32 | aval.shape.size());
    for (const int64_t extent : aval.shape) words.push_back(static_cast<uint64_t>(extent));
  };
  for (const ValueId v : inputs) add_aval(values[v].aval);
  for (const Node& node : nodes) {
    words.push_back(static_cast<uint64_t>(node.op) << 32 | node.inputs.size());
    for (const ValueId v : node.inputs) words.push_back(static_cast<uint64_t>(number[v]));
    words.push_back(node.attrs.hash());
  }
  for (const ValueId v : outputs) words.push_back(static_cast<uint64_t>(number[v]));
  return xxh3_64(words.data(), words.size() * sizeof(uint64_t));
}

Ints inverse(const Ints& permutation) {
  Ints result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) result[permutation[i]] = static_cast<int64_t>(i);
  return result;
}

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.values.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const ValueId v : node.inputs) ++uses[v];
  }
  for (const ValueId v : graph.outputs) ++uses[v];
  return uses;
}

std::vector<std::vector<NodeId>> consumers(const Graph& graph) {
  std::vector<std::vector<NodeId>> result(graph.values.size());
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    for (const ValueId v : graph.nodes[id].inputs) {
      if (result[v].empty() || result[v].back() != id) result[v].push_back(id);
    }
  }
  return result;
}

Graph eliminate_dead_code(const Graph& graph) {
  const std::vector<bool> live = live_nodes(graph, [](const Node& node) { return has_effects(node); });
  Graph result;
  result.name = graph.name;
  result.num_captured = graph.num_captured;
  result.nodes.reserve(graph.nodes.size());
  result.values.reserve(graph.values.size());
  std::vector<ValueId> renamed(graph.values.size(), no_value);
  const auto rename = [&](const std::vector<ValueId>& ids) {
    std::vector<ValueId> out;
    out.reserve(ids.size());
    for (const ValueId v : ids) out.push_back(renamed[v]);
    return out;
  };
  for (const ValueId v : graph.inputs) renamed[v] = result.add_input(graph.aval(v));
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!live[i]) continue;
    const Node& old = graph.nodes[i];
    Node node{old.op, rename(old.inputs), old.attrs, {}, old.loc};
    for (const Attr inner : {Attr::body, Attr::otherwise}) {
      if (!old.attrs.has(inner)) continue;
      node.attrs.set(inner, std::make_shared<const Graph>(eliminate_dead_code(*old.attrs.graph(inner))));
    }
    node.outputs.reserve(old.outputs.size());
    for (const ValueId v : old.outputs) {
      renamed[v] = static_cast<ValueId>(result.values.size());
      result.values.push_back({graph.aval(v), static_cast<NodeId>(result.nodes.size()), graph.values[v].index});
      node.outputs.push_back(renamed[v]);
    }
    result.nodes.push_back(std::move(node));
  }
  result.outputs = rename(graph.outputs);
  return result;
}

}  // namespace neap::tracing
