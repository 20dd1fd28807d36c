#include "planner/slice/ring_products.h"

#include <memory>
#include <utility>
#include <vector>

#include "planner/kernels/dot.h"
#include "planner/plan/graph_edit.h"
#include "planner/plan/marks.h"
#include "planner/slice/slice_nodes.h"
#include "trace/graph/loop.h"
#include "trace/graph/mesh.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// A product one of whose operands is gathered.
struct Gathered {
  const Node* gather = nullptr;
  size_t side = 0;               // of the product's operands
  std::optional<DType> widened;  // before the product
};

// The gather of which nothing but the product reads, whose blocks are rows of its operand `side`; or none.
std::optional<Gathered> gathered(const Graph& graph, const std::vector<int>& uses, const Node& dot, size_t side) {
  const DotForm form = dot_form(graph, dot);
  const bool contracted_first = side == 0 ? form.lhs_transposed : !form.rhs_transposed;
  if (form.batch != 1 || contracted_first) return std::nullopt;
  Gathered found{.side = side};
  ValueId v = dot.inputs[side];
  for (const Node* node = graph.def(v); node; node = graph.def(v)) {
    if (uses[v] != 1) return std::nullopt;
    if (node->op == Op::all_gather) {
      found.gather = node;
      break;
    }
    if (node->op == Op::convert && !found.widened)
      found.widened = graph.aval(v).dtype;
    else if (node->op != Op::reshape)
      return std::nullopt;
    v = node->inputs[0];
  }
  const int64_t rows = side == 0 ? form.m : form.n;
  if (!found.gather || found.gather->attrs.mesh_axis()->size < 2) return std::nullopt;
  if (rows == 0 || rows % found.gather->attrs.mesh_axis()->size != 0) return std::nullopt;
  return found;
}

class RingWriter {
 public:
  RingWriter(const Graph& graph, const Node& dot, const Gathered& by)
      : dot_(dot), by_(by), axis_(by.gather->attrs.mesh_axis()), out_(graph.aval(dot.out())) {
    block_ = graph.aval(dot.inputs[by.side]).shape;
    block_[1] /= axis_->size;
  }

  /// `own`: this rank's block; `other`: the operand that all have whole.
  ValueId write(Graph& g, ValueId own, ValueId other) const {
    const int64_t ranks = axis_->size;
    const ValueId rank = g.add(Op::axis_index, {}, {{Attr::mesh_axis, axis_}}, loc());
    ValueId source = g.add(Op::convert, {rank}, {{Attr::dtype, DType::i64}}, loc());
    ValueId out = g.constant(0, out_.dtype, out_.shape);
    set_mark(g.nodes[g.values[out].def].attrs, Mark::uninitialized);
    Graph body;
    body.name = "ring";
    const ValueId other_in = body.add_input(g.aval(other)), out_in = body.add_input(out_);
    const ValueId own_in = body.add_input(g.aval(own)), source_in = body.add_input({{}, DType::i64});
    Ints sources;  // the next one's
    for (int64_t r = 0; r < ranks; ++r) sources.push_back((r + 1) % ranks);
    const ValueId coming =
        body.add(Op::ppermute, {own_in}, {{Attr::mesh_axis, axis_}, {Attr::permutation, sources}}, by_.gather->loc);
    const ValueId next = body.add(Op::add, {source_in, body.constant(1, DType::i64)}, {}, loc());
    const ValueId end = body.constant(static_cast<double>(ranks), DType::i64);
    body.outputs = {multiplied(body, out_in, own_in, other_in, source_in), coming,
                    body.add(Op::remainder, {next, end}, {}, loc())};
    const NodeId id = g.add_node(Op::scan, {other, out, own, source},
                                 {{Attr::body, std::make_shared<const Graph>(std::move(body))},
                                  {Attr::length, ranks - 1},
                                  {Attr::num_consts, int64_t{1}},
                                  {Attr::num_carry, int64_t{3}},
                                  {Attr::reverse, int64_t{0}}},
                                 loc());
    const std::vector<ValueId> left = g.nodes[id].outputs;
    return multiplied(g, left[0], left[1], other, left[2]);
  }

 private:
  std::source_location loc() const { return dot_.loc; }

  // `out` with the product of the block of rank `source` in its place.
  ValueId multiplied(Graph& g, ValueId out, ValueId block, ValueId other, ValueId source) const {
    ValueId rows = g.add(Op::reshape, {block}, {{Attr::shape, block_}}, loc());
    if (by_.widened) rows = g.add(Op::convert, {rows}, {{Attr::dtype, *by_.widened}}, loc());
    const ValueId product = g.add(Op::dot_general, by_.side == 0 ? Ids{rows, other} : Ids{other, rows},
                                  marked(dot_.attrs, Mark::dot_slice), loc());
    const ValueId size = g.constant(static_cast<double>(block_[1]), DType::i64);
    const ValueId offset = g.add(Op::multiply, {source, size}, {}, loc());
    const ValueId start = start_of(g, offset, 3, by_.side == 0 ? 1 : 2);
    return g.add(Op::dynamic_update_slice, {out, product, start}, {}, loc());
  }

  using Ids = std::vector<ValueId>;
  const Node& dot_;
  const Gathered& by_;
  MeshAxisPtr axis_;
  Aval out_;
  Shape block_;
};

}  // namespace

std::optional<Graph> ring_products(const Graph& graph) {
  const std::vector<int> uses = count_uses(graph);
  Graph result;
  std::vector<ValueId> renamed = copy_inputs(result, graph);
  bool changed = false;
  for (const Node& node : graph.nodes) {
    std::optional<Gathered> by;
    if (node.op == Op::dot_general && node.inputs.size() == 2 && is_canonical_dot(graph, node)) {
      by = gathered(graph, uses, node, 0);
      if (!by) by = gathered(graph, uses, node, 1);
    }
    if (by) {
      const ValueId own = renamed[by->gather->inputs[0]], other = renamed[node.inputs[1 - by->side]];
      renamed[node.out()] = RingWriter(graph, node, *by).write(result, own, other);
      changed = true;
      continue;
    }
    const NodeId id = append_renamed(result, graph, node, renamed);
    if (!is_loop(node.op)) continue;
    if (std::optional<Graph> body = ring_products(*node.attrs.graph(Attr::body))) {
      result.nodes[id].attrs.set(Attr::body, std::make_shared<const Graph>(*std::move(body)));
      changed = true;
    }
  }
  if (!changed) return std::nullopt;
  for (const ValueId v : graph.outputs) result.outputs.push_back(renamed[v]);
  return eliminate_dead_code(result);
}

}  // namespace neap::planner
