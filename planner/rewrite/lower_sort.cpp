#include "planner/rewrite/lower_sort.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "planner/kernels/sort_form.h"
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
    if (node.op == Op::argsort && !node.attrs.has(Attr::limit)) orders.emplace(key(node), &node);
  }
  const auto order_of = [&](const Node& node) -> const Node* {
    if (node.op != Op::sort || node.attrs.has(Attr::limit) || graph.aval(node.out()).size() == 0) return nullptr;
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

namespace {

// Along an axis, [begin, end).
struct Ranks {
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
};

class RankSelection {
 public:
  explicit RankSelection(const Graph& graph) : graph_(graph), readers_(graph.values.size()), moved_(readers_.size()) {
    for (const Node& node : graph.nodes) {
      for (const ValueId v : node.inputs) readers_[v].push_back(&node);
    }
    for (const ValueId v : graph.outputs) readers_[v].push_back(nullptr);
  }

  Graph run() {
    Graph result;
    std::vector<ValueId> renamed = copy_inputs(result, graph_);
    for (const Node& node : graph_.nodes) {
      const std::optional<Ranks> ranks = few_of(node);
      if (ranks) {
        Attrs attrs = node.attrs;
        attrs.set(Attr::start, Ints{ranks->begin});
        attrs.set(Attr::limit, Ints{ranks->end});
        renamed[node.out()] = result.add(node.op, {renamed[node.inputs[0]]}, std::move(attrs), node.loc);
        moved_[node.out()] = {node.attrs.integer(Attr::axis), ranks->begin};
        continue;
      }
      const Moved from = node.inputs.empty() ? Moved{} : moved_[node.inputs[0]];
      if (from.axis < 0) {
        append_renamed(result, graph_, node, renamed);
      } else if (node.op == Op::transpose) {
        moved_[node.out()] = {axis_after(node, from.axis), from.by};
        renamed[node.out()] = result.add(node.op, {renamed[node.inputs[0]]}, node.attrs, node.loc);
      } else {
        Attrs attrs = node.attrs;
        for (const Attr key : {Attr::start, Attr::limit}) {
          Ints at = attrs.ints(key);
          at[static_cast<size_t>(from.axis)] -= from.by;
          attrs.set(key, std::move(at));
        }
        const ValueId v = renamed[node.inputs[0]];
        const bool whole = graph_.aval(node.out()).shape == result.aval(v).shape;
        renamed[node.out()] = whole ? v : result.add(node.op, {v}, std::move(attrs), node.loc);
      }
    }
    for (const ValueId v : graph_.outputs) result.outputs.push_back(renamed[v]);
    return result;
  }

  // The ranks of a sort that are read, where they are few.
  std::optional<Ranks> few_of(const Node& node) const {
    // Elements of a row, of one where few are kept in order, and for each rank that is read. Two of 16: two fifths of
    // the time of a sort (Xeon); the median of 16 by digits four times it.
    constexpr int64_t kLeast = 32, kLeastInserted = 8, kFewOf = 4;
    if (op_info(node.op).family != Family::sort || node.attrs.has(Attr::limit)) return std::nullopt;
    const int64_t axis = node.attrs.integer(Attr::axis), n = graph_.aval(node.out()).shape[axis];
    Ranks ranks;
    if (n < kLeastInserted || n > std::numeric_limits<int32_t>::max() || graph_.aval(node.out()).size() == 0) return {};
    if (!add_read(node.out(), axis, ranks) || (ranks.end - ranks.begin) * kFewOf > n) return std::nullopt;
    if (n < kLeast && std::min(ranks.end, n - ranks.begin) > kInserted) return std::nullopt;
    return ranks;
  }

 private:
  // Of a value whose ranks do not begin at 0: along which axis, and at which they do.
  struct Moved {
    int64_t axis = -1, by = 0;
  };

  static int64_t axis_after(const Node& transpose, int64_t axis) {
    const Ints& permutation = transpose.attrs.ints(Attr::permutation);
    return std::ranges::find(permutation, axis) - permutation.begin();
  }

  bool add_read(ValueId v, int64_t axis, Ranks& ranks) const {
    for (const Node* reader : readers_[v]) {
      if (!reader) return false;
      if (reader->op == Op::transpose) {
        if (!add_read(reader->out(), axis_after(*reader, axis), ranks)) return false;
      } else if (reader->op == Op::slice) {
        ranks.begin = std::min(ranks.begin, reader->attrs.ints(Attr::start)[static_cast<size_t>(axis)]);
        ranks.end = std::max(ranks.end, reader->attrs.ints(Attr::limit)[static_cast<size_t>(axis)]);
      } else {
        return false;
      }
    }
    return ranks.begin < ranks.end;
  }

  const Graph& graph_;
  std::vector<std::vector<const Node*>> readers_;  // nullptr: an output
  std::vector<Moved> moved_;
};

}  // namespace

Graph select_ranks(Graph graph) {
  const auto is_sort = [](const Node& node) { return op_info(node.op).family == Family::sort; };
  if (std::ranges::none_of(graph.nodes, is_sort)) return graph;  // most have none, and this is asked of every plan
  RankSelection selection(graph);
  if (std::ranges::none_of(graph.nodes, [&](const Node& node) { return selection.few_of(node).has_value(); })) {
    return graph;
  }
  return selection.run();
}

}  // namespace neap::planner
