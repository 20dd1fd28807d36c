// These are the rules of gather and scatter: indices are read in their own dtype, never widened first; a scatter of one
// element into each row of a constant is elementwise, so that it fuses into what reads it.
#include <algorithm>
#include <limits>
#include <optional>

#include "planner/kernels/unique_indices.h"
#include "planner/plan/graph_edit.h"
#include "planner/rewrite/builder.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

ValueId narrow_indices(Builder& b, const Term& term) {
  // Through reshapes, which commute with the conversion.
  ValueId v = term.inputs[1];
  const Shape shape = b.aval(v).shape;
  if (const Node* node = b.match(v, Op::reshape)) v = node->inputs[0];
  const Node* node = b.match(v, Op::convert);
  if (!node) return no_value;
  const ValueId source = node->inputs[0];
  const DType from = b.aval(source).dtype;
  if (!is_integer(from) || !holds_exactly(b.aval(v).dtype, from)) return no_value;
  Term narrow = term;
  narrow.inputs[1] = b.reshape(source, shape, term.loc);
  return b.add(std::move(narrow));
}

// Column `column` [B...] of the indices [B..., k].
ValueId column_of(Builder& b, const Term& term, int64_t column) {
  const ValueId indices = term.inputs[1];
  Ints start(b.aval(indices).shape.size(), 0), limit = b.aval(indices).shape;
  const Ints stride(start.size(), 1);
  start.back() = column;
  limit.back() = column + 1;
  const ValueId v =
      b.add(Op::slice, {indices}, {{Attr::start, start}, {Attr::limit, limit}, {Attr::stride, stride}}, term.loc);
  limit.pop_back();
  return b.reshape(v, limit, term.loc);
}

// A scatter whose rows [B...] each update another place: the columns of its indices count along axes of B, all but one,
// `free`, which chooses along operand axis `axis`.
struct OneEach {
  int64_t free = -1, axis = -1;
  Ints from;  // for each operand axis: the axis of the updates that it is; -1: none
};

std::optional<OneEach> one_each(Builder& b, const Term& term) {
  const Node node{term.op, term.inputs, term.attrs, {}, term.loc};
  const Ints& axes = term.attrs.ints(Attr::axes);
  const Shape shape = b.aval(term.inputs[0]).shape, indices = b.aval(term.inputs[1]).shape;
  const int64_t rows = std::ssize(indices) - 1;
  const auto is_nought = [&](ValueId v) {
    const Node* constant = b.match(v, Op::constant);
    return constant && constant->attrs.real(Attr::value) == 0;
  };
  OneEach result;
  std::vector<bool> counted(static_cast<size_t>(rows), false);
  int64_t window = rows;
  for (int64_t d = 0; d < std::ssize(shape); ++d) {
    const int64_t column = std::ranges::find(axes, d) - axes.begin();
    if (column == std::ssize(axes)) {
      result.from.push_back(window++);
      continue;
    }
    const int64_t axis = counted_axis(b.graph, node, column);
    if (axis >= 0 && !counted[axis]) {
      counted[axis] = true;
      result.from.push_back(axis);
      continue;
    }
    result.from.push_back(-1);
    if (shape[d] == 1 && is_nought(column_of(b, term, column))) continue;
    if (result.free >= 0) return std::nullopt;
    result.free = column;
    result.axis = d;
  }
  for (int64_t axis = 0; axis < rows; ++axis) {
    if (!counted[axis] && indices[axis] != 1) return std::nullopt;
  }
  return result.free < 0 ? std::nullopt : std::optional(result);
}

