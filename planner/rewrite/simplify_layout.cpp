// These are the rules of views: what composes, composes; what moves nothing becomes a reshape, which costs nothing.
#include <algorithm>
#include <numeric>

#include "planner/plan/graph_edit.h"
#include "planner/rewrite/builder.h"

namespace neap::planner {

using namespace tracing;

namespace {

// A window with this many times fewer elements than the array is updated by itself: a scatter costs more for an element
// than a copy, but leaves the rest of the array alone. No measurement is recorded.
constexpr int64_t kSmallWindow = 16;

// The axis of the shape `to` that is axis `axis` of `from`, which has as many elements; -1: none.
int64_t same_axis(const Shape& from, int64_t axis, const Shape& to) {
  const auto before = [](const Shape& shape, int64_t end) {
    return element_count(Shape(shape.begin(), shape.begin() + end));
  };
  for (int64_t i = 0; i < std::ssize(to); ++i) {
    if (to[i] == from[axis] && before(to, i) == before(from, axis)) return i;
  }
  return -1;
}

ValueId reshape_rule(Builder& b, const Term& term) {
  const ValueId x = term.inputs[0];
  const Shape& shape = term.attrs.ints(Attr::shape);
  if (b.aval(x).shape == shape) return x;
  if (const Node* inner = b.match(x, Op::reshape)) {
    const ValueId source = inner->inputs[0];
    return b.reshape(source, shape, term.loc);
  }
  // A converted column of indices: the conversion goes outside, so that columns join again (simplify_join.cpp).
  if (const Node* inner = b.match(x, Op::convert); inner && b.match(inner->inputs[0], Op::slice)) {
    const ValueId source = inner->inputs[0];
    const DType dtype = b.aval(x).dtype;
    const ValueId moved = b.reshape(source, shape, term.loc);
    return b.add(Op::convert, {moved}, {{Attr::dtype, dtype}}, term.loc);
  }
  // A count along an axis that stays as it is.
  if (const Node* inner = b.match(x, Op::iota)) {
    const int64_t axis = same_axis(b.aval(x).shape, inner->attrs.integer(Attr::axis), shape);
    const DType dtype = inner->attrs.dtype(Attr::dtype);
    if (axis >= 0) {
      return b.add(Op::iota, {}, {{Attr::dtype, dtype}, {Attr::shape, shape}, {Attr::axis, axis}}, term.loc);
    }
  }
  if (const Node* inner = b.match(x, Op::broadcast_in_dim); inner && b.aval(inner->inputs[0]).size() == 1) {
    const ValueId scalar = b.reshape(inner->inputs[0], {}, term.loc);
    return b.add(Op::broadcast_in_dim, {scalar}, {{Attr::shape, shape}, {Attr::axes, Ints{}}}, term.loc);
  }
  return no_value;
}

ValueId transpose_rule(Builder& b, const Term& term) {
  const ValueId x = term.inputs[0];
  Ints permutation = term.attrs.ints(Attr::permutation);
  const Shape& shape = b.aval(x).shape;
  if (is_reshape(shape, permutation)) {
    Shape moved;
    for (const int64_t axis : permutation) moved.push_back(shape[axis]);
    return b.reshape(x, std::move(moved), term.loc);
  }
  if (const Node* inner = b.match(x, Op::transpose)) {
    const ValueId source = inner->inputs[0];
    for (int64_t& axis : permutation) axis = inner->attrs.ints(Attr::permutation)[axis];
    return b.add(Op::transpose, {source}, {{Attr::permutation, permutation}}, term.loc);
  }
  return no_value;
}

ValueId broadcast_rule(Builder& b, const Term& term) {
  const ValueId x = term.inputs[0];
  const Shape& shape = term.attrs.ints(Attr::shape);
  Ints axes = term.attrs.ints(Attr::axes);
  if (b.aval(x).size() == element_count(shape)) return b.reshape(x, shape, term.loc);
  if (const Node* inner = b.match(x, Op::broadcast_in_dim)) {
    const ValueId source = inner->inputs[0];
    Ints composed = inner->attrs.ints(Attr::axes);
    for (int64_t& axis : composed) axis = axes[axis];
    return b.add(Op::broadcast_in_dim, {source}, {{Attr::shape, shape}, {Attr::axes, composed}}, term.loc);
  }
  // Axes of extent 1 of the operand say nothing: without them, equal broadcasts look equal.
  const Shape& own = b.aval(x).shape;
  if (std::ranges::find(own, 1) == own.end()) return no_value;
  Shape kept;
  Ints kept_axes;
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i] == 1) continue;
    kept.push_back(own[i]);
    kept_axes.push_back(axes[i]);
  }
  const ValueId squeezed = b.reshape(x, kept, term.loc);
  return b.add(Op::broadcast_in_dim, {squeezed}, {{Attr::shape, shape}, {Attr::axes, kept_axes}}, term.loc);
}

