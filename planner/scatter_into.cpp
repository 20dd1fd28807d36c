#include "planner/scatter_into.h"

#include <algorithm>
#include <numeric>

#include "planner/builder.h"

namespace neap::planner {

using namespace trace;

namespace {

constexpr int kMostTerms = 64;  // of a sum, and its depth
constexpr int64_t kMostRows = int64_t{1} << 30;

// A scatter into zeros that is a term of a sum, and what the sum multiplies it by.
struct Update {
  const Node* scatter;
  std::vector<ValueId> factors;
  bool negative;
};

class ScatterInto {
 public:
  explicit ScatterInto(const Graph& graph)
      : graph_(graph), uses_(count_uses(graph)), renamed_(graph.values.size(), no_value) {}

  Graph run() {
    result_.name = graph_.name;
    result_.num_captured = graph_.num_captured;
    for (const ValueId v : graph_.inputs) renamed_[v] = result_.add_input(graph_.aval(v));
    for (const Node& node : graph_.nodes) {
      if (!replace(node)) append_renamed(result_, graph_, node, renamed_);
    }
    for (const ValueId v : graph_.outputs) result_.outputs.push_back(renamed_[v]);
    return eliminate_dead_code(result_);
  }

 private:
  bool replace(const Node& node) {
    if (node.op != Op::add && node.op != Op::subtract) return false;
    const DType dtype = graph_.aval(node.out()).dtype;
    if (dtype == DType::f16 || dtype == DType::bf16) return false;
    return replace(node, node.inputs[1], node.inputs[0], node.op == Op::subtract) ||
           (node.op == Op::add && replace(node, node.inputs[0], node.inputs[1], false));
  }

  bool replace(const Node& node, ValueId term, ValueId into, bool negative) {
    std::vector<Update> updates;
    if (!collect(term, {}, negative, kMostTerms, updates)) return false;
    size_t bytes = 0;
    for (const Update& update : updates) {
      if (graph_.aval(update.scatter->inputs[1]).size() > kMostRows) return false;
      bytes += 4 * static_cast<size_t>(element_count(cells(*update.scatter)));
      bytes += graph_.aval(update.scatter->inputs[2]).bytes();
    }
    if (2 * bytes > graph_.aval(term).bytes()) return false;
    ValueId sum = renamed_[into];
    for (const Update& update : updates) {
      const Node& scatter = *update.scatter;
      sum = result_.add(scatter.op, {sum, renamed_[scatter.inputs[1]], change(update)}, scatter.attrs, scatter.loc);
    }
    renamed_[node.out()] = sum;
    return true;
  }

  // The shape of the indexed axes.
  Shape cells(const Node& scatter) const {
    Shape shape;
    for (const int64_t axis : scatter.attrs.ints(Attr::axes))
      shape.push_back(graph_.aval(scatter.inputs[0]).shape[axis]);
    return shape;
  }

