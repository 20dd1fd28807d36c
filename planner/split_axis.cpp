#include "planner/split_axis.h"

#include <algorithm>

#include "planner/dot.h"
#include "trace/op_table.h"

namespace neap::planner {

using namespace trace;

namespace {

int64_t extent_before(const Shape& shape, int64_t axis) {
  int64_t product = 1;
  for (int64_t i = 0; i < axis; ++i) product *= shape[i];
  return product;
}

bool contains(const Ints& list, int64_t x) { return std::ranges::find(list, x) != list.end(); }

// The operand axis that becomes output axis `axis` when `dropped` axes are left out.
int64_t undrop(const Ints& dropped, int64_t axis) {
  for (int64_t i = 0;; ++i) {
    if (contains(dropped, i)) continue;
    if (axis-- == 0) return i;
  }
}

int64_t layout_axis(const Graph& graph, const Node& node, int64_t axis, size_t i) {
  const Shape& in = graph.aval(node.inputs[i]).shape;
  const Shape& out = graph.aval(node.out()).shape;
  const Attrs& attrs = node.attrs;
  switch (node.op) {
    case Op::broadcast_in_dim: {
      const Ints& axes = attrs.ints(Attr::axes);
      for (size_t j = 0; j < axes.size(); ++j) {
        if (axes[j] == axis) return in[j] == out[axis] ? static_cast<int64_t>(j) : kWhole;
      }
      return kWhole;
    }
    case Op::reshape:
      for (int64_t j = 0; j < std::ssize(in); ++j) {
        if (in[j] == out[axis] && extent_before(in, j) == extent_before(out, axis)) return j;
      }
      return kImpossible;
    case Op::transpose: return attrs.ints(Attr::permutation)[axis];
    case Op::slice: return in[axis] == out[axis] ? axis : kImpossible;
    case Op::pad:
      if (i == 1) return kWhole;
      return attrs.ints(Attr::low)[axis] == 0 && in[axis] == out[axis] && attrs.ints(Attr::interior)[axis] == 0
                 ? axis
                 : kImpossible;
    case Op::concatenate: return attrs.integer(Attr::axis) == axis ? kImpossible : axis;
    case Op::reverse: return contains(attrs.ints(Attr::axes), axis) ? kImpossible : axis;
    default: return kImpossible;
  }
}

int64_t indexed_axis(const Graph& graph, const Node& node, int64_t axis, size_t i) {
  const int64_t batch = graph.aval(node.inputs[1]).ndim() - 1;
  if (axis < batch) return i == 1 ? axis : kWhole;
  return i == 1 ? kWhole : undrop(node.attrs.ints(Attr::axes), axis - batch);
}

int64_t random_axis(const Graph& graph, const Node& node, int64_t axis) {
  const int64_t batch = graph.aval(node.inputs[0]).ndim() - 1;
  if (node.op == Op::random_bits) {
    if (node.inputs.size() > 1) return kImpossible;  // sliced before
    return axis < batch ? axis : kWhole;
  }
  return axis < batch ? axis : kImpossible;
}

int64_t dot_axis(const Graph& graph, const Node& node, int64_t axis, size_t i) {
  if (!is_canonical_dot(graph, node)) return kImpossible;
  const DotForm form = dot_form(graph, node);
  if (axis == 0) return 0;
  if (axis == 1) return i == 0 ? (form.lhs_transposed ? 2 : 1) : kWhole;
  return i == 1 ? (form.rhs_transposed ? 1 : 2) : kWhole;
}

}  // namespace

int64_t operand_axis(const Graph& graph, const Node& node, int64_t axis, size_t i) {
  switch (op_info(node.op).family) {
    case Family::elementwise:
    case Family::convert: return axis;
    case Family::layout: return layout_axis(graph, node, axis, i);
    case Family::reduce: return undrop(node.attrs.ints(Attr::axes), axis);
    case Family::argreduce: return undrop({node.attrs.integer(Attr::axis)}, axis);
    case Family::sort: return axis == node.attrs.integer(Attr::axis) ? kImpossible : axis;
    case Family::gather: return indexed_axis(graph, node, axis, i);
    case Family::random: return random_axis(graph, node, axis);
    case Family::dot: return dot_axis(graph, node, axis, i);
    default: return kImpossible;
  }
}

int64_t result_axis(const Graph& graph, const Node& node, size_t i, int64_t axis) {
  if (node.outputs.size() != 1) return kImpossible;
  for (int64_t out = 0; out < graph.aval(node.out()).ndim(); ++out) {
    if (operand_axis(graph, node, out, i) == axis) return out;
  }
  return kImpossible;
}

bool folds_over(const Graph& graph, const Node& node, size_t i, int64_t axis) {
  if (op_info(node.op).family == Family::reduce) return contains(node.attrs.ints(Attr::axes), axis);
  if (!is_canonical_dot(graph, node)) return false;
  return node.attrs.ints(i == 0 ? Attr::lhs_contract : Attr::rhs_contract)[0] == axis;
}

}  // namespace neap::planner
