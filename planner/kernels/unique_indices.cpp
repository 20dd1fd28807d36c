#include "planner/kernels/unique_indices.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "planner/plan/graph_edit.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

using Axes = uint64_t;             // a set of axes
constexpr int64_t kMostAxes = 60;  // that such a set holds, with some to spare

Axes bit(int64_t axis) { return Axes{1} << axis; }

// Integers in [lo, hi] that depend on `axes` and `given` alone and, where the coordinates along `given` are equal,
// differ wherever those along `axes` do.
struct Injective {
  Axes axes = 0, given = 0;
  int64_t lo = 0, hi = 0;
};

// The axes along which there is more than one element.
Axes axes_of(const Shape& shape) {
  Axes axes = 0;
  for (int64_t d = 0; d < std::ssize(shape); ++d) {
    if (shape[d] != 1) axes |= bit(d);
  }
  return axes;
}

// Axes of a value, and those of its reshape that hold the same elements; without axes of extent 1.
struct AxisGroup {
  Axes from = 0, to = 0;
};

std::vector<AxisGroup> axis_groups(const Shape& from, const Shape& to) {
  std::vector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    AxisGroup& group = groups.emplace_back();
    int64_t left = 1, right = 1;
    do {
      if (i < from.size() && (left <= right || j == to.size())) {
        if (from[i] != 1) group.from |= bit(static_cast<int64_t>(i));
        left *= from[i++];
      } else {
        if (to[j] != 1) group.to |= bit(static_cast<int64_t>(j));
        right *= to[j++];
      }
    } while (left != right);
  }
  return groups;
}

ScatterRows rows_of(const Graph& graph, const Node& scatter, int depth);

class Analysis {
 public:
  explicit Analysis(const Graph& graph) : graph_(graph) {}

  // Of `v` at the last coordinate `column`, which then counts as no axis; -1: of all.
  std::optional<Injective> of(ValueId v, int64_t column, int depth) const {
    const Node* node = graph_.def(v);
    const Shape& shape = graph_.aval(v).shape;
    if (!node || depth == 0 || std::ssize(shape) > kMostAxes || graph_.aval(v).size() == 0) return std::nullopt;
    std::optional<Injective> result = of_node(*node, shape, column, depth - 1);
    if (!result) return result;
    const Axes some = axes_of(column >= 0 ? Shape(shape.begin(), shape.end() - 1) : shape);
    result->axes &= some;
    result->given &= some;
    return result;
  }

 private:
  std::optional<Injective> of_node(const Node& node, const Shape& shape, int64_t column, int depth) const {
    const int64_t last = std::ssize(shape) - 1;
    switch (node.op) {
      case Op::iota:
      case Op::argsort: {
        const int64_t axis = node.attrs.integer(Attr::axis);
        const Shape& counted = node.op == Op::iota ? shape : graph_.aval(node.inputs[0]).shape;
        if (node.op == Op::iota && !holds(node.attrs.dtype(Attr::dtype), shape[axis] - 1)) return std::nullopt;
        const Axes others = node.op == Op::iota ? 0 : (bit(last + 1) - 1) & ~bit(axis);
        return Injective{bit(axis), others, 0, counted[axis] - 1};
      }
      case Op::convert: {
        const auto inner = of(node.inputs[0], column, depth);
        return inner && holds(node.attrs.dtype(Attr::dtype), inner->hi) ? inner : std::nullopt;
      }
      case Op::reverse: {
        const Ints& axes = node.attrs.ints(Attr::axes);
        if (column >= 0 && std::ranges::find(axes, last) != axes.end()) column = shape[last] - 1 - column;
        return of(node.inputs[0], column, depth);
      }
      case Op::slice:
        if (column >= 0) column = node.attrs.ints(Attr::start)[last] + column * node.attrs.ints(Attr::stride)[last];
        return of(node.inputs[0], column, depth);
      case Op::dynamic_slice:
        if (column >= 0 && graph_.aval(node.inputs[0]).shape[last] != shape[last]) return std::nullopt;
        return of(node.inputs[0], column, depth);
      case Op::concatenate: {
        if (column < 0 || node.attrs.integer(Attr::axis) != last) return std::nullopt;
        for (const ValueId piece : node.inputs) {
          const int64_t columns = graph_.aval(piece).shape[last];
          if (column < columns) return of(piece, column, depth);
          column -= columns;
        }
        return std::nullopt;
      }
      case Op::transpose: {
        const Ints& from = node.attrs.ints(Attr::permutation);
        if (column >= 0 && from[last] != last) {
          if (shape[last] != 1) return std::nullopt;
          column = -1;
        }
        return moved(of(node.inputs[0], column, depth),
                     [&](int64_t d) { return std::ranges::find(from, d) - from.begin(); });
      }
      case Op::broadcast_in_dim: {
        const Ints& axes = node.attrs.ints(Attr::axes);
        const Shape& inner = graph_.aval(node.inputs[0]).shape;
        if (column >= 0) {
          const bool there = !axes.empty() && axes.back() == last;
          column = !there ? -1 : inner.back() == 1 ? 0 : column;
        }
        return moved(of(node.inputs[0], column, depth), [&](int64_t d) { return axes[d]; });
      }
      case Op::scatter_set: {  // a permutation's inverse
        if (column >= 0 || shape.size() != 1 || !rows_of(graph_, node, depth / 2).covering) return std::nullopt;
        const auto updates = of(node.inputs[2], -1, depth / 2);
        const Axes all = axes_of(graph_.aval(node.inputs[2]).shape);
        if (!updates || updates->axes != all || updates->given != 0) return std::nullopt;
        return Injective{bit(0), 0, updates->lo, updates->hi};
      }
      case Op::reshape: {
        const Shape& from = graph_.aval(node.inputs[0]).shape;
        if (column >= 0) {
          if (!from.empty() && from.back() == shape.back()) {  // the columns stay as they are
            return regrouped(of(node.inputs[0], column, depth), Shape(from.begin(), from.end() - 1),
                             Shape(shape.begin(), shape.end() - 1));
          }
          if (shape.back() != 1) return std::nullopt;
        }
        return regrouped(of(node.inputs[0], -1, depth), from, shape);
      }
      default: return std::nullopt;
    }
  }