  // The updates of one element added up among themselves, at the place of the last of them; zeros at the others.
  ValueId added_up(const Node& scatter) {
    const auto add = [&](Op op, std::vector<ValueId> inputs, Attrs attrs) {
      return result_.add(op, std::move(inputs), std::move(attrs), scatter.loc);
    };
    const ValueId indices = renamed_[scatter.inputs[1]], u = renamed_[scatter.inputs[2]];
    const Shape& shape = result_.aval(indices).shape;
    const Shape rows(shape.begin(), shape.end() - 1);
    const Aval aval = result_.aval(u);
    Shape by_row{element_count(rows)};
    by_row.insert(by_row.end(), aval.shape.begin() + std::ssize(rows), aval.shape.end());
    Ints axes(cells(scatter).size());
    std::iota(axes.begin(), axes.end(), 0);

    // Out of range, a read is clamped where updates are, and else gives a number that drops the update.
    const int64_t mode = scatter.attrs.integer(Attr::mode);
    constexpr auto kDrop = static_cast<int64_t>(IndexMode::fill_or_drop);
    const bool clamps = mode == static_cast<int64_t>(IndexMode::clamp_update);
    const int64_t read = clamps ? static_cast<int64_t>(IndexMode::clip) : mode;
    const ValueId number =
        add(Op::iota, {}, {{Attr::dtype, DType::i32}, {Attr::shape, Ints{by_row[0]}}, {Attr::axis, 0}});
    const ValueId owner = add(
        Op::scatter_set,
        {result_.constant(0, DType::i32, cells(scatter)), indices, add(Op::reshape, {number}, {{Attr::shape, rows}})},
        {{Attr::axes, axes}, {Attr::mode, mode}});
    const ValueId last = add(Op::gather, {owner, indices}, {{Attr::axes, axes}, {Attr::mode, read}});
    const ValueId sums =
        add(Op::scatter_add,
            {result_.constant(0, aval.dtype, by_row), add(Op::reshape, {last}, {{Attr::shape, Ints{by_row[0], 1}}}),
             add(Op::reshape, {u}, {{Attr::shape, by_row}})},
            {{Attr::axes, Ints{0}}, {Attr::mode, kDrop}});
    return add(Op::reshape, {sums}, {{Attr::shape, aval.shape}});
  }

  ValueId change(const Update& update) {
    ValueId u = added_up(*update.scatter);
    const Aval aval = result_.aval(u);
    for (const ValueId factor : update.factors) {
      const Node& node = *graph_.def(factor);
      Attrs attrs = node.attrs;
      attrs.set(Attr::shape, aval.shape);
      std::vector<ValueId> inputs;
      for (const ValueId v : node.inputs) inputs.push_back(renamed_[v]);
      u = result_.add(Op::multiply, {u, result_.add(node.op, std::move(inputs), std::move(attrs), node.loc)}, {},
                      node.loc);
    }
    return update.negative ? result_.add(Op::negative, {u}, {}, update.scatter->loc) : u;
  }

  bool is_zero(ValueId v) const { return graph_.is(v, Op::constant) && graph_.def(v)->attrs.real(Attr::value) == 0; }
  // One number everywhere, under any shape.
  bool is_splat(ValueId v) const {
    if (graph_.is(v, Op::constant)) return true;
    return graph_.is(v, Op::broadcast_in_dim) && graph_.aval(graph_.def(v)->inputs[0]).ndim() == 0;
  }

  // The scatters whose sum `v` is, if it is that and nobody else reads it.
  bool collect(ValueId v, std::vector<ValueId> factors, bool negative, int depth, std::vector<Update>& updates) const {
    const Node* node = graph_.def(v);
    if (!node || uses_[v] != 1 || --depth < 0 || updates.size() > kMostTerms) return false;
    const auto& in = node->inputs;
    switch (node->op) {
      case Op::scatter_add:
        if (!is_zero(in[0]) && !collect(in[0], factors, negative, depth, updates)) return false;
        updates.push_back({node, std::move(factors), negative});
        return true;
      case Op::add:
      case Op::subtract:
        return collect(in[0], factors, negative, depth, updates) &&
               collect(in[1], factors, negative != (node->op == Op::subtract), depth, updates);
      case Op::negative: return collect(in[0], std::move(factors), !negative, depth, updates);
      case Op::multiply: {
        const int splat = is_splat(in[1]) ? 1 : 0;
        if (!is_splat(in[splat])) return false;
        factors.push_back(in[splat]);
        return collect(in[1 - splat], std::move(factors), negative, depth, updates);
      }
      default: return false;
    }
  }

  const Graph& graph_;
  const std::vector<int> uses_;
  std::vector<ValueId> renamed_;
  Graph result_;
};

}  // namespace

Graph scatter_into(const Graph& graph) {
  const auto is_scatter = [](const Node& node) { return node.op == Op::scatter_add; };
  return std::ranges::any_of(graph.nodes, is_scatter) ? ScatterInto(graph).run() : graph;
}

}  // namespace neap::planner
