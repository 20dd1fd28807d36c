#include "planner/slice/partial_sums.h"

#include "planner/slice/slice_nodes.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "planner/kernels/convolution.h"
#include "planner/kernels/dot.h"
#include "planner/kernels/partials.h"
#include "planner/plan/marks.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Larger blocks let vectors work, smaller ones leave more ways to cut the axis into slices. They decide bits of plans
// in slices; no measurement is recorded, `neap-bench --case rollout` with and without --budget takes the time.
constexpr int64_t kBlockOfMany = 64, kBlockOfFew = 1024;  // elements of a block where there are many results, few
constexpr int64_t kLeastBlock = 16, kFewestBlocks = 64;   // an axis with smaller or fewer blocks has none

AttrValue typed(DType dtype, double value) {
  return is_float(dtype) ? AttrValue(value) : AttrValue(static_cast<int64_t>(value));
}

int64_t lowest_integer(DType dtype) { return is_signed(dtype) ? -(int64_t{1} << (8 * size_of(dtype) - 2)) * 2 : 0; }
int64_t highest_integer(DType dtype) {  // of u64: all bits, as int64
  if (dtype == DType::bool_) return 1;
  return is_signed(dtype) ? -(lowest_integer(dtype) + 1)
                          : static_cast<int64_t>(~uint64_t{0} >> (64 - 8 * size_of(dtype)));
}

bool is_float_sum(const Graph& graph, const Node& node) {
  return (node.op == Op::reduce_sum || node.op == Op::reduce_prod) && is_float(graph.aval(node.out()).dtype);
}

// Whether the total has digits that the sum has not: no axis that is sliced shows in its bits.
bool is_wide_enough(const Graph& graph, const Node& node) { return graph.aval(node.out()).dtype != DType::f64; }

// The one along which a sum may be sliced where each would give other bits: the longest.
int64_t ordered_axis(const Graph& graph, const Node& node) {
  const AttrValue* full = node.attrs.find(Attr::full_shape);
  const Shape& shape = full ? std::get<Ints>(*full) : graph.aval(node.inputs[0]).shape;
  return std::ranges::max(node.attrs.ints(Attr::axes), {}, [&](int64_t axis) { return std::pair(shape[axis], -axis); });
}

// By the shapes of the whole alone.
int64_t block_of(const Graph& graph, const Node& node, Cut cut) {
  if (node.inputs.size() == 2) return 1;  // in order
  const Shape& shape = graph.aval(node.inputs[0]).shape;
  const Ints& axes = node.attrs.ints(Attr::axes);
  int64_t others = 1;  // elements beside the axis
  for (const int64_t axis : axes) others *= axis == cut.axis ? 1 : shape[axis];
  const int64_t rows = whole_rows(graph, node);
  if (others == 0) return 1;  // nothing is added up
  const bool minor = std::all_of(shape.begin() + cut.axis + 1, shape.end(), [](int64_t n) { return n == 1; });
  if (rows >= kManyRows && others == 1 && !minor) return 1;  // vectors along the rows
  const auto least = static_cast<uint64_t>(((rows >= kManyRows ? kBlockOfMany : kBlockOfFew) + others - 1) / others);
  const auto most = static_cast<uint64_t>(shape[cut.axis] / kFewestBlocks);
  const auto block = static_cast<int64_t>(std::min(std::bit_ceil(least), std::bit_floor(most)));
  return block >= kLeastBlock ? block : 1;
}

ValueId add_blocks(Graph& g, const Graph& graph, const Node& node, const PartialSum& sum, int64_t axis, ValueId x,
                   ValueId total) {
  x = convert_to(g, x, sum.dtype);
  const int64_t block = sum.block;
  Shape shape = g.aval(x).shape, whole = graph.aval(node.inputs[0]).shape;
  Ints axes;
  for (const int64_t a : node.attrs.ints(Attr::axes)) {
    if (a != axis) axes.push_back(a + (block > 1 && a > axis ? 1 : 0));
  }
  if (block > 1) {
    if (const int64_t rest = shape[axis] % block; rest > 0) {  // the identity: x + -0 is x
      Ints none(shape.size(), 0), high = none;
      high[axis] = block - rest;
      const ValueId identity = g.constant(sum.combine == Op::add ? -0.0 : 1.0, sum.dtype, {});
      x = g.add(Op::pad, {x, identity}, {{Attr::low, none}, {Attr::high, high}, {Attr::interior, none}}, node.loc);
      shape[axis] += block - rest;
    }
    for (Shape* s : {&shape, &whole}) {
      (*s)[axis] = ((*s)[axis] + block - 1) / block;
      s->insert(s->begin() + axis + 1, block);
    }
    axes.push_back(axis + 1);
    x = g.add(Op::reshape, {x}, {{Attr::shape, shape}}, node.loc);
  }
  std::ranges::sort(axes);
  const auto before = std::ranges::count_if(axes, [&](int64_t a) { return a < axis; });
  if (!axes.empty()) x = g.add(node.op, {x}, {{Attr::axes, axes}, {Attr::full_shape, whole}}, node.loc);
  Attrs attrs{{Attr::axes, Ints{axis - before}}};
  if (adds_in_order(graph, node)) {
    set_mark(attrs, Mark::short_product);
    const AttrValue* full = node.attrs.find(Attr::full_shape);
    attrs.set(Attr::full_shape, full ? std::get<Ints>(*full) : graph.aval(node.inputs[0]).shape);
  }
  return g.add(node.op, {x, total}, std::move(attrs), node.loc);
}

}  // namespace