ValueId slice_of_concatenate(Builder& b, const Term& term, const Node& inner) {
  Ints start = term.attrs.ints(Attr::start), limit = term.attrs.ints(Attr::limit);
  const int64_t axis = inner.attrs.integer(Attr::axis);
  const std::vector<ValueId> pieces = inner.inputs;
  int64_t offset = 0;
  for (const ValueId piece : pieces) {
    const int64_t extent = b.aval(piece).shape[axis];
    if (start[axis] >= offset && limit[axis] <= offset + extent) {
      start[axis] -= offset;
      limit[axis] -= offset;
      Attrs attrs = term.attrs;
      attrs.set(Attr::start, start);
      attrs.set(Attr::limit, limit);
      return b.add(Op::slice, {piece}, std::move(attrs), term.loc);
    }
    offset += extent;
  }
  return no_value;
}

ValueId slice_rule(Builder& b, const Term& term) {
  const ValueId x = term.inputs[0];
  const Shape& shape = b.aval(x).shape;
  const Ints& start = term.attrs.ints(Attr::start);
  const Ints& limit = term.attrs.ints(Attr::limit);
  const Ints& stride = term.attrs.ints(Attr::stride);
  const auto is_one = [](int64_t s) { return s == 1; };
  if (limit == shape && std::ranges::count(start, 0) == std::ssize(start) && std::ranges::all_of(stride, is_one)) {
    return x;
  }
  if (const Node* inner = b.match(x, Op::concatenate)) return slice_of_concatenate(b, term, *inner);
  const Node* inner = b.match(x, Op::slice);
  if (!inner) return no_value;
  const ValueId source = inner->inputs[0];
  Ints new_start = inner->attrs.ints(Attr::start), new_limit = new_start, new_stride = inner->attrs.ints(Attr::stride);
  for (size_t i = 0; i < start.size(); ++i) {
    // The strides of nothing and of one element may be any, so large that they overflow.
    const int64_t count = limit[i] == start[i] ? 0 : (limit[i] - start[i] - 1) / stride[i] + 1;
    if (count > 0 && start[i] > 0) new_start[i] += start[i] * new_stride[i];
    new_stride[i] = count > 1 ? new_stride[i] * stride[i] : 1;
    new_limit[i] = count == 0 ? new_start[i] : new_start[i] + (count - 1) * new_stride[i] + 1;
  }
  return b.add(Op::slice, {source}, {{Attr::start, new_start}, {Attr::limit, new_limit}, {Attr::stride, new_stride}},
               term.loc);
}

ValueId pad_rule(const Term& term) {
  const auto none = [&](Attr key) {
    return std::ranges::count(term.attrs.ints(key), 0) == std::ssize(term.attrs.ints(key));
  };
  return none(Attr::low) && none(Attr::high) && none(Attr::interior) ? term.inputs[0] : no_value;
}

