#include "planner/fold.h"

#include <limits>
#include <utility>

#include "trace/op_table.h"

namespace neap::planner {

using namespace trace;

namespace {

AttrValue typed(DType dtype, double value) {
  return is_float(dtype) ? AttrValue(value) : AttrValue(static_cast<int64_t>(value));
}

int64_t lowest_integer(DType dtype) { return is_signed(dtype) ? -(int64_t{1} << (8 * size_of(dtype) - 2)) * 2 : 0; }
int64_t highest_integer(DType dtype) {  // of u64: all bits, as int64
  if (dtype == DType::bool_) return 1;
  return is_signed(dtype) ? -(lowest_integer(dtype) + 1)
                          : static_cast<int64_t>(~uint64_t{0} >> (64 - 8 * size_of(dtype)));
}

ValueId convert_to(Graph& g, ValueId v, DType dtype) {
  return g.aval(v).dtype == dtype ? v : g.add(Op::convert, {v}, {{Attr::dtype, dtype}}, {});
}

}  // namespace

Fold fold_of(const Graph& graph, const Node& node) {
  const DType dtype = graph.aval(node.out()).dtype;
  const DType wide = is_float(dtype) ? DType::f64 : dtype;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (node.op) {
    case Op::reduce_prod: return {Op::multiply, wide, typed(wide, 1)};
    case Op::reduce_max:
      return {Op::maximum, dtype, is_float(dtype) ? AttrValue(-kInf) : AttrValue(lowest_integer(dtype))};
    case Op::reduce_min:
      return {Op::minimum, dtype, is_float(dtype) ? AttrValue(kInf) : AttrValue(highest_integer(dtype))};
    case Op::reduce_any: return {Op::bitwise_or, dtype, AttrValue(int64_t{0})};
    case Op::reduce_all: return {Op::bitwise_and, dtype, AttrValue(int64_t{1})};
    default: return {Op::add, wide, typed(wide, 0)};
  }
}

bool can_fold(const Node& node) {
  const Family family = op_info(node.op).family;
  return family == Family::reduce || family == Family::dot;
}

ValueId add_slice(Graph& g, const Graph& graph, const Node& node, std::vector<ValueId> inputs, ValueId total) {
  const Fold fold = fold_of(graph, node);
  if (node.op == Op::reduce_sum || node.op == Op::reduce_prod) inputs[0] = convert_to(g, inputs[0], fold.dtype);
  const ValueId partial = g.add(node.op, std::move(inputs), node.attrs, node.loc);
  return g.add(fold.combine, {total, convert_to(g, partial, fold.dtype)}, {}, node.loc);
}

}  // namespace neap::planner
