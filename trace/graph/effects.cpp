#include "trace/graph/effects.h"

#include <algorithm>
#include <array>

#include "trace/graph/call.h"
#include "trace/graph/host_call.h"
#include "trace/graph/loop.h"
#include "trace/graph/op_table.h"

namespace neap::tracing {
namespace {

constexpr std::array kBodies{Attr::body, Attr::otherwise};
const Aval kToken{{}, DType::u8};

bool is_effect(const Node& node) { return node.op == Op::host_call && node.attrs.function(Attr::callee)->effect; }

// Whether a node has graphs in which there may be others.
bool has_graphs(const Node& node) {
  const Family family = op_info(node.op).family;
  return family == Family::control || family == Family::call;
}

template <class Test>
bool any_body(const Node& node, const Test& test) {
  return has_graphs(node) &&
         std::ranges::any_of(kBodies, [&](Attr attr) { return node.attrs.has(attr) && test(*node.attrs.graph(attr)); });
}

using Values = std::vector<ValueId>;

Values renamed_all(const Values& values, const Values& renamed) {
  Values names;
  for (const ValueId v : values) names.push_back(renamed[v]);
  return names;
}

// Copies a graph: `inputs` has made the new graph's, and `write` writes a node and gives its results.
template <class Write>
Graph copied(const Graph& graph, Graph to, Values renamed, const Write& write) {
  to.name = graph.name;
  to.num_captured = graph.num_captured;
  for (const Node& node : graph.nodes) {
    const Values results = write(to, node, renamed_all(node.inputs, renamed));
    for (size_t i = 0; i < node.outputs.size(); ++i) renamed[node.outputs[i]] = results[i];
  }
  to.outputs = renamed_all(graph.outputs, renamed);
  return to;
}

// Does so with inputs like the graph's.
template <class Write>
Graph copied(const Graph& graph, const Write& write) {
  Graph to;
  Values renamed(graph.values.size(), no_value);
  for (const ValueId v : graph.inputs) renamed[v] = to.add_input(graph.aval(v));
  return copied(graph, std::move(to), std::move(renamed), write);
}

Values add(Graph& to, const Node& node, Values inputs, Attrs attrs) {
  const NodeId id = to.add_node(node.op, std::move(inputs), std::move(attrs), node.loc);
  return to.nodes[id].outputs;
}

GraphPtr shared(Graph graph) { return std::make_shared<const Graph>(std::move(graph)); }

// A token of what an effect gave.
ValueId token_of(Graph& g, ValueId result, ValueId before, std::source_location loc) {
  const Aval aval = g.aval(result);
  if (aval.size() == 0) return before;  // called for no element
  const ValueId flat = g.add(Op::reshape, {result}, {{Attr::shape, Ints{aval.size()}}}, loc);
  const ValueId first =
      aval.size() == 1
          ? flat
          : g.add(Op::slice, {flat}, {{Attr::start, Ints{0}}, {Attr::limit, Ints{1}}, {Attr::stride, Ints{1}}}, loc);
  const ValueId scalar = g.add(Op::reshape, {first}, {{Attr::shape, Ints{}}}, loc);
  return aval.dtype == kToken.dtype ? scalar : g.add(Op::convert, {scalar}, {{Attr::dtype, kToken.dtype}}, loc);
}

// Where a body takes the token, as its last carry or operand, and where it gives it back.
struct TokenPlaces {
  size_t input, output;
};

Graph ordered(const Graph& with_calls, const TokenPlaces* places);

Values ordered_control(Graph& to, const Node& node, Values inputs, ValueId& token) {
  Attrs attrs = node.attrs;
  size_t at = inputs.size(), result = node.outputs.size();  // of the operand and the result
  if (is_loop(node.op)) {
    const LoopLayout layout(node.attrs);
    at = layout.consts + layout.carries;
    result = layout.carries;
    attrs.set(Attr::num_carry, node.attrs.integer(Attr::num_carry) + 1);
  }
  const TokenPlaces places{is_loop(node.op) ? at : at - 1, result};
  for (const Attr attr : kBodies)
    if (attrs.has(attr)) attrs.set(attr, shared(ordered(*attrs.graph(attr), &places)));
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(at), token);
  Values results = add(to, node, std::move(inputs), std::move(attrs));
  token = results[result];
  results.erase(results.begin() + static_cast<std::ptrdiff_t>(result));
  return results;
}

// Without places the graph is whole: it begins without a token.
Graph ordered(const Graph& with_calls, const TokenPlaces* places) {
  const Graph graph = inline_calls(with_calls);
  Graph to;
  Values renamed(graph.values.size(), no_value);
  ValueId token = no_value;
  for (size_t i = 0; i <= graph.inputs.size(); ++i) {
    if (places && i == places->input) token = to.add_input(kToken);
    if (i < graph.inputs.size()) renamed[graph.inputs[i]] = to.add_input(graph.aval(graph.inputs[i]));
  }
  to = copied(graph, std::move(to), std::move(renamed), [&](Graph& g, const Node& node, Values inputs) {
    if (!has_effects(node)) return add(g, node, std::move(inputs), node.attrs);
    if (token == no_value) token = g.constant(0, kToken.dtype);
    if (node.op != Op::host_call) return ordered_control(g, node, std::move(inputs), token);
    Attrs attrs = node.attrs;
    attrs.set(Attr::after, 1);
    inputs.push_back(token);
    Values results = add(g, node, std::move(inputs), std::move(attrs));
    token = token_of(g, results[0], token, node.loc);
    return results;
  });
  const size_t output = places ? places->output : to.outputs.size();
  to.outputs.insert(to.outputs.begin() + static_cast<std::ptrdiff_t>(output), token);
  return to;
}

}  // namespace