// A small window that is whole but along one axis is a scatter of its rows: where the operand can be updated in place,
// only they are written.
ValueId update_rule(Builder& b, const Term& term) {
  const ValueId x = term.inputs[0], update = term.inputs[1], start = term.inputs[2];
  const Shape whole = b.aval(x).shape, window = b.aval(update).shape;
  if (whole == window) return update;
  int64_t axis = -1;
  for (int64_t i = 0; i < std::ssize(whole); ++i) {
    if (whole[i] == window[i]) continue;
    if (axis >= 0) return no_value;
    axis = i;
  }
  if (b.aval(update).size() > b.aval(x).size() / kSmallWindow || b.aval(update).size() == 0) return no_value;
  for (int64_t i = 0; i < axis; ++i) {
    if (whole[i] != 1) return no_value;
  }
  const auto add = [&](Op op, std::vector<ValueId> inputs, Attrs attrs) {
    return b.add(op, std::move(inputs), std::move(attrs), term.loc);
  };
  const auto scalar = [&](int64_t value) { return b.constant(value, DType::i64, {}, term.loc); };
  ValueId first =
      add(Op::slice, {start}, {{Attr::start, Ints{axis}}, {Attr::limit, Ints{axis + 1}}, {Attr::stride, Ints{1}}});
  first = b.reshape(first, {}, term.loc);
  first = add(Op::minimum, {first, scalar(whole[axis] - window[axis])}, {});
  first = add(Op::maximum, {first, scalar(0)}, {});
  const Shape rows{window[axis]};
  const ValueId spread = add(Op::broadcast_in_dim, {first}, {{Attr::shape, rows}, {Attr::axes, Ints{}}});
  const ValueId numbers = add(Op::iota, {}, {{Attr::dtype, DType::i64}, {Attr::shape, rows}, {Attr::axis, int64_t{0}}});
  const ValueId indices = b.reshape(add(Op::add, {spread, numbers}, {}), {window[axis], 1}, term.loc);
  Shape moved{window[axis]};  // the rows first, as scatter takes them
  for (int64_t i = 0; i < std::ssize(window); ++i) {
    if (i != axis) moved.push_back(window[i]);
  }
  return add(Op::scatter_set, {x, indices, b.reshape(update, moved, term.loc)},
             {{Attr::axes, Ints{axis}}, {Attr::mode, static_cast<int64_t>(IndexMode::promise_in_bounds)}});
}

ValueId reverse_rule(Builder& b, const Term& term) {
  const ValueId x = term.inputs[0];
  const auto trivial = [&](int64_t axis) { return b.aval(x).shape[axis] <= 1; };
  Ints axes = term.attrs.ints(Attr::axes);
  if (std::ranges::all_of(axes, trivial)) return x;
  if (const Node* inner = b.match(x, Op::reverse)) {
    Ints other = inner->attrs.ints(Attr::axes);
    std::ranges::sort(axes);
    std::ranges::sort(other);
    if (axes == other) return inner->inputs[0];
  }
  return no_value;
}

}  // namespace

ValueId simplify_layout(Builder& b, const Term& term) {
  switch (term.op) {
    case Op::reshape: return reshape_rule(b, term);
    case Op::transpose: return transpose_rule(b, term);
    case Op::broadcast_in_dim: return broadcast_rule(b, term);
    case Op::slice: return slice_rule(b, term);
    case Op::pad: return pad_rule(term);
    case Op::reverse: return reverse_rule(b, term);
    case Op::dynamic_slice:
      return b.aval(term.inputs[0]).shape == term.attrs.ints(Attr::shape) ? term.inputs[0] : no_value;
    case Op::dynamic_update_slice: return update_rule(b, term);
    case Op::iota: {
      const Shape& shape = term.attrs.ints(Attr::shape);
      if (shape[term.attrs.integer(Attr::axis)] != 1) return no_value;
      const DType dtype = term.attrs.dtype(Attr::dtype);
      return b.constant(is_float(dtype) ? AttrValue(0.0) : AttrValue(int64_t{0}), dtype, shape, term.loc);
    }
    default: return no_value;
  }
}

}  // namespace neap::planner
