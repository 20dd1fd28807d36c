#include "trace/graph/call.h"

#include <algorithm>

#include "core/check.h"
#include "trace/graph/infer_rules.h"

namespace neap::tracing {

namespace {

// Returns all avals before `first`, and the floating ones from there on.
std::vector<Aval> floating_after(std::vector<Aval> avals, size_t first) {
  const auto begin = avals.begin() + static_cast<std::ptrdiff_t>(first);
  avals.erase(std::remove_if(begin, avals.end(), [](const Aval& a) { return !is_inexact(a.dtype); }), avals.end());
  return avals;
}

std::vector<Aval> joined(std::vector<Aval> a, const std::vector<Aval>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

bool is_call(const Node& node) { return op_info(node.op).family == Family::call; }

}  // namespace

const Graph& called(Op op, const Attrs& attrs, std::source_location loc) {
  if (op == Op::linear_call)
    throw_user<UserError>("custom_vjp", "a forward derivative of a function with a custom_vjp", "its reverse only",
                          "use grad or vjp, or give the function a custom_jvp", loc);
  return *attrs.graph(Attr::body);
}

bool has_calls(const Graph& graph) { return std::ranges::any_of(graph.nodes, is_call); }

Graph inline_calls(Graph graph) { return has_calls(graph) ? inline_calls(graph, is_call) : std::move(graph); }

Graph inline_calls(const Graph& graph, const std::function<bool(const Node&)>& chosen) {
  if (std::ranges::none_of(graph.nodes, chosen)) return graph;
  Graph result;
  result.name = graph.name;
  result.num_captured = graph.num_captured;
  // Appends the nodes of g, whose inputs are `inputs` of the result; gives its outputs.
  const auto append = [&](const auto& self, const Graph& g, const std::vector<ValueId>& inputs,
                          const Node* outer) -> std::vector<ValueId> {
    std::vector<ValueId> renamed(g.values.size(), no_value);
    const auto all = [&](const std::vector<ValueId>& values) {
      std::vector<ValueId> names;
      for (const ValueId v : values) names.push_back(renamed[v]);
      return names;
    };
    for (size_t i = 0; i < inputs.size(); ++i) renamed[g.inputs[i]] = inputs[i];
    for (const Node& node : g.nodes) {
      Node copy = node;
      if (outer && outer->attrs.has(Attr::copy)) copy.attrs.set(Attr::copy, outer->attrs.integer(Attr::copy));
      const bool inlined = outer && node.op != Op::linear_solve ? is_call(node) : chosen(node);
      const std::vector<ValueId> outputs =
          inlined ? self(self, called(node.op, node.attrs, node.loc), all(node.inputs), &copy)
                  : result.nodes[result.add_node(node.op, all(node.inputs), copy.attrs, node.loc)].outputs;
      for (size_t i = 0; i < outputs.size(); ++i) renamed[node.outputs[i]] = outputs[i];
    }
    return all(g.outputs);
  };
  std::vector<ValueId> inputs;
  for (const ValueId v : graph.inputs) inputs.push_back(result.add_input(graph.aval(v)));
  result.outputs = append(append, graph, inputs, nullptr);
  return result;
}

std::vector<Aval> infer_call(const Site& site) {
  const std::vector<Aval> in(site.in.begin(), site.in.end());
  const int64_t count = site.attrs.integer(Attr::num_consts);
  NEAP_CHECK(count >= 0 && count <= std::ssize(in), "{}: {} constants of {}", name(site.op), count, in.size());
  const auto consts = static_cast<size_t>(count);
  const std::vector<Aval> constants(in.begin(), in.begin() + count);
  const std::vector<Aval> inputs = floating_after(in, consts);
  if (site.op == Op::linear_call) {
    const Graph& backward = *site.attrs.graph(Attr::backward);
    NEAP_CHECK(joined(constants, backward.avals(backward.outputs)) == in && backward.inputs.size() >= consts,
               "linear_call: operands");
    const std::vector<Aval> all = backward.avals(backward.inputs);
    return {all.begin() + count, all.end()};
  }
  if (site.op == Op::linear_solve) {
    const std::vector<Aval> solved(in.begin() + count, in.end());
    for (const Attr attr : {Attr::body, Attr::matvec, Attr::backward}) {
      if (!site.attrs.has(attr)) continue;
      const Graph& map = *site.attrs.graph(attr);
      NEAP_CHECK(inputs == in && map.avals(map.inputs) == in && map.avals(map.outputs) == solved, "linear_solve: {}",
                 name(attr));
    }
    return solved;
  }
  const Graph& body = *site.attrs.graph(Attr::body);
  NEAP_CHECK(body.avals(body.inputs) == in, "{}: operands", name(site.op));
  const std::vector<Aval> results = body.avals(body.outputs);
  const std::vector<Aval> floating = floating_after(results, 0);
  const std::vector<Aval> tangents(inputs.begin() + count, inputs.end());
  if (!has_rule(site.op, site.attrs)) return results;
  if (site.op == Op::custom_jvp) {
    const Graph& derivative = *site.attrs.graph(Attr::derivative);
    NEAP_CHECK(derivative.avals(derivative.inputs) == joined(in, tangents), "custom_jvp: operands");
    NEAP_CHECK(derivative.avals(derivative.outputs) == floating, "custom_jvp: results");
    return results;
  }
  const Graph& forward = *site.attrs.graph(Attr::forward);
  const Graph& backward = *site.attrs.graph(Attr::backward);
  NEAP_CHECK(forward.avals(forward.inputs) == in && forward.outputs.size() >= results.size(), "custom_vjp: forward");
  std::vector<Aval> residuals = forward.avals(forward.outputs);
  const auto end = residuals.begin() + std::ssize(results);
  NEAP_CHECK(std::vector<Aval>(residuals.begin(), end) == results, "custom_vjp: results of forward");
  residuals.erase(residuals.begin(), end);
  NEAP_CHECK(backward.avals(backward.inputs) == joined(joined(constants, residuals), floating),
             "custom_vjp: operands of backward");
  NEAP_CHECK(backward.avals(backward.outputs) == tangents, "custom_vjp: results of backward");
  return results;
}

}  // namespace neap::tracing
