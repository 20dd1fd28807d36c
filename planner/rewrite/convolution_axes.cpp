#include "planner/rewrite/convolution_axes.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "planner/plan/graph_edit.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// The axes of a view that each axis of an array becomes; nullopt where some become parts of one.
std::optional<std::vector<Ints>> split_axes(const Shape& from, const Shape& to) {
  if (element_count(from) == 0) return std::nullopt;
  std::vector<Ints> groups;
  int64_t next = 0;
  for (const int64_t extent : from) {
    Ints group;
    for (int64_t product = 1; product < extent; ++next) {
      if (next == std::ssize(to)) return std::nullopt;
      group.push_back(next);
      product *= to[next];
      if (product > extent) return std::nullopt;
    }
    groups.push_back(std::move(group));
  }
  if (groups.empty()) return std::nullopt;
  for (; next < std::ssize(to); ++next) groups.back().push_back(next);  // of extent 1
  return groups;
}

// The groups' axes one behind the other, in this order of groups.
struct Order {
  Ints axes, place;  // place[axes[i]] = i
};
Order ordered(const std::vector<Ints>& groups, const Ints& order) {
  Order result;
  for (const int64_t group : order) {
    for (const int64_t axis : groups[group]) result.axes.push_back(axis);
  }
  result.place.resize(result.axes.size());
  for (size_t i = 0; i < result.axes.size(); ++i) result.place[result.axes[i]] = static_cast<int64_t>(i);
  return result;
}

Ints inverse(const Ints& permutation) {
  Ints result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) result[permutation[i]] = static_cast<int64_t>(i);
  return result;
}

Ints moved(const Ints& axes, const Ints& place) {
  Ints result;
  for (const int64_t axis : axes) result.push_back(place[axis]);
  return result;
}

Shape chosen(const Shape& shape, const Ints& axes) {
  Shape result;
  for (const int64_t axis : axes) result.push_back(shape[axis]);
  return result;
}

// A transposed array under an operand, and how the operand's axes lie in it.
struct Source {
  ValueId value;
  Order order;
};
std::optional<Source> source_of(const Graph& graph, ValueId operand) {
  const ValueId under = graph.is(operand, Op::reshape) ? graph.def(operand)->inputs[0] : operand;
  if (!graph.is(under, Op::transpose)) return std::nullopt;
  const Node& turn = *graph.def(under);
  const auto groups = split_axes(graph.aval(under).shape, graph.aval(operand).shape);
  if (!groups) return std::nullopt;
  return Source{turn.inputs[0], ordered(*groups, inverse(turn.attrs.ints(Attr::permutation)))};
}

// The convolution whose result a transpose alone reads, and the order of its axes there.
struct Result {
  NodeId convolution;
  Order order;
};
std::optional<Result> result_of(const Graph& graph, const std::vector<int>& uses, const Node& node) {
  if (node.op != Op::transpose) return std::nullopt;
  const ValueId turned = node.inputs[0];
  ValueId v = turned;
  if (uses[v] == 1 && graph.is(v, Op::reshape)) v = graph.def(v)->inputs[0];
  if (uses[v] != 1 || uses[turned] != 1 || !graph.is(v, Op::convolution) || graph.def(v)->inputs.size() != 2)
    return std::nullopt;
  const auto groups = split_axes(graph.aval(turned).shape, graph.aval(v).shape);
  if (!groups) return std::nullopt;
  return Result{graph.values[v].def, ordered(*groups, node.attrs.ints(Attr::permutation))};
}

}  // namespace

Graph absorb_transposes(Graph graph) {
  if (std::ranges::none_of(graph.nodes, [](const Node& node) { return node.op == Op::convolution; })) return graph;
  const std::vector<int> uses = count_uses(graph);
  std::vector<std::optional<Order>> of_result(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    if (auto result = result_of(graph, uses, node)) of_result[result->convolution] = std::move(result->order);
  }
  Graph to;
  std::vector<ValueId> renamed = copy_inputs(to, graph);
  for (NodeId id = 0; id < std::ssize(graph.nodes); ++id) {
    const Node& node = graph.nodes[id];
    if (const auto result = result_of(graph, uses, node)) {
      renamed[node.out()] = to.add(Op::reshape, {renamed[graph.nodes[result->convolution].out()]},
                                   {{Attr::shape, graph.aval(node.out()).shape}}, node.loc);
      continue;
    }
    if (node.op == Op::reshape && graph.is(node.inputs[0], Op::convolution) &&
        of_result[graph.values[node.inputs[0]].def]) {
      continue;  // between a convolution and its transpose
    }
    if (node.op != Op::convolution) {
      append_renamed(to, graph, node, renamed);
      continue;
    }
    Attrs attrs = node.attrs;
    std::vector<ValueId> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(renamed[v]);
    for (size_t i = 0; i < 2; ++i) {
      const auto source = source_of(graph, node.inputs[i]);
      if (!source) continue;
      const Attr axes = i == 0 ? Attr::lhs_axes : Attr::rhs_axes;
      attrs.set(axes, moved(attrs.ints(axes), source->order.place));
      const Shape shape = chosen(graph.aval(node.inputs[i]).shape, source->order.axes);
      inputs[i] = to.add(Op::reshape, {renamed[source->value]}, {{Attr::shape, shape}}, node.loc);
    }
    if (of_result[id]) attrs.set(Attr::out_axes, moved(attrs.ints(Attr::out_axes), of_result[id]->place));
    renamed[node.out()] = to.add(node.op, std::move(inputs), std::move(attrs), node.loc);
  }
  for (const ValueId v : graph.outputs) to.outputs.push_back(renamed[v]);
  return drop_dead_code(std::move(to));
}

}  // namespace neap::planner
