#include "planner/rewrite/subkey.h"

#include <algorithm>

#include "planner/plan/graph_edit.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr Attr kInner[] = {Attr::body, Attr::otherwise};

ValueId subkeyed(Graph& g, ValueId key, const Shape& shape, DType dtype, int64_t chunks, std::source_location loc) {
  const int64_t count = element_count(shape);
  const int64_t length = (count + chunks - 1) / chunks;
  const auto add = [&](Op op, std::vector<ValueId> inputs, Attrs attrs) {
    return g.add(op, std::move(inputs), std::move(attrs), loc);
  };
  const ValueId numbers =
      add(Op::iota, {}, {{Attr::dtype, DType::u32}, {Attr::shape, Shape{chunks}}, {Attr::axis, int64_t{0}}});
  const ValueId copies =
      add(Op::broadcast_in_dim, {key}, {{Attr::shape, Shape{chunks, g.aval(key).size()}}, {Attr::axes, Ints{1}}});
  const ValueId keys = add(Op::random_fold_in, {copies, numbers}, {});
  const ValueId bits = add(Op::random_bits, {keys}, {{Attr::shape, Shape{length}}, {Attr::dtype, dtype}});
  ValueId flat = add(Op::reshape, {bits}, {{Attr::shape, Shape{chunks * length}}});
  flat = append_slice(g, flat, 0, 0, count, loc);
  return add(Op::reshape, {flat}, {{Attr::shape, shape}});
}

bool takes_subkeys(const Graph& graph, const Node& node, int64_t chunks) {
  const bool one_key = node.op == Op::random_bits && node.inputs.size() == 1 && graph.aval(node.inputs[0]).ndim() == 1;
  return one_key && chunks > 0 && graph.aval(node.out()).size() >= chunks;
}

}  // namespace

bool takes_subkeys(const Graph& graph, int64_t chunks) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (takes_subkeys(graph, node, chunks)) return true;
    return std::ranges::any_of(
        kInner, [&](Attr inner) { return node.attrs.has(inner) && takes_subkeys(*node.attrs.graph(inner), chunks); });
  });
}

Graph use_subkeys(const Graph& graph, int64_t chunks) {
  Graph result;
  std::vector<ValueId> renamed = copy_inputs(result, graph);
  for (const Node& node : graph.nodes) {
    std::vector<ValueId> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(renamed[v]);
    if (takes_subkeys(graph, node, chunks)) {
      renamed[node.out()] =
          subkeyed(result, inputs[0], node.attrs.ints(Attr::shape), node.attrs.dtype(Attr::dtype), chunks, node.loc);
      continue;
    }
    const NodeId id = append_copy(result, graph, node, std::move(inputs));
    for (const Attr inner : kInner) {
      if (!node.attrs.has(inner)) continue;
      result.nodes[id].attrs.set(inner, std::make_shared<const Graph>(use_subkeys(*node.attrs.graph(inner), chunks)));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) renamed[node.outputs[i]] = result.nodes[id].outputs[i];
  }
  for (const ValueId v : graph.outputs) result.outputs.push_back(renamed[v]);
  return result;
}

}  // namespace neap::planner
