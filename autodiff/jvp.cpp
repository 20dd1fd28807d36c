#include "autodiff/jvp.h"

#include <algorithm>

#include "autodiff/jvp_rules.h"
#include "trace/graph/host_call.h"
#include "trace/tracing/interpret.h"

namespace neap::autodiff {
namespace {

using tracing::Family;

// Returns the tangent of a node's one result.
Array tangent_of(const JvpSite& site) {
  if (!is_inexact(site.out.dtype())) return {};
  switch (tracing::op_info(site.node.op).family) {
    case Family::elementwise: return jvp_elementwise(site);
    case Family::convert:
      // Bits have no derivative.
      return site.node.op == Op::convert ? convert(site.tangent[0], site.out.dtype()) : Array();
    case Family::complex:
      if (site.in.size() == 1) return site.apply(site.tangent);
      return site.apply({or_zeros(site.tangent[0], site.in[0]), or_zeros(site.tangent[1], site.in[1])});
    case Family::fft: return site.apply(site.tangent);
    case Family::layout: return jvp_layout(site);
    case Family::reduce: return jvp_reduce(site);
    case Family::sort: return jvp_sort(site);
    case Family::cumulative: return jvp_cumulative(site);
    case Family::dot:
    case Family::convolution: return jvp_bilinear(site);
    case Family::gather: return jvp_gather(site);
    case Family::scatter: return jvp_scatter(site);
    case Family::collective: return jvp_collective(site);
    case Family::leaf:
    case Family::argreduce:
    case Family::random: return {};
    case Family::factor:
    case Family::control:
    case Family::call:
    case Family::host: break;
  }
  throw InternalError("jvp: no rule");
}

struct Dual {
  Array value, tangent;
};

// What the host prints or checks, and what it gives in whole numbers and bools, has no derivative and needs none; what
// else it computes would need one.
void check_host_call(const Node& node) {
  const tracing::HostFunction& function = *node.attrs.function(tracing::Attr::callee);
  if (std::ranges::any_of(function.results, [](const Aval& result) { return is_inexact(result.dtype); }))
    throw_user<UserError>(function.name, "a derivative of what a function of the host computes", "",
                          "give the function that calls it a custom_jvp or a custom_vjp, or take stop_gradient() of "
                          "its arguments",
                          node.loc);
}

std::vector<Dual> jvp_node(const Node& node, const std::vector<Dual>& operands) {
  Arrays in, t;
  for (const Dual& x : operands) {
    in.push_back(x.value);
    t.push_back(x.tangent);
  }
  const bool depends = !std::ranges::all_of(t, is_zero);
  const Family family = tracing::op_info(node.op).family;
  std::vector<Dual> results;
  if (depends && family == Family::host) check_host_call(node);
  if (depends && (family == Family::control || family == Family::call || family == Family::factor)) {
    const ManyJvp both = family == Family::call     ? jvp_call(node, in, t)
                         : family == Family::factor ? jvp_factor(node, in, t)
                         : node.op == Op::cond      ? jvp_cond(node, in, t)
                                                    : jvp_loop(node, in, t);
    for (size_t i = 0; i < node.outputs.size(); ++i) results.push_back({both.out[i], both.tangent[i]});
    return results;
  }
  for (Array& y : tracing::apply_many(node.op, in, node.attrs, node.loc)) results.push_back({std::move(y), {}});
  if (depends) results[0].tangent = tangent_of({node, in, results[0].value, t});
  return results;
}

}  // namespace

ActiveJvp jvp_active(const Graph& g, const std::vector<bool>& active) {
  NEAP_CHECK(active.size() == g.inputs.size(), "{} marks for {} inputs", active.size(), g.inputs.size());
  std::vector<Aval> parameters = g.avals(g.inputs);
  for (size_t i = 0; i < active.size(); ++i) {
    if (!active[i]) continue;
    NEAP_CHECK(is_inexact(parameters[i].dtype), "input {} is {}", i, to_string(parameters[i]));
    parameters.push_back(Aval(parameters[i]));
  }

  ActiveJvp result;
  result.graph = tracing::trace_closed(
      parameters,
      [&](const Arrays& inputs) {
        std::vector<Dual> duals;
        for (size_t i = 0, next = g.inputs.size(); i < g.inputs.size(); ++i)
          duals.push_back({inputs[i], active[i] ? inputs[next++] : Array()});
        const auto values = tracing::interpret(g, std::move(duals), jvp_node);
        Arrays outputs;
        for (const Dual& y : tracing::pick(values, g.outputs)) outputs.push_back(y.value);
        for (const Dual& y : tracing::pick(values, g.outputs)) {
          result.active.push_back(!is_zero(y.tangent));
          if (result.active.back()) outputs.push_back(y.tangent);
        }
        return outputs;
      },
      g.name);
  return result;
}

Graph jvp(const Graph& g, const std::vector<bool>& active) {
  const ActiveJvp sparse = jvp_active(g, active);
  const std::vector<Aval> parameters = sparse.graph.avals(sparse.graph.inputs);
  return tracing::trace_closed(
      parameters,
      [&](const Arrays& inputs) {
        const Arrays out = tracing::inline_graph(sparse.graph, inputs);
        Arrays outputs(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(g.outputs.size()));
        size_t next = g.outputs.size();
        for (size_t i = 0; i < g.outputs.size(); ++i) {
          const Aval& aval = g.aval(g.outputs[i]);
          if (sparse.active[i])
            outputs.push_back(out[next++]);
          else if (is_inexact(aval.dtype))
            outputs.push_back(zeros(aval.shape, aval.dtype));
        }
        return outputs;
      },
      g.name);
}

}  // namespace neap::autodiff