const Node* first_effect(const Node& node) {
  if (node.op == Op::host_call) return is_effect(node) && !node.attrs.has(Attr::after) ? &node : nullptr;
  const Node* found = nullptr;
  any_body(node, [&](const Graph& body) {
    return std::ranges::any_of(body.nodes, [&](const Node& inner) { return (found = first_effect(inner)) != nullptr; });
  });
  return found;
}

bool has_effects(const Node& node) { return first_effect(node) != nullptr; }

bool has_effects(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return has_effects(node); });
}

bool calls_host(const Node& node, bool with_results) {
  if (op_info(node.op).family == Family::collective) return true;
  if (node.op == Op::host_call) return !with_results || !node.attrs.function(Attr::callee)->results.empty();
  return any_body(node, [&](const Graph& body) { return calls_host(body, with_results); });
}

bool calls_host(const Graph& graph, bool with_results) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) { return calls_host(node, with_results); });
}

std::vector<bool> live_nodes(const Graph& graph, FunctionRef<bool(const Node&)> kept) {
  std::vector<bool> used(graph.values.size(), false), live(graph.nodes.size(), false);
  for (const ValueId v : graph.outputs) used[v] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    live[i] = std::ranges::any_of(node.outputs, [&](ValueId v) { return used[v]; }) || kept(node);
    if (!live[i]) continue;
    for (const ValueId v : node.inputs) used[v] = true;
  }
  return live;
}

bool may_call_host(const Node& node) {
  if (node.op == Op::host_call) return true;
  return std::ranges::any_of(node.attrs.items(), [](const auto& item) {
    const GraphPtr* graph = std::get_if<GraphPtr>(&item.second);
    return graph && may_call_host(**graph);
  });
}

bool may_call_host(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return may_call_host(node); });
}

Node without_effects(const Node& node) {
  if (node.op == Op::host_call || !may_call_host(node)) return node;
  Node rest = node;
  for (const auto& [attr, value] : node.attrs.items())
    if (const GraphPtr* graph = std::get_if<GraphPtr>(&value)) rest.attrs.set(attr, shared(without_effects(**graph)));
  return rest;
}

