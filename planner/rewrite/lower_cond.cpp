#include "planner/plan/marks.h"
#include "planner/rewrite/builder.h"
#include "planner/rewrite/simplify.h"

namespace neap::planner {

using namespace tracing;

namespace {

// (operands, whether, results so far) -> (whether, results): the branch, run once at most.
Graph once(const Graph& from, const Node& node, Attr branch) {
  Graph body = *node.attrs.graph(branch);
  Graph graph;
  for (const ValueId v : body.inputs) graph.add_input(body.aval(v));
  graph.add_input({{}, DType::bool_});
  for (const ValueId v : node.outputs) graph.add_input(from.aval(v));
  body.add_input({{}, DType::bool_});
  for (const ValueId v : node.outputs) body.add_input(from.aval(v));
  body.outputs.insert(body.outputs.begin(), body.constant(0, DType::bool_));
  Attrs attrs{{Attr::body, std::make_shared<const Graph>(std::move(body))},
              {Attr::length, 1},
              {Attr::num_consts, std::ssize(node.inputs) - 1},
              {Attr::num_carry, std::ssize(node.outputs) + 1}};
  if (const AttrValue* copy = node.attrs.find(Attr::copy)) attrs.set(Attr::copy, *copy);
  graph.add_node(Op::while_loop, graph.inputs, std::move(attrs), node.loc);
  return graph;
}

}  // namespace

std::vector<ValueId> lower_cond(Builder& b, const Graph& from, const Node& node, const std::vector<ValueId>& inputs,
                                const std::vector<bool>& used) {
  std::vector<bool> carries = used;
  carries.insert(carries.begin(), false);
  std::vector<ValueId> results;
  for (const ValueId v : node.outputs) {
    const Aval& aval = from.aval(v);
    const AttrValue zero = is_float(aval.dtype) ? AttrValue(0.0) : AttrValue(int64_t{0});
    // One of the branches writes it.
    results.push_back(b.graph.add(Op::constant, {},
                                  {{Attr::value, zero},
                                   {Attr::dtype, aval.dtype},
                                   {Attr::shape, aval.shape},
                                   {Attr::marks, static_cast<int64_t>(Mark::uninitialized)}},
                                  node.loc));
  }
  const ValueId taken = inputs[0], other = b.add(Op::bitwise_not, {taken}, {}, node.loc);
  for (const auto& [branch, whether] : {std::pair{Attr::body, taken}, {Attr::otherwise, other}}) {
    const Graph graph = once(from, node, branch);
    std::vector<ValueId> operands(inputs.begin() + 1, inputs.end());
    operands.push_back(whether);
    operands.insert(operands.end(), results.begin(), results.end());
    results = simplify_loop(b, graph, graph.nodes[0], std::move(operands), carries);
    results.erase(results.begin());
  }
  return results;
}

}  // namespace neap::planner
