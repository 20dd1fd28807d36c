#include "planner/rewrite/product_sums.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "planner/kernels/cost.h"
#include "planner/plan/graph_edit.h"
#include "planner/plan/marks.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int64_t kLeast = 8;                          // rows, columns and terms: others are sums that fuse
constexpr int64_t kFewestProducts = int64_t{1} << 15;  // take as long as a call does

// What a value spreads: along each of its axes the source moves along one of its own, or stays (-1).
struct Spread {
  ValueId source;
  Ints axis;
};

// The next axis of more than one element, from `axis` on.
int64_t next_long(const Shape& shape, int64_t axis) {
  while (axis < std::ssize(shape) && shape[axis] == 1) ++axis;
  return axis;
}

// For each axis of `to` the axis of `from` that it is where they are the same but for axes of one element, else -1.
std::optional<Ints> squeezed(const Shape& from, const Shape& to) {
  Ints axes(to.size(), -1);
  int64_t i = next_long(from, 0), j = next_long(to, 0);
  for (; i < std::ssize(from) && j < std::ssize(to); i = next_long(from, i + 1), j = next_long(to, j + 1)) {
    if (from[i] != to[j]) return std::nullopt;
    axes[j] = i;
  }
  if (i < std::ssize(from) || j < std::ssize(to)) return std::nullopt;
  return axes;
}

Spread spread_of(const Graph& graph, ValueId v) {
  Spread spread{v, Ints(graph.aval(v).shape.size())};
  for (size_t d = 0; d < spread.axis.size(); ++d) spread.axis[d] = static_cast<int64_t>(d);
  while (const Node* node = graph.def(spread.source)) {
    const Shape& shape = graph.aval(spread.source).shape;
    Ints before(shape.size(), -1);  // the operand's axis of each
    if (node->op == Op::broadcast_in_dim) {
      const Shape& from = graph.aval(node->inputs[0]).shape;
      const Ints& axes = node->attrs.ints(Attr::axes);
      for (size_t i = 0; i < axes.size(); ++i) {
        if (from[i] == shape[axes[i]]) before[axes[i]] = static_cast<int64_t>(i);
      }
    } else if (node->op == Op::transpose) {
      before = node->attrs.ints(Attr::permutation);
    } else if (node->op == Op::reshape) {
      const std::optional<Ints> axes = squeezed(graph.aval(node->inputs[0]).shape, shape);
      if (!axes) return spread;
      before = *axes;
    } else {
      return spread;
    }
    for (int64_t& axis : spread.axis) axis = axis < 0 ? -1 : before[axis];
    spread.source = node->inputs[0];
  }
  return spread;
}

// A sum over some axes of x times y, by the roles of the axes of both.
struct ProductSum {
  Spread x, y;
  Ints batch, rows, columns, terms;  // axes of the product of both
};

// Whether v is stored for the product's sake alone, and takes far more bytes than the result and the other operand.
bool is_large(const Graph& graph, ValueId v, ValueId other, ValueId result) {
  const Node* node = graph.def(v);
  return node && is_fusible(node->op) &&
         graph.aval(v).bytes() > 2 * (graph.aval(other).bytes() + graph.aval(result).bytes());
}

std::optional<ProductSum> product_sum(const Graph& graph, const Node& node) {
  if (node.op != Op::reduce_sum || node.inputs.size() != 1 || node.attrs.has(Attr::marks)) return std::nullopt;
  const DType dtype = graph.aval(node.out()).dtype;
  const Node* product = graph.def(node.inputs[0]);
  if ((dtype != DType::f32 && dtype != DType::f64) || !product || product->op != Op::multiply ||
      product->attrs.has(Attr::marks)) {
    return std::nullopt;
  }
  const Shape& shape = graph.aval(product->out()).shape;
  if (element_count(shape) < kFewestProducts) return std::nullopt;
  ProductSum sum{spread_of(graph, product->inputs[0]), spread_of(graph, product->inputs[1]), {}, {}, {}, {}};
  const Ints& summed = node.attrs.ints(Attr::axes);
  int64_t m = 1, n = 1, k = 1;
  for (int64_t axis = 0; axis < std::ssize(shape); ++axis) {
    if (shape[axis] == 1) continue;
    const bool in_x = sum.x.axis[axis] >= 0, in_y = sum.y.axis[axis] >= 0;
    if (std::ranges::find(summed, axis) != summed.end()) {
      if (!in_x || !in_y) return std::nullopt;
      sum.terms.push_back(axis);
      k *= shape[axis];
    } else if (in_x && in_y) {
      sum.batch.push_back(axis);
    } else if (in_x) {
      sum.rows.push_back(axis);
      m *= shape[axis];
    } else if (in_y) {
      sum.columns.push_back(axis);
      n *= shape[axis];
    } else {
      return std::nullopt;
    }
  }
  if (std::min({m, n, k}) < kLeast) return std::nullopt;
  const ValueId x = sum.x.source, y = sum.y.source;
  if (is_large(graph, x, y, node.out()) || is_large(graph, y, x, node.out())) return std::nullopt;
  return sum;
}

