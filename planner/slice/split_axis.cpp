#include "planner/slice/split_axis.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/factor/factor.h"
#include "planner/kernels/dot.h"
#include "planner/kernels/factor.h"
#include "planner/kernels/unique_indices.h"
#include "trace/graph/convolution.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

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

// A view's axis with as many elements before it, of which as many units are made.
Cut reshaped(const Shape& from, const Shape& to, Cut cut) {
  const int64_t units = from[cut.axis] / cut.block;
  if (units == 0) return kImpossible;
  for (int64_t j = 0; j < std::ssize(to); ++j) {
    if (to[j] > 0 && to[j] % units == 0 && extent_before(to, j) == extent_before(from, cut.axis)) {
      return {j, to[j] / units};
    }
  }
  return kImpossible;
}

Cut layout_cut(const Graph& graph, const Node& node, Cut cut, size_t i) {
  const Shape& in = graph.aval(node.inputs[i]).shape;
  const Shape& out = graph.aval(node.out()).shape;
  const Attrs& attrs = node.attrs;
  const int64_t axis = cut.axis;
  switch (node.op) {
    case Op::broadcast_in_dim: {
      const Ints& axes = attrs.ints(Attr::axes);
      for (size_t j = 0; j < axes.size(); ++j) {
        if (axes[j] == axis) return in[j] == out[axis] ? Cut{static_cast<int64_t>(j), cut.block} : kWhole;
      }
      return kWhole;
    }
    case Op::reshape: return reshaped(out, in, cut);
    case Op::transpose: return {attrs.ints(Attr::permutation)[axis], cut.block};
    case Op::slice: return in[axis] == out[axis] ? cut : kImpossible;
    case Op::pad:
      if (i == 1) return kWhole;
      return attrs.ints(Attr::low)[axis] == 0 && in[axis] == out[axis] && attrs.ints(Attr::interior)[axis] == 0
                 ? cut
                 : kImpossible;
    case Op::concatenate: return attrs.integer(Attr::axis) == axis ? kImpossible : cut;
    case Op::reverse: return contains(attrs.ints(Attr::axes), axis) ? kImpossible : cut;
    default: return kImpossible;
  }
}

Cut gather_cut(const Graph& graph, const Node& node, Cut cut, size_t i) {
  const Ints& axes = node.attrs.ints(Attr::axes);
  const int64_t batch = graph.aval(node.inputs[1]).ndim() - 1;
  if (cut.axis >= batch) return i == 1 ? kWhole : Cut{undrop(axes, cut.axis - batch), cut.block};
  if (i == 1) return cut;
  const int64_t column = counting_column(graph, node, cut);
  return column < 0 ? kWhole : Cut{axes[column], cut.block};
}

Cut scatter_cut(const Graph& graph, const Node& node, Cut cut, size_t i) {
  const Ints& axes = node.attrs.ints(Attr::axes);
  if (i == 0) return cut;
  if (contains(axes, cut.axis)) {
    const int64_t column = counting_column(graph, node, cut);
    return column < 0 ? kImpossible : Cut{counted_axis(graph, node, column), cut.block};
  }
  if (i == 1) return kWhole;
  int64_t axis = graph.aval(node.inputs[1]).ndim() - 1;
  for (int64_t d = 0; d < cut.axis; ++d) axis += contains(axes, d) ? 0 : 1;
  return {axis, cut.block};
}

Cut random_cut(const Graph& graph, const Node& node, Cut cut) {
  const int64_t batch = graph.aval(node.inputs[0]).ndim() - 1;
  if (node.op == Op::random_bits) {
    if (node.inputs.size() > 1) return kImpossible;  // sliced before
    return cut.axis < batch ? cut : kWhole;
  }
  if (cut.axis < batch) return cut;
  return node.op == Op::random_split && cut.axis + 1 < graph.aval(node.out()).ndim() ? kWhole : kImpossible;
}

// Matrices are independent, but may have one factor for all, or a diagonal beside each; so are the right-hand sides of
// a triangular system, in groups.
Cut factor_cut(const Graph& graph, const Node& node, Cut cut, size_t i) {
  const Shape& shape = graph.aval(node.inputs[0]).shape;
  const int64_t batch = graph.aval(node.inputs.back()).ndim() - 2;
  const bool one_factor = node.inputs.size() > 1 && factor_form(graph, node).one_factor;
  if (cut.axis < batch) return one_factor && i == 0 ? kWhole : cut;
  if (node.op != Op::triangular_solve || cut.axis == batch) return kImpossible;
  const int64_t group = factor::columns_together(shape.back());
  if (group > 1 && graph.aval(node.out()).shape[cut.axis] % group == 1) return kImpossible;
  return i == 1 ? cut : kWhole;
}