PartialSum partial_sum_of(const Graph& graph, const Node& node, Cut cut) {
  const DType dtype = graph.aval(node.out()).dtype;
  const bool in_order = adds_in_order(graph, node);
  const DType wide = is_float(dtype) && !in_order ? DType::f64 : dtype;
  const int64_t block = is_float_sum(graph, node) && !in_order ? block_of(graph, node, cut) : 1;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (node.op) {
    case Op::dot_general: {
      const DType sum = is_float(dtype) && size_of(dtype) == 2 ? DType::f32 : dtype;
      const DotForm form = dot_form(graph, node);
      const int64_t least = form.of_bf16 ? kDotTile : 1;
      return {Op::add, sum, typed(sum, 0), std::max(form.k, form.whole_k) > kLongDot ? kDotBlock : least};
    }
    case Op::convolution: {
      const ConvolutionForm form = convolution_form(graph, node);
      return {Op::add, dtype, typed(dtype, 0), form.is_long() ? form.block_features() : 1};
    }
    case Op::reduce_prod: return {Op::multiply, wide, typed(wide, 1), block};
    case Op::reduce_max:
      return {Op::maximum, dtype, is_float(dtype) ? AttrValue(-kInf) : AttrValue(lowest_integer(dtype))};
    case Op::reduce_min:
      return {Op::minimum, dtype, is_float(dtype) ? AttrValue(kInf) : AttrValue(highest_integer(dtype))};
    case Op::reduce_any: return {Op::bitwise_or, dtype, AttrValue(int64_t{0})};
    case Op::reduce_all: return {Op::bitwise_and, dtype, AttrValue(int64_t{1})};
    case Op::reduce_xor: return {Op::bitwise_xor, dtype, AttrValue(int64_t{0})};
    default: return {Op::add, wide, typed(wide, 0), block};
  }
}

int64_t partial_sum_unit(const Graph& graph, const Node& node, Cut cut) {
  const int64_t block = partial_sum_of(graph, node, cut).block;
  return block / std::gcd(block, cut.block);
}

bool can_sum_partially(const Graph& graph, const Node& node, size_t i, int64_t axis) {
  const Family family = op_info(node.op).family;
  if (sums_products(node)) return i < 2;
  if (family != Family::reduce || i != 0) return false;
  if (node.inputs.size() == 1)
    return !is_float_sum(graph, node) || is_wide_enough(graph, node) || axis == ordered_axis(graph, node);
  const Shape& shape = graph.aval(node.inputs[0]).shape;
  return std::ranges::all_of(node.attrs.ints(Attr::axes), [&](int64_t a) { return a >= axis || shape[a] == 1; });
}

ValueId add_slice(Graph& g, const Graph& graph, const Node& node, Cut cut, std::vector<ValueId> inputs, ValueId total) {
  const PartialSum sum = partial_sum_of(graph, node, cut);
  if (sums_products(node)) {
    for (ValueId& x : inputs) x = convert_to(g, x, sum.dtype);
    Attrs attrs = node.attrs;
    if (!attrs.has(Attr::full_shape)) attrs.set(Attr::full_shape, graph.aval(node.inputs[0]).shape);
    return g.add(node.op, {inputs[0], inputs[1], total}, std::move(attrs), node.loc);
  }
  if (is_float_sum(graph, node)) return add_blocks(g, graph, node, sum, cut.axis, inputs[0], total);
  return g.add(sum.combine, {total, g.add(node.op, {inputs[0]}, node.attrs, node.loc)}, {}, node.loc);
}

}  // namespace neap::planner