Graph without_effects(const Graph& graph) {
  const std::vector<bool> live = live_nodes(graph, [](const Node&) { return false; });
  return copied(graph, [&](Graph& g, const Node& node, Values inputs) {
    if (!live[static_cast<size_t>(&node - graph.nodes.data())]) return Values(node.outputs.size(), no_value);
    return add(g, node, std::move(inputs), without_effects(node).attrs);
  });
}

Graph masked_calls(const Graph& graph, ValueId mask) {
  Graph to;
  Values renamed(graph.values.size(), no_value);
  for (const ValueId v : graph.inputs) renamed[v] = to.add_input(graph.aval(v));
  const ValueId flag = renamed[mask];
  return copied(graph, std::move(to), std::move(renamed), [&](Graph& g, const Node& node, Values inputs) {
    Attrs attrs = node.attrs;
    if (!may_call_host(node)) return add(g, node, std::move(inputs), std::move(attrs));
    if (node.op == Op::host_call) {
      const Ints& batch = attrs.ints(Attr::batch);
      const ValueId all = g.add(Op::reshape, {flag}, {{Attr::shape, Ints(batch.size(), 1)}}, node.loc);
      if (!attrs.has(Attr::masked)) {
        inputs.insert(inputs.begin(), all);
      } else {
        const ValueId like = g.add(Op::broadcast_in_dim, {flag},
                                   {{Attr::shape, g.aval(inputs[0]).shape}, {Attr::axes, Ints{}}}, node.loc);
        inputs[0] = g.add(Op::bitwise_and, {inputs[0], like}, {}, node.loc);
      }
      attrs.set(Attr::masked, 1);
      return add(g, node, std::move(inputs), std::move(attrs));
    }
    // Every graph of a node takes the node's constants first; a branch all its operands.
    for (const auto& [attr, value] : node.attrs.items())
      if (const GraphPtr* body = std::get_if<GraphPtr>(&value)) attrs.set(attr, shared(with_mask(**body)));
    if (attrs.has(Attr::num_consts)) attrs.set(Attr::num_consts, attrs.integer(Attr::num_consts) + 1);
    inputs.insert(inputs.begin() + (node.op == Op::cond ? 1 : 0), flag);
    return add(g, node, std::move(inputs), std::move(attrs));
  });
}

Graph with_mask(const Graph& graph) {
  Graph to;
  Values renamed(graph.values.size(), no_value);
  const ValueId mask = to.add_input({{}, DType::bool_});
  for (const ValueId v : graph.inputs) renamed[v] = to.add_input(graph.aval(v));
  Graph with_input = copied(graph, std::move(to), std::move(renamed), [](Graph& g, const Node& node, Values inputs) {
    return add(g, node, std::move(inputs), node.attrs);
  });
  return masked_calls(with_input, mask);
}

Graph without_ordered_effects(const Graph& graph) {
  return copied(graph, [&](Graph& g, const Node& node, Values inputs) {
    if (is_effect(node) && !calls_host(node, true)) {
      const Aval& aval = graph.aval(node.out());
      const ValueId zero = g.constant(0, aval.dtype);
      return Values{g.add(Op::broadcast_in_dim, {zero}, {{Attr::shape, aval.shape}, {Attr::axes, Ints{}}}, node.loc)};
    }
    Attrs attrs = node.attrs;
    if (calls_host(node))
      for (const Attr attr : kBodies)
        if (attrs.has(attr)) attrs.set(attr, shared(without_ordered_effects(*attrs.graph(attr))));
    return add(g, node, std::move(inputs), std::move(attrs));
  });
}

Graph ordered_effects(Graph graph) { return has_effects(graph) ? ordered(graph, nullptr) : std::move(graph); }

}  // namespace neap::tracing