  static std::optional<Injective> regrouped(const std::optional<Injective>& x, const Shape& from, const Shape& to) {
    if (!x) return x;
    Injective result{0, 0, x->lo, x->hi};
    for (const AxisGroup& group : axis_groups(from, to)) {
      const Axes part = x->axes & group.from;
      if (part != 0 && part != group.from) return std::nullopt;
      if (part != 0) result.axes |= group.to;
      if (x->given & group.from) result.given |= group.to;
    }
    return result;
  }

  template <class Map>
  static std::optional<Injective> moved(std::optional<Injective> x, const Map& to) {
    if (!x) return x;
    const auto all = [&](Axes set) {
      Axes result = 0;
      for (; set; set &= set - 1) result |= bit(to(std::countr_zero(set)));
      return result;
    };
    x->axes = all(x->axes);
    x->given = all(x->given);
    return x;
  }

  const Graph& graph_;
};

ScatterRows rows_of(const Graph& graph, const Node& scatter, int depth) {
  ValueId indices = scatter.inputs[1];
  while (graph.is(indices, Op::reshape)) {  // the same rows, under another shape
    const ValueId source = graph.def(indices)->inputs[0];
    if (graph.aval(source).shape.empty() || graph.aval(source).shape.back() != graph.aval(indices).shape.back()) break;
    indices = source;
  }
  const Shape& operand = graph.aval(scatter.inputs[0]).shape;
  const Shape& shape = graph.aval(indices).shape;
  const Ints& axes = scatter.attrs.ints(Attr::axes);
  if (std::ssize(shape) > kMostAxes || graph.aval(indices).size() == 0) return {};
  const bool clamps = scatter.attrs.integer(Attr::mode) == static_cast<int64_t>(IndexMode::clamp_update);
  std::vector<Injective> columns;
  bool in_range = true;
  for (size_t c = 0; c < axes.size(); ++c) {
    const auto column = Analysis(graph).of(indices, static_cast<int64_t>(c), depth);
    const bool inside = column && column->lo >= 0 && column->hi < operand[axes[c]];
    in_range &= inside;
    // A negative index may name what another names from the front; one that is clamped, the last element.
    if (column && column->lo >= 0 && (inside || !clamps)) columns.push_back(*column);
  }
  const Axes rows = axes_of({shape.begin(), shape.end() - 1});
  Axes known = 0;
  for (bool more = true; more;) {
    more = false;
    for (const Injective& column : columns) {
      if ((column.given & ~known) != 0 || (column.axes & ~known) == 0) continue;
      known |= column.axes;
      more = true;
    }
  }
  ScatterRows result;
  result.unique_indices = (rows & ~known) == 0;
  result.covering =
      result.unique_indices && in_range && graph.aval(scatter.inputs[2]).size() == graph.aval(scatter.out()).size();
  return result;
}

// The axis of the indices [B..., k] along which column `column` counts; -1: none.
int64_t counting_axis(const Graph& graph, ValueId indices, int64_t column) {
  std::vector<DType> through;  // each must hold the count
  const auto source_of = [&](ValueId v) {
    for (; graph.is(v, Op::convert); v = graph.def(v)->inputs[0]) through.push_back(graph.aval(v).dtype);
    through.push_back(graph.aval(v).dtype);
    return graph.def(v);
  };
  const int64_t last = graph.aval(indices).ndim() - 1;
  const Node* node = source_of(indices);
  if (!node || node->op != Op::concatenate || node->attrs.integer(Attr::axis) != last) return -1;
  for (const ValueId piece : node->inputs) {
    const Shape& shape = graph.aval(piece).shape;
    if (column >= shape[last]) {
      column -= shape[last];
      continue;
    }
    const Node* count = source_of(piece);
    if (!count || count->op != Op::iota) return -1;
    const int64_t axis = count->attrs.integer(Attr::axis), end = shape[axis] - 1;
    const bool counts = axis != last && std::ranges::all_of(through, [&](DType dtype) { return holds(dtype, end); });
    return counts ? axis : -1;
  }
  return -1;
}

}  // namespace

ScatterRows scatter_rows(const Graph& graph, const Node& scatter) { return rows_of(graph, scatter, 32); }

int64_t counted_axis(const Graph& graph, const Node& node, int64_t column) {
  const int64_t axis = counting_axis(graph, node.inputs[1], column);
  const int64_t extent = graph.aval(node.inputs[0]).shape[node.attrs.ints(Attr::axes)[column]];
  return axis >= 0 && graph.aval(node.inputs[1]).shape[axis] == extent ? axis : -1;
}

}  // namespace neap::planner
