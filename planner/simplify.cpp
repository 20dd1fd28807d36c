#include "planner/simplify.h"

#include "planner/dot.h"
#include "planner/sort.h"
#include "trace/call.h"

namespace neap::planner {

using namespace trace;

Graph simplify(const Graph& graph, Builder::Level level) {
  const Graph live = inline_calls(eliminate_dead_code(graph));
  const std::vector<int> uses = count_uses(live);
  Builder b(level);
  std::vector<ValueId> renamed = copy_inputs(b.graph, live);
  const auto rename = [&](const std::vector<ValueId>& ids) {
    std::vector<ValueId> out;
    out.reserve(ids.size());
    for (const ValueId v : ids) out.push_back(renamed[v]);
    return out;
  };
  for (const Node& node : live.nodes) {
    if (node.op == Op::scan) {
      std::vector<bool> used;
      for (const ValueId v : node.outputs) used.push_back(uses[v] > 0);
      const std::vector<ValueId> outputs = simplify_scan(b, live, node, rename(node.inputs), used);
      for (size_t i = 0; i < outputs.size(); ++i) renamed[node.outputs[i]] = outputs[i];
    } else {
      renamed[node.out()] = b.add(node.op, rename(node.inputs), node.attrs, node.loc);
    }
  }
  b.graph.outputs = rename(live.outputs);
  const Graph simple = transpose_dots(eliminate_dead_code(b.graph));
  return level == Builder::Level::full ? share_sorts(simple) : simple;
}

}  // namespace neap::planner