Cut dot_cut(const Graph& graph, const Node& node, Cut cut, size_t i) {
  if (!is_canonical_dot(graph, node)) return kImpossible;
  const DotForm form = dot_form(graph, node);
  if (cut.axis == 0 || i == 2) return cut;
  if (cut.axis == 1) return i == 0 ? Cut{form.lhs_transposed ? 2 : 1, cut.block} : kWhole;
  return i == 1 ? Cut{form.rhs_transposed ? 1 : 2, cut.block} : kWhole;
}

// Transforms are independent of one another; pairs are whole.
Cut fourier_cut(const Graph& graph, const Node& node, Cut cut) {
  const bool in_pair = node.op != Op::irfft_pairs && cut.axis + 1 == graph.aval(node.out()).ndim();
  return in_pair || cut.axis == node.attrs.integer(Attr::axis) ? kImpossible : cut;
}

// Groups, examples and features of the result are independent of one another.
Cut convolution_cut(const Node& node, Cut cut, size_t i) {
  if (i == 2) return cut;
  const ConvolutionView view{node.attrs};
  for (size_t role = 0; role < 3; ++role) {
    if (view.out()[role] != cut.axis) continue;
    if (role == 0) return {(i == 0 ? view.lhs() : view.rhs())[0], cut.block};
    if (role == 1) return i == 0 ? Cut{view.lhs()[1], cut.block} : kWhole;
    return i == 1 ? Cut{view.rhs()[1], cut.block} : kWhole;
  }
  return kImpossible;
}

}  // namespace

Cut operand_cut(const Graph& graph, const Node& node, Cut cut, size_t i) {
  switch (op_info(node.op).family) {
    case Family::elementwise:
    case Family::convert: return cut;
    case Family::layout: return layout_cut(graph, node, cut, i);
    case Family::reduce:
      if (i == 1) return cut;
      return {undrop(node.attrs.ints(Attr::axes), cut.axis), cut.block};
    case Family::argreduce: return {undrop({node.attrs.integer(Attr::axis)}, cut.axis), cut.block};
    case Family::fft: return fourier_cut(graph, node, cut);
    case Family::cumulative:
    case Family::sort: return cut.axis == node.attrs.integer(Attr::axis) ? kImpossible : cut;
    case Family::factor: return factor_cut(graph, node, cut, i);
    case Family::gather: return gather_cut(graph, node, cut, i);
    case Family::scatter: return scatter_cut(graph, node, cut, i);
    case Family::random: return random_cut(graph, node, cut);
    case Family::dot: return dot_cut(graph, node, cut, i);
    case Family::convolution: return convolution_cut(node, cut, i);
    default: return kImpossible;
  }
}

int64_t slice_unit(const Graph& graph, const Node& node, Cut cut) {
  if (node.op != Op::triangular_solve || cut.axis + 1 < graph.aval(node.out()).ndim()) return 1;
  const int64_t group = factor::columns_together(graph.aval(node.inputs[0]).shape.back());
  return group / std::gcd(group, cut.block);
}

Cut result_cut(const Graph& graph, const Node& node, size_t i, Cut cut) {
  if (node.outputs.size() != 1) return kImpossible;
  const Shape& in = graph.aval(node.inputs[i]).shape;
  const Shape& out = graph.aval(node.out()).shape;
  if (node.op == Op::reshape) return reshaped(in, out, cut);
  for (int64_t axis = 0; axis < std::ssize(out); ++axis) {
    if (out[axis] == in[cut.axis] && operand_cut(graph, node, {axis, cut.block}, i) == cut) return {axis, cut.block};
  }
  return kImpossible;
}

int64_t counting_column(const Graph& graph, const Node& node, Cut cut) {
  const Family family = op_info(node.op).family;
  if (family != Family::gather && family != Family::scatter) return -1;
  const Ints& axes = node.attrs.ints(Attr::axes);
  if (family == Family::gather && cut.axis >= graph.aval(node.inputs[1]).ndim() - 1) return -1;
  for (int64_t c = 0; c < std::ssize(axes); ++c) {
    if (family == Family::scatter && axes[c] != cut.axis) continue;
    const int64_t axis = counted_axis(graph, node, c);
    if (axis >= 0 && (family == Family::scatter || axis == cut.axis)) return c;
  }
  return -1;
}

bool sums_products(const Node& node) {
  return op_info(node.op).family == Family::dot || op_info(node.op).family == Family::convolution;
}

int64_t summed_axis(const Node& node, size_t i) {
  if (node.op == Op::convolution) return node.attrs.ints(i == 0 ? Attr::lhs_axes : Attr::rhs_axes)[2];
  return node.attrs.ints(i == 0 ? Attr::lhs_contract : Attr::rhs_contract)[0];
}

bool reduces_over(const Graph& graph, const Node& node, size_t i, int64_t axis) {
  if (op_info(node.op).family == Family::reduce) return i == 0 && contains(node.attrs.ints(Attr::axes), axis);
  const bool products = node.op == Op::convolution || is_canonical_dot(graph, node);
  return products && i < 2 && summed_axis(node, i) == axis;
}

}  // namespace neap::planner
