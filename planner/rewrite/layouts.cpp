#include "planner/rewrite/layouts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "planner/plan/graph_edit.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Axis i of a value is axis layout[i] of what lies in memory.
using Layout = Ints;

Layout as_traced(int64_t rank) {
  Layout layout(rank);
  std::iota(layout.begin(), layout.end(), 0);
  return layout;
}

// Of a value of the old graph: what holds its elements in the new one.
struct Held {
  ValueId value = no_value;
  Layout layout;
};

class Pass {
 public:
  explicit Pass(const Graph& from) : from_(from) {}

  std::optional<Graph> run() {
    const std::vector<ValueId> inputs = copy_inputs(to_, from_);
    held_.resize(from_.values.size());
    spreads_.resize(from_.values.size());
    for (const ValueId v : from_.inputs) hold(v, inputs[v], as_traced(from_.aval(v).ndim()));
    for (const Node& node : from_.nodes) visit(node);
    if (!moved_) return std::nullopt;
    for (const ValueId v : from_.outputs) {
      if (const Node* node = from_.def(v)) loc_ = node->loc;
      to_.outputs.push_back(traced(v));
    }
    return drop_dead_code(std::move(to_));
  }

 private:
  const Shape& shape(ValueId v) const { return from_.aval(v).shape; }

  void hold(ValueId v, ValueId value, Layout layout) {
    if (is_reshape(to_.aval(value).shape, layout)) {  // in the traced order, but for axes of extent 1
      if (to_.aval(value).shape != shape(v)) {
        value = to_.add(Op::reshape, {value}, {{Attr::shape, shape(v)}}, loc_);
      }
      layout = as_traced(std::ssize(layout));
    }
    held_[v] = {value, std::move(layout)};
  }

  ValueId traced(ValueId v) { return in_layout(v, as_traced(from_.aval(v).ndim())); }

  // What holds `v` in this layout: it is there, or is small and spread in it, or is transposed.
  ValueId in_layout(ValueId v, const Layout& layout) {
    if (held_[v].layout == layout) return held_[v].value;
    const auto [it, is_new] = moved_to_.try_emplace({v, layout}, no_value);
    if (!is_new) return it->second;
    const Node* node = from_.def(v);
    ValueId result;
    if (node && node->op == Op::transpose) {
      const Ints& permutation = node->attrs.ints(Attr::permutation);
      Layout inner(layout.size());
      for (size_t i = 0; i < layout.size(); ++i) inner[permutation[i]] = layout[i];
      result = in_layout(node->inputs[0], inner);
    } else if (spreads_[v]) {
      result = spread(*node, layout);
    } else {
      Ints permutation(layout.size());
      for (size_t i = 0; i < layout.size(); ++i) permutation[layout[i]] = held_[v].layout[i];
      result = to_.add(Op::transpose, {held_[v].value}, {{Attr::permutation, permutation}}, loc_);
    }
    moved_to_[{v, layout}] = result;
    return result;
  }

  // A broadcast of something smaller, a constant, a count: made in any layout.
  ValueId spread(const Node& node, const Layout& layout) {
    const Shape& own = shape(node.out());
    Shape moved(own.size());
    for (size_t i = 0; i < own.size(); ++i) moved[layout[i]] = own[i];
    Attrs attrs = node.attrs;
    attrs.set(Attr::shape, moved);
    if (node.op == Op::iota) attrs.set(Attr::axis, layout[node.attrs.integer(Attr::axis)]);
    if (node.op != Op::broadcast_in_dim) return to_.add(node.op, {}, std::move(attrs), node.loc);
    const Ints axes = mapped(node.attrs.ints(Attr::axes), layout);
    Ints sorted = axes;
    std::ranges::sort(sorted);
    Layout inner;
    for (const int64_t axis : axes) inner.push_back(std::ranges::find(sorted, axis) - sorted.begin());
    attrs.set(Attr::axes, sorted);
    return to_.add(node.op, {in_layout(node.inputs[0], inner)}, std::move(attrs), node.loc);
  }