ValueId multiply(Graph& g, const Graph& from, const ProductSum& sum, const std::vector<ValueId>& renamed,
                 const Node& node) {
  const Aval& result = from.aval(node.out());
  // Axes of one element are left out.
  const auto side = [&](const Spread& spread) {
    Shape shape;
    for (const int64_t extent : from.aval(spread.source).shape) {
      if (extent != 1) shape.push_back(extent);
    }
    const ValueId v = renamed[spread.source];
    return g.aval(v).shape == shape ? v : g.add(Op::reshape, {v}, {{Attr::shape, shape}}, node.loc);
  };
  const auto own = [&](const Spread& spread, const Ints& axes) {
    const Shape& shape = from.aval(spread.source).shape;
    Ints result;
    for (const int64_t axis : axes) {
      const auto at = shape.begin() + spread.axis[axis];
      result.push_back(std::count_if(shape.begin(), at, [](int64_t extent) { return extent != 1; }));
    }
    return result;
  };
  const bool is_square = sum.x.source == sum.y.source;
  const ValueId x = side(sum.x), y = is_square ? x : side(sum.y);
  ValueId out = g.add(Op::dot_general, {x, y},
                      {{Attr::lhs_batch, own(sum.x, sum.batch)},
                       {Attr::rhs_batch, own(sum.y, sum.batch)},
                       {Attr::lhs_contract, own(sum.x, sum.terms)},
                       {Attr::rhs_contract, own(sum.y, sum.terms)}},
                      node.loc);
  // The product has batches first, then rows in x's order, then columns in y's.
  const auto in_order_of = [](const Spread& spread, Ints axes) {
    std::ranges::sort(axes, {}, [&](int64_t axis) { return spread.axis[axis]; });
    return axes;
  };
  Ints made = sum.batch;
  for (const Ints& axes : {in_order_of(sum.x, sum.rows), in_order_of(sum.y, sum.columns)}) {
    made.insert(made.end(), axes.begin(), axes.end());
  }
  Ints wanted = made;
  std::ranges::sort(wanted);
  Ints permutation;
  for (const int64_t axis : wanted) permutation.push_back(std::ranges::find(made, axis) - made.begin());
  if (made != wanted) out = g.add(Op::transpose, {out}, {{Attr::permutation, permutation}}, node.loc);
  return g.aval(out).shape == result.shape ? out : g.add(Op::reshape, {out}, {{Attr::shape, result.shape}}, node.loc);
}

bool has_product_sums(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const auto in = [&](Attr body) { return node.attrs.has(body) && has_product_sums(*node.attrs.graph(body)); };
    return product_sum(graph, node).has_value() || in(Attr::body) || in(Attr::otherwise);
  });
}

}  // namespace

Graph multiply_product_sums(const Graph& graph) {
  if (!has_product_sums(graph)) return graph;
  Graph result;
  std::vector<ValueId> renamed = copy_inputs(result, graph);
  for (Node node : graph.nodes) {
    for (const Attr body : {Attr::body, Attr::otherwise}) {
      if (node.attrs.has(body)) {
        node.attrs.set(body, std::make_shared<const Graph>(multiply_product_sums(*node.attrs.graph(body))));
      }
    }
    if (const std::optional<ProductSum> sum = product_sum(graph, node)) {
      renamed[node.out()] = multiply(result, graph, *sum, renamed, node);
    } else {
      append_renamed(result, graph, node, renamed);
    }
  }
  for (const ValueId v : graph.outputs) result.outputs.push_back(renamed[v]);
  return eliminate_dead_code(result);
}

}  // namespace neap::planner
