#include "planner/rewrite/lower_sort.h"

#include <algorithm>
#include <limits>
#include <map>

#include "planner/plan/graph_edit.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

ValueId lower_sort(Builder& b, const Term& term) {
  if (op_info(term.op).family != Family::sort) return no_value;
  const Aval x = b.aval(term.inputs[0]);
  const int64_t axis = term.attrs.integer(Attr::axis), last = x.ndim() - 1;
  if (x.shape[axis] == 1) {
    if (term.op == Op::sort) return term.inputs[0];
    return b.constant(AttrValue(int64_t{0}), DType::i32, x.shape, term.loc);
  }
  if (axis == last) return no_value;
  Ints forward, back;
  for (int64_t d = 0; d <= last; ++d) {
    if (d != axis) forward.push_back(d);
    back.push_back(d < axis ? d : d == axis ? last : d - 1);
  }
  forward.push_back(axis);
  const ValueId rows = b.add(Op::transpose, {term.inputs[0]}, {{Attr::permutation, forward}}, term.loc);
  Attrs attrs = term.attrs;
  attrs.set(Attr::axis, last);
  const ValueId sorted = b.add(term.op, {rows}, std::move(attrs), term.loc);
  return b.add(Op::transpose, {sorted}, {{Attr::permutation, back}}, term.loc);
}

namespace {

// The elements of x where `order`, its argsort along the last axis, says.
ValueId take_in_order(Graph& g, ValueId x, ValueId order, std::source_location loc) {
  const Aval whole = g.aval(x);
  const int64_t length = whole.shape.back(), rows = whole.size() / length;
  const auto reshape = [&](ValueId v, Shape shape) {
    return g.aval(v).shape == shape ? v : g.add(Op::reshape, {v}, {{Attr::shape, std::move(shape)}}, loc);
  };
  constexpr auto kInBounds = static_cast<int64_t>(IndexMode::promise_in_bounds);
  ValueId indices = reshape(order, {rows, length, 1}), from = x;
  Ints axes{0};
  if (rows == 1) {
    from = reshape(x, {length});
  } else {
    const DType dtype = rows > std::numeric_limits<int32_t>::max() ? DType::i64 : DType::i32;
    const Shape column{rows, length, 1};
    if (dtype != DType::i32) indices = g.add(Op::convert, {indices}, {{Attr::dtype, dtype}}, loc);
    const ValueId row =
        g.add(Op::iota, {}, {{Attr::dtype, dtype}, {Attr::shape, column}, {Attr::axis, int64_t{0}}}, loc);
    indices = g.add(Op::concatenate, {row, indices}, {{Attr::axis, int64_t{2}}}, loc);
    from = reshape(x, {rows, length});
    axes.push_back(1);
  }
  return reshape(g.add(Op::gather, {from, indices}, {{Attr::axes, axes}, {Attr::mode, kInBounds}}, loc), whole.shape);
}

}  // namespace

Graph share_sorts(Graph graph) {
  const auto key = [](const Node& node) { return std::pair(node.inputs[0], node.attrs.integer(Attr::descending)); };
  std::map<std::pair<ValueId, int64_t>, const Node*> orders;  // all along the last axis
  for (const Node& node : graph.nodes) {
    if (node.op == Op::argsort) orders.emplace(key(node), &node);
  }
  const auto order_of = [&](const Node& node) -> const Node* {
    if (node.op != Op::sort || graph.aval(node.out()).size() == 0) return nullptr;
    const auto it = orders.find(key(node));
    return it == orders.end() ? nullptr : it->second;
  };
  if (std::ranges::none_of(graph.nodes, order_of)) return graph;
  Graph result;
  std::vector<ValueId> renamed = copy_inputs(result, graph);
  for (const Node& node : graph.nodes) {
    const Node* order = order_of(node);
    const Node& first = order ? *order : node;
    const bool there = first.op == Op::argsort && renamed[first.out()] != no_value;
    if (!there) append_renamed(result, graph, first, renamed);
    if (order) renamed[node.out()] = take_in_order(result, renamed[node.inputs[0]], renamed[order->out()], node.loc);
  }
  for (const ValueId v : graph.outputs) result.outputs.push_back(renamed[v]);
  return result;
}

}  // namespace neap::planner
