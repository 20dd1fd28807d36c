#include "planner/rewrite/simplify.h"

#include <optional>

#include "planner/plan/graph_edit.h"
#include "planner/rewrite/convolution_axes.h"
#include "planner/rewrite/lower_dot.h"
#include "planner/rewrite/lower_sort.h"
#include "trace/graph/call.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Appends the graph's nodes, simplified, its inputs being values that are there; returns its outputs.
std::vector<ValueId> append(Builder& b, const Graph& graph, const std::vector<ValueId>& inputs) {
  std::optional<Graph> rest;  // without what is dead, and without calls
  if (!is_all_live(graph) || has_calls(graph)) rest = inline_calls(eliminate_dead_code(graph));
  const Graph& live = rest ? *rest : graph;
  const std::vector<int> uses = count_uses(live);
  std::vector<ValueId> renamed(live.values.size(), no_value);
  for (size_t i = 0; i < inputs.size(); ++i) renamed[live.inputs[i]] = inputs[i];
  const auto rename = [&](const std::vector<ValueId>& ids) {
    std::vector<ValueId> out;
    out.reserve(ids.size());
    for (const ValueId v : ids) out.push_back(renamed[v]);
    return out;
  };
  for (const Node& node : live.nodes) {
    if (op_info(node.op).family != Family::control) {
      renamed[node.out()] = b.add(node.op, rename(node.inputs), node.attrs, node.loc);
      continue;
    }
    std::vector<ValueId> operands = rename(node.inputs), outputs;
    std::vector<bool> used;
    for (const ValueId v : node.outputs) used.push_back(uses[v] > 0);
    if (is_loop(node.op)) {
      outputs = simplify_loop(b, live, node, std::move(operands), used);
    } else if (const Node* predicate = b.match(operands[0], Op::constant)) {
      const Attr taken = predicate->attrs.real(Attr::value) != 0 ? Attr::body : Attr::otherwise;
      operands.erase(operands.begin());
      outputs = append(b, *node.attrs.graph(taken), operands);
    } else {
      outputs = lower_cond(b, live, node, operands, used);
    }
    for (size_t i = 0; i < outputs.size(); ++i) renamed[node.outputs[i]] = outputs[i];
  }
  return rename(live.outputs);
}

}  // namespace

Graph simplify(const Graph& graph, Builder::Level level) {
  Builder b(level);
  copy_inputs(b.graph, graph);
  b.graph.outputs = append(b, graph, b.graph.inputs);
  Graph simple = transpose_dots(drop_dead_code(std::move(b.graph)));
  return level == Builder::Level::full ? absorb_transposes(share_sorts(std::move(simple))) : simple;
}

}  // namespace neap::planner
