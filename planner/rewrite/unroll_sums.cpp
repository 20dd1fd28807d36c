#include "planner/rewrite/unroll_sums.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "planner/kernels/cost.h"
#include "planner/plan/graph_edit.h"
#include "planner/plan/marks.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int64_t kMostTerms = 4;
constexpr int64_t kFewestSums = int64_t{1} << 16;  // fewer are no memory

int64_t terms_of(const Graph& graph, const Node& node) {
  int64_t terms = 1;
  for (const int64_t axis : node.attrs.ints(Attr::axes)) terms *= graph.aval(node.inputs[0]).shape[axis];
  return terms;
}

bool is_small_sum(const Graph& graph, const Node& node) {
  if (node.op != Op::reduce_sum || node.inputs.size() != 1) return false;
  const Aval& sums = graph.aval(node.out());
  if (!is_float(sums.dtype) || sums.dtype == DType::f64 || sums.size() < kFewestSums) return false;
  const Node* of = graph.def(node.inputs[0]);
  return of && is_fusible(of->op) && !of->attrs.has(Attr::marks) && node.attrs.ints(Attr::axes).size() == 1 &&
         terms_of(graph, node) >= 1 && terms_of(graph, node) <= kMostTerms;
}

ValueId add_terms(Graph& g, const Node& node, ValueId of, const Aval& sums) {
  const int64_t axis = node.attrs.ints(Attr::axes)[0], terms = g.aval(of).shape[axis];
  const auto convert = [&](ValueId v, DType dtype) {
    return g.add(Op::convert, {v}, {{Attr::dtype, dtype}}, node.loc);
  };
  ValueId total = g.constant(0, DType::f64, sums.shape);  // 0 + -0 is 0
  for (int64_t i = 0; i < terms; ++i) {
    ValueId term = append_slice(g, of, axis, i, i + 1, node.loc);
    term = g.add(Op::reshape, {term}, {{Attr::shape, sums.shape}}, node.loc);
    total = g.add(Op::add, {total, convert(term, DType::f64)}, {}, node.loc);
  }
  return convert(total, sums.dtype);
}

}  // namespace

std::optional<Graph> unroll_sums(const Graph& graph) {
  Graph result;
  std::vector<ValueId> renamed = copy_inputs(result, graph);
  bool changed = false;
  for (const Node& node : graph.nodes) {
    if (is_small_sum(graph, node)) {
      renamed[node.out()] = add_terms(result, node, renamed[node.inputs[0]], graph.aval(node.out()));
      changed = true;
      continue;
    }
    const NodeId id = append_renamed(result, graph, node, renamed);
    if (!is_loop(node.op)) continue;
    if (std::optional<Graph> body = unroll_sums(*node.attrs.graph(Attr::body))) {
      result.nodes[id].attrs.set(Attr::body, std::make_shared<const Graph>(*std::move(body)));
      changed = true;
    }
  }
  if (!changed) return std::nullopt;
  for (const ValueId v : graph.outputs) result.outputs.push_back(renamed[v]);
  return result;
}

}  // namespace neap::planner
