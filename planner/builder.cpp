#include "planner/builder.h"

#include <algorithm>

#include "planner/dot.h"
#include "planner/marks.h"
#include "planner/sort.h"
#include "trace/infer.h"
#include "trace/op_table.h"

namespace neap::planner {

using namespace tracing;

// What a term becomes stays apart from the original if the term does. Regions and labels were for autodiff.
ValueId Builder::add(Term term) {
  const int64_t outer = copy_;
  copy_ = std::max(copy_, term.attrs.integer_or(Attr::copy, 0));
  for (const Attr mark : {Attr::copy, Attr::label, Attr::region, Attr::saveable}) term.attrs.erase(mark);
  const ValueId v = rewrite(std::move(term));
  copy_ = outer;
  return v;
}

ValueId Builder::rewrite(Term term) {
  if (const ValueId v = fold_constants(*this, term); v != no_value) return v;
  if (const ValueId v = lower_dot(*this, term); v != no_value) return v;
  if (const ValueId v = lower_sort(*this, term); v != no_value) return v;
  if (level_ == Level::full) {
    using Rule = ValueId (*)(Builder&, const Term&);
    constexpr Rule kRules[] = {simplify_algebra, simplify_layout, simplify_join, simplify_indexed};
    for (const Rule rule : kRules) {
      if (const ValueId v = rule(*this, term); v != no_value) return v;
    }
  }
  return intern(std::move(term));
}

ValueId Builder::intern(Term term) {
  const Family family = op_info(term.op).family;
  if (copy_ > 0 && family != Family::leaf && family != Family::layout) term.attrs.set(Attr::copy, copy_);
  const bool alone = term.op == Op::constant && has_mark(term.attrs, Mark::uninitialized);
  if (level_ == Level::light || alone)
    return graph.add(term.op, std::move(term.inputs), std::move(term.attrs), term.loc);
  size_t hash = term.attrs.hash() * 31 + static_cast<size_t>(term.op);
  for (const ValueId v : term.inputs) hash = hash * 0x9E3779B97F4A7C15u + static_cast<size_t>(v);
  for (auto [it, end] = known_.equal_range(hash); it != end; ++it) {
    const Node& node = graph.nodes[it->second];
    if (node.op == term.op && node.inputs == term.inputs && node.attrs == term.attrs) return node.out();
  }
  const NodeId id = graph.add_node(term.op, std::move(term.inputs), std::move(term.attrs), term.loc);
  known_.emplace(hash, id);
  return graph.nodes[id].out();
}

ValueId Builder::constant(AttrValue value, DType dtype, Shape shape, std::source_location loc) {
  return add(Op::constant, {}, {{Attr::value, std::move(value)}, {Attr::dtype, dtype}, {Attr::shape, std::move(shape)}},
             loc);
}

ValueId Builder::reshape(ValueId v, Shape shape, std::source_location loc) {
  if (aval(v).shape == shape) return v;
  return add(Op::reshape, {v}, {{Attr::shape, std::move(shape)}}, loc);
}

Graph drop_dead_code(Graph graph) {
  std::vector<bool> used(graph.values.size(), false);
  for (const ValueId v : graph.outputs) used[v] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const bool live = std::ranges::any_of(node.outputs, [&](ValueId v) { return used[v]; });
    if (!live || node.attrs.has(Attr::body)) return eliminate_dead_code(graph);
    for (const ValueId v : node.inputs) used[v] = true;
  }
  return graph;
}

std::vector<ValueId> copy_inputs(Graph& to, const Graph& from) {
  to.name = from.name;
  to.num_captured = from.num_captured;
  std::vector<ValueId> renamed(from.values.size(), no_value);
  for (const ValueId v : from.inputs) renamed[v] = to.add_input(from.aval(v));
  return renamed;
}

NodeId append_copy(Graph& to, const Graph& from, const Node& node, std::vector<ValueId> inputs) {
  const auto id = static_cast<NodeId>(to.nodes.size());
  Node copy{node.op, std::move(inputs), node.attrs, {}, node.loc};
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    copy.outputs.push_back(static_cast<ValueId>(to.values.size()));
    to.values.push_back({from.aval(node.outputs[i]), id, static_cast<int>(i)});
  }
  to.nodes.push_back(std::move(copy));
  return id;
}

NodeId append_renamed(Graph& to, const Graph& from, const Node& node, std::vector<ValueId>& renamed) {
  std::vector<ValueId> inputs;
  for (const ValueId v : node.inputs) inputs.push_back(renamed[v]);
  const NodeId id = append_copy(to, from, node, std::move(inputs));
  for (size_t i = 0; i < node.outputs.size(); ++i) renamed[node.outputs[i]] = to.nodes[id].outputs[i];
  return id;
}

bool holds(DType dtype, int64_t hi) {
  if (!is_integer(dtype)) return false;
  const size_t bits = 8 * size_of(dtype) - (is_signed(dtype) ? 1 : 0);
  return bits >= 63 || hi < int64_t{1} << bits;
}

bool holds_exactly(DType to, DType from) {
  if (to == from || from == DType::bool_) return true;
  if (to == DType::bool_) return false;
  const auto digits = [](DType t) {  // of the significand, or value bits of an integer
    switch (t) {
      case DType::f16: return 11;
      case DType::bf16: return 8;
      case DType::f32: return 24;
      case DType::f64: return 53;
      default: return static_cast<int>(size_of(t)) * 8 - (is_signed(t) ? 1 : 0);
    }
  };
  if (is_float(from)) return is_float(to) && digits(to) >= 24 && digits(to) > digits(from);
  if (is_float(to)) return digits(to) >= digits(from) && !(to == DType::f16 && digits(from) > 11);
  if (is_signed(from) && !is_signed(to)) return false;
  return digits(to) >= digits(from);
}

bool is_reshape(const Shape& shape, const Ints& permutation) {
  int64_t last = -1;
  for (const int64_t axis : permutation) {
    if (shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace neap::planner
