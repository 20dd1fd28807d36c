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

// The convolution whose result a transpose alone reads, and the order of its axes there. Between the two may be a
// conversion and a reshape.
struct Result {
  NodeId convolution;
  Order order;
};
std::optional<Result> result_of(const Graph& graph, const std::vector<int>& uses, const Node& node) {
  if (node.op != Op::transpose) return std::nullopt;
  const ValueId turned = node.inputs[0];
  ValueId v = turned;
  for (const Op between : {Op::reshape, Op::convert}) {
    if (uses[v] == 1 && graph.is(v, between)) v = graph.def(v)->inputs[0];
  }
  if (uses[v] != 1 || uses[turned] != 1 || !graph.is(v, Op::convolution) || graph.def(v)->inputs.size() != 2)
    return std::nullopt;
  const auto groups = split_axes(graph.aval(turned).shape, graph.aval(v).shape);
  if (!groups) return std::nullopt;
  return Result{graph.values[v].def, ordered(*groups, node.attrs.ints(Attr::permutation))};
}

// A transposed array under an operand, perhaps converted, and how the operand's axes lie in it. One that is a
// convolution's own result already is not there any more.
struct Source {
  ValueId value;
  Order order;
};
std::optional<Source> source_of(const Graph& graph, const std::vector<int>& uses, ValueId operand) {
  ValueId under = operand;
  for (const Op between : {Op::convert, Op::reshape}) {
    if (graph.is(under, between)) under = graph.def(under)->inputs[0];
  }
  if (!graph.is(under, Op::transpose)) return std::nullopt;
  const Node& turn = *graph.def(under);
  if (result_of(graph, uses, turn)) return std::nullopt;
  const auto groups = split_axes(graph.aval(under).shape, graph.aval(operand).shape);
  if (!groups) return std::nullopt;
  return Source{turn.inputs[0], ordered(*groups, inverse(turn.attrs.ints(Attr::permutation)))};
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
  const auto reshaped = [&](ValueId v, Shape shape, std::source_location loc) {
    return to.aval(v).shape == shape ? v : to.add(Op::reshape, {v}, {{Attr::shape, std::move(shape)}}, loc);
  };
  const auto converted = [&](ValueId v, DType dtype, std::source_location loc) {
    return to.aval(v).dtype == dtype ? v : to.add(Op::convert, {v}, {{Attr::dtype, dtype}}, loc);
  };
  std::vector<bool> between(graph.values.size(), false);  // a convolution and its transpose: not there any more
  for (NodeId id = 0; id < std::ssize(graph.nodes); ++id) {
    const Node& node = graph.nodes[id];
    if (const auto result = result_of(graph, uses, node)) {
      const Aval& out = graph.aval(node.out());
      const ValueId v = converted(renamed[graph.nodes[result->convolution].out()], out.dtype, node.loc);
      renamed[node.out()] = reshaped(v, out.shape, node.loc);
      continue;
    }
    if (node.op == Op::reshape || node.op == Op::convert) {
      const ValueId from = node.inputs[0];
      const bool is_result = graph.is(from, Op::convolution) && of_result[graph.values[from].def];
      if (between[node.out()] = is_result || between[from]; between[node.out()]) continue;
    }
    if (node.op != Op::convolution) {
      append_renamed(to, graph, node, renamed);
      continue;
    }
    Attrs attrs = node.attrs;
    std::vector<ValueId> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(renamed[v]);
    for (size_t i = 0; i < 2; ++i) {
      const auto source = source_of(graph, uses, node.inputs[i]);
      if (!source) continue;
      const Attr axes = i == 0 ? Attr::lhs_axes : Attr::rhs_axes;
      attrs.set(axes, mapped(attrs.ints(axes), source->order.place));
      if (i == 0 && attrs.has(Attr::full_shape))
        attrs.set(Attr::full_shape, mapped(source->order.axes, attrs.ints(Attr::full_shape)));
      const Aval& operand = graph.aval(node.inputs[i]);
      const ValueId v = converted(renamed[source->value], operand.dtype, node.loc);
      inputs[i] = reshaped(v, mapped(source->order.axes, operand.shape), node.loc);
    }
    if (of_result[id]) attrs.set(Attr::out_axes, mapped(attrs.ints(Attr::out_axes), of_result[id]->place));
    renamed[node.out()] = to.add(node.op, std::move(inputs), std::move(attrs), node.loc);
  }
  for (const ValueId v : graph.outputs) to.outputs.push_back(renamed[v]);
  return drop_dead_code(std::move(to));
}

}  // namespace neap::planner