  void visit(const Node& node) {
    const Family family = op_info(node.op).family;
    loc_ = node.loc;
    if (node.outputs.size() == 1) {
      const ValueId v = node.out();
      if (family == Family::elementwise || family == Family::convert) return elementwise(node);
      if (node.op == Op::transpose) {
        const Held& x = held_[node.inputs[0]];
        return hold(v, x.value, mapped(node.attrs.ints(Attr::permutation), x.layout));
      }
      if (node.op == Op::dot_general) return product(node);
      const bool same_size = node.inputs.size() == 1 && from_.aval(node.inputs[0]).size() == from_.aval(v).size();
      if (same_size && (node.op == Op::reshape || node.op == Op::broadcast_in_dim) && view(node)) return;
      spreads_[v] = node.op == Op::broadcast_in_dim || node.op == Op::constant || node.op == Op::iota;
    }
    std::vector<ValueId> inputs;
    for (const ValueId in : node.inputs) inputs.push_back(traced(in));
    const NodeId id = append_copy(to_, from_, node, std::move(inputs));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId v = node.outputs[i];
      hold(v, to_.nodes[id].outputs[i], as_traced(from_.aval(v).ndim()));
    }
  }

  // As most operands lie that are not spread.
  void elementwise(const Node& node) {
    const ValueId v = node.out();
    Layout layout = as_traced(from_.aval(v).ndim());
    const auto votes = [&](const Layout& l) {
      return std::ranges::count_if(node.inputs, [&](ValueId in) { return !spreads_[in] && held_[in].layout == l; });
    };
    for (const ValueId in : node.inputs) {
      if (shape(in) != shape(v)) continue;
      if (!spreads_[in] && votes(held_[in].layout) > votes(layout)) layout = held_[in].layout;
    }
    const bool moves = layout != as_traced(std::ssize(layout));
    moved_ |= moves;
    std::vector<ValueId> inputs;
    for (const ValueId in : node.inputs) inputs.push_back(shape(in) == shape(v) ? in_layout(in, layout) : traced(in));
    hold(v, to_.add(node.op, std::move(inputs), node.attrs, node.loc), std::move(layout));
  }

  // Axes of extent 1 come or go.
  bool view(const Node& node) {
    const ValueId v = node.out();
    const Held& x = held_[node.inputs[0]];
    const auto longer = [](const Shape& s) {
      Ints axes;
      for (int64_t i = 0; i < std::ssize(s); ++i) {
        if (s[i] != 1) axes.push_back(i);
      }
      return axes;
    };
    const Shape& own = shape(v);
    const Ints from = longer(shape(node.inputs[0])), to = longer(own);
    if (from.size() != to.size()) return false;
    for (size_t i = 0; i < to.size(); ++i) {
      if (shape(node.inputs[0])[from[i]] != own[to[i]]) return false;
    }
    std::vector<size_t> order(to.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {}, [&](size_t i) { return x.layout[from[i]]; });
    Layout layout(own.size(), -1);
    Shape moved(own.size() - to.size(), 1);
    for (const size_t i : order) {
      layout[to[i]] = std::ssize(moved);
      moved.push_back(own[to[i]]);
    }
    int64_t next = 0;
    for (int64_t& place : layout) {
      if (place < 0) place = next++;
    }
    hold(v, to_.add(Op::reshape, {x.value}, {{Attr::shape, moved}}, node.loc), std::move(layout));
    return true;
  }

  // Where the axes lie that the product neither batches nor contracts.
  static Ints free_axes(const Layout& layout, const Ints& batch, const Ints& contract) {
    Ints free;
    for (int64_t axis = 0; axis < std::ssize(layout); ++axis) {
      if (std::ranges::find(batch, axis) == batch.end() && std::ranges::find(contract, axis) == contract.end()) {
        free.push_back(layout[axis]);
      }
    }
    return free;
  }

  // Whether a product takes the operand as it lies: batch axes, then the free and the contracted ones in either order.
  bool takes(ValueId v, const Ints& batch, const Ints& contract) const {
    const Held& x = held_[v];
    Ints free = free_axes(x.layout, batch, contract);
    std::ranges::sort(free);
    const Ints first = mapped(batch, x.layout), second = mapped(contract, x.layout);
    const auto in_order = [&](const Ints& a, const Ints& b) {
      Ints order = first;
      order.insert(order.end(), a.begin(), a.end());
      order.insert(order.end(), b.begin(), b.end());
      return is_reshape(to_.aval(x.value).shape, order);
    };
    return in_order(free, second) || in_order(second, free);
  }

  void product(const Node& node) {
    Attrs attrs = node.attrs;
    std::vector<ValueId> inputs;
    bool moves = false;
    const Ints& lhs_batch = node.attrs.ints(Attr::lhs_batch);
    Layout layout = as_traced(std::ssize(lhs_batch));
    for (const bool left : {true, false}) {
      const ValueId v = node.inputs[left ? 0 : 1];
      const Ints& batch = node.attrs.ints(left ? Attr::lhs_batch : Attr::rhs_batch);
      const Ints& contract = node.attrs.ints(left ? Attr::lhs_contract : Attr::rhs_contract);
      const bool as_held = takes(v, batch, contract);
      const Layout own = as_held ? held_[v].layout : as_traced(from_.aval(v).ndim());
      inputs.push_back(as_held ? held_[v].value : traced(v));
      attrs.set(left ? Attr::lhs_batch : Attr::rhs_batch, mapped(batch, own));
      attrs.set(left ? Attr::lhs_contract : Attr::rhs_contract, mapped(contract, own));
      moves |= own != as_traced(std::ssize(own));
      const Ints free = free_axes(own, batch, contract);
      Ints sorted = free;
      std::ranges::sort(sorted);
      const int64_t before = std::ssize(layout);
      for (const int64_t axis : free) layout.push_back(before + (std::ranges::find(sorted, axis) - sorted.begin()));
    }
    moved_ |= moves;
    hold(node.out(), to_.add(Op::dot_general, std::move(inputs), std::move(attrs), node.loc), std::move(layout));
  }

  const Graph& from_;
  Graph to_;
  std::vector<Held> held_;
  std::vector<bool> spreads_;  // of each value: it is made in any layout
  std::map<std::pair<ValueId, Layout>, ValueId> moved_to_;
  std::source_location loc_;  // of the node that is visited
  bool moved_ = false;
};

}  // namespace

std::optional<Graph> lay_out(const Graph& graph) { return Pass(graph).run(); }

}  // namespace neap::planner
