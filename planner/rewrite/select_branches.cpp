#include "planner/rewrite/select_branches.h"

#include <utility>
#include <vector>

#include "planner/plan/graph_edit.h"
#include "trace/graph/op_table.h"
#include "trace/scalar/scalar.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Values that stay in registers in loops (backends/cpu/scalar_loop.cpp), and vector instructions: a branch that is a
// step takes 90 ns and more (Zen 4).
constexpr int64_t kMostElements = 16;
constexpr double kMostCost = 300;

// What all of a branch costs; more than kMostCost where it must not run unless it is taken.
double cost_of(const Graph& branch) {
  double cost = 0;
  for (const Node& node : branch.nodes) {
    for (const ValueId v : node.outputs) {
      if (branch.aval(v).size() > kMostElements) return 2 * kMostCost;
    }
    switch (op_info(node.op).family) {
      case Family::leaf:
      case Family::layout: break;
      case Family::elementwise:
      case Family::convert:
      case Family::gather: cost += scalar::op_cost(node.op, branch.aval(node.out()).dtype); break;
      default:
        if (node.op != Op::cond) return 2 * kMostCost;
        cost += cost_of(*node.attrs.graph(Attr::body)) + cost_of(*node.attrs.graph(Attr::otherwise));
    }
  }
  return cost;
}

bool is_cheap(const Node& node) {
  return node.op == Op::cond &&
         cost_of(*node.attrs.graph(Attr::body)) + cost_of(*node.attrs.graph(Attr::otherwise)) <= kMostCost;
}

std::vector<ValueId> append(Graph& to, const Graph& from, const std::vector<ValueId>& inputs);

void append_selects(Graph& to, const Graph& from, const Node& node, std::vector<ValueId>& renamed) {
  std::vector<ValueId> operands;
  for (const ValueId v : node.inputs) operands.push_back(renamed[v]);
  const ValueId predicate = operands[0];
  operands.erase(operands.begin());
  const std::vector<ValueId> then = append(to, *node.attrs.graph(Attr::body), operands),
                             otherwise = append(to, *node.attrs.graph(Attr::otherwise), operands);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Shape& shape = from.aval(node.outputs[i]).shape;
    const ValueId all = shape.empty() ? predicate
                                      : to.add(Op::broadcast_in_dim, {predicate},
                                               {{Attr::shape, shape}, {Attr::axes, Ints{}}}, node.loc);
    renamed[node.outputs[i]] = to.add(Op::select, {all, then[i], otherwise[i]}, {}, node.loc);
  }
}

std::vector<ValueId> append(Graph& to, const Graph& from, const std::vector<ValueId>& inputs) {
  std::vector<ValueId> renamed(from.values.size(), no_value);
  for (size_t i = 0; i < inputs.size(); ++i) renamed[from.inputs[i]] = inputs[i];
  for (const Node& node : from.nodes) {
    if (is_cheap(node)) {
      append_selects(to, from, node, renamed);
    } else {
      append_renamed(to, from, node, renamed);
    }
  }
  std::vector<ValueId> outputs;
  for (const ValueId v : from.outputs) outputs.push_back(renamed[v]);
  return outputs;
}

}  // namespace

Graph select_branches(const Graph& graph) {
  bool any = false;
  for (const Node& node : graph.nodes) any = any || is_cheap(node);
  if (!any) return graph;
  Graph result;
  const std::vector<ValueId> renamed = copy_inputs(result, graph);
  std::vector<ValueId> inputs;
  for (const ValueId v : graph.inputs) inputs.push_back(renamed[v]);
  result.outputs = append(result, graph, inputs);
  return result;
}

}  // namespace neap::planner