// Indices of an axis of n elements, where negative ones count from the end, as numbers from 0; those out of range are
// clamped, or become numbers that are none of an element.
ValueId counted_from_front(Builder& b, ValueId index, int64_t n, bool clamp, std::source_location loc) {
  const auto add = [&](Op op, std::vector<ValueId> inputs) { return b.add(op, std::move(inputs), {}, loc); };
  const auto to = [&](DType dtype) { index = b.add(Op::convert, {index}, {{Attr::dtype, dtype}}, loc); };
  const auto number = [&](int64_t value) { return b.constant(value, b.aval(index).dtype, b.aval(index).shape, loc); };
  const bool fits_i32 = n <= std::numeric_limits<int32_t>::max();
  if (!holds(b.aval(index).dtype, n)) to(fits_i32 ? DType::i32 : DType::i64);
  const bool is_signed = neap::is_signed(b.aval(index).dtype);
  if (is_signed) index = add(Op::select, {add(Op::less, {index, number(0)}), add(Op::add, {index, number(n)}), index});
  const bool narrows = size_of(b.aval(index).dtype) > 4 && fits_i32;
  if (clamp || narrows) {
    index = add(Op::minimum, {index, number(clamp ? n - 1 : n)});
    if (is_signed) index = add(Op::maximum, {index, number(clamp ? 0 : -1)});
  }
  if (narrows) to(DType::i32);
  return index;
}

ValueId select_of_scatter(Builder& b, const Term& term) {
  if (term.op != Op::scatter_add && term.op != Op::scatter_set) return no_value;
  const ValueId operand = term.inputs[0];
  const Node* constant = b.match(operand, Op::constant);
  const Shape shape = b.aval(operand).shape;
  if (!constant || element_count(shape) == 0) return no_value;
  const AttrValue value = *constant->attrs.find(Attr::value);
  const auto found = one_each(b, term);
  if (!found) return no_value;
  const int64_t n = shape[found->axis], rows = b.aval(term.inputs[1]).ndim() - 1;
  const bool clamp = term.attrs.integer(Attr::mode) == static_cast<int64_t>(IndexMode::clamp_update);

  // Along the axes of the operand that `v`, over the first `rank` axes of the updates, has.
  const auto spread = [&](ValueId v, int64_t rank) {
    Ints order, axes;
    Shape kept;
    for (size_t i = 0; i < found->from.size(); ++i) {
      if (found->from[i] < 0 || found->from[i] >= rank) continue;
      order.push_back(found->from[i]);
      axes.push_back(static_cast<int64_t>(i));
    }
    Ints sorted = order;
    std::ranges::sort(sorted);
    for (const int64_t axis : sorted) kept.push_back(b.aval(v).shape[axis]);
    v = b.reshape(v, kept, term.loc);  // without the axes of extent 1 that no column counts along
    for (int64_t& axis : order) axis = std::ranges::find(sorted, axis) - sorted.begin();
    v = b.add(Op::transpose, {v}, {{Attr::permutation, order}}, term.loc);
    return b.add(Op::broadcast_in_dim, {v}, {{Attr::shape, shape}, {Attr::axes, axes}}, term.loc);
  };
  const ValueId chosen = counted_from_front(b, column_of(b, term, found->free), n, clamp, term.loc);
  ValueId update = term.inputs[2];
  if (term.op == Op::scatter_add) {
    const Aval& aval = b.aval(update);
    update = b.add(Op::add, {b.constant(value, aval.dtype, aval.shape, term.loc), update}, {}, term.loc);
  }
  const ValueId number = b.add(
      Op::iota, {}, {{Attr::dtype, b.aval(chosen).dtype}, {Attr::shape, shape}, {Attr::axis, found->axis}}, term.loc);
  const ValueId here = b.add(Op::equal, {number, spread(chosen, rows)}, {}, term.loc);
  return b.add(Op::select, {here, spread(update, b.aval(update).ndim()), operand}, {}, term.loc);
}

}  // namespace

ValueId simplify_indexed(Builder& b, const Term& term) {
  const Family family = op_info(term.op).family;
  if (family != Family::gather && family != Family::scatter) return no_value;
  if (const ValueId v = narrow_indices(b, term); v != no_value) return v;
  return family == Family::scatter ? select_of_scatter(b, term) : no_value;
}

}  // namespace neap::planner
