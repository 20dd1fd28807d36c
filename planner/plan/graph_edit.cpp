#include "planner/plan/graph_edit.h"

#include <algorithm>

namespace neap::planner {

using namespace tracing;

bool is_all_live(const Graph& graph) {
  std::vector<bool> used(graph.values.size(), false);
  for (const ValueId v : graph.outputs) used[v] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const bool live = std::ranges::any_of(node.outputs, [&](ValueId v) { return used[v]; });
    if (!live) return false;
    for (const Attr inner : {Attr::body, Attr::otherwise}) {
      if (node.attrs.has(inner) && !is_all_live(*node.attrs.graph(inner))) return false;
    }
    for (const ValueId v : node.inputs) used[v] = true;
  }
  return true;
}

Graph drop_dead_code(Graph graph) { return is_all_live(graph) ? std::move(graph) : eliminate_dead_code(graph); }

std::vector<ValueId> copy_inputs(Graph& to, const Graph& from) {
  to.name = from.name;
  to.num_captured = from.num_captured;
  to.nodes.reserve(from.nodes.size());
  to.values.reserve(from.values.size());
  std::vector<ValueId> renamed(from.values.size(), no_value);
  for (const ValueId v : from.inputs) renamed[v] = to.add_input(from.aval(v));
  return renamed;
}

NodeId append_copy(Graph& to, const Graph& from, const Node& node, std::vector<ValueId> inputs) {
  const auto id = static_cast<NodeId>(to.nodes.size());
  Node copy{node.op, std::move(inputs), node.attrs, {}, node.loc};
  copy.outputs.reserve(node.outputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    copy.outputs.push_back(static_cast<ValueId>(to.values.size()));
    to.values.push_back({from.aval(node.outputs[i]), id, static_cast<int>(i)});
  }
  to.nodes.push_back(std::move(copy));
  return id;
}

NodeId append_renamed(Graph& to, const Graph& from, const Node& node, std::vector<ValueId>& renamed) {
  std::vector<ValueId> inputs;
  inputs.reserve(node.inputs.size());
  for (const ValueId v : node.inputs) inputs.push_back(renamed[v]);
  const NodeId id = append_copy(to, from, node, std::move(inputs));
  for (size_t i = 0; i < node.outputs.size(); ++i) renamed[node.outputs[i]] = to.nodes[id].outputs[i];
  return id;
}

ValueId append_slice(Graph& to, ValueId v, int64_t axis, int64_t begin, int64_t end, std::source_location loc) {
  const Shape& shape = to.aval(v).shape;
  Ints start(shape.size(), 0), limit = shape, stride(shape.size(), 1);
  start[axis] = begin;
  limit[axis] = end;
  return to.add(Op::slice, {v}, {{Attr::start, start}, {Attr::limit, limit}, {Attr::stride, stride}}, loc);
}

bool holds(DType dtype, int64_t hi) {
  if (!is_integer(dtype)) return false;
  const size_t bits = 8 * size_of(dtype) - (is_signed(dtype) ? 1 : 0);
  return bits >= 63 || hi < int64_t{1} << bits;
}

bool holds_exactly(DType to, DType from) {
  if (to == from || from == DType::bool_) return true;
  if (to == DType::bool_) return false;
  const auto digits = [](DType t) {  // of the significand, or value bits of an integer
    switch (t) {
      case DType::f16: return 11;
      case DType::bf16: return 8;
      case DType::f32: return 24;
      case DType::f64: return 53;
      default: return static_cast<int>(size_of(t)) * 8 - (is_signed(t) ? 1 : 0);
    }
  };
  if (is_float(from)) return is_float(to) && digits(to) >= 24 && digits(to) > digits(from);
  if (is_float(to)) return digits(to) >= digits(from) && !(to == DType::f16 && digits(from) > 11);
  if (is_signed(from) && !is_signed(to)) return false;
  return digits(to) >= digits(from);
}

Ints mapped(const Ints& axes, const Ints& by_axis) {
  Ints result;
  for (const int64_t axis : axes) result.push_back(by_axis[axis]);
  return result;
}

bool is_reshape(const Shape& shape, const Ints& permutation) {
  int64_t last = -1;
  for (const int64_t axis : permutation) {
    if (shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace neap::planner
