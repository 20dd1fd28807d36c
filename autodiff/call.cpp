// Functions with a derivative of their own.
#include "trace/graph/call.h"

#include <neap/error.h>

#include <fmt/format.h>

#include "autodiff/transpose_rules.h"

namespace neap::autodiff {

ManyJvp jvp_call(const Node& node, const Arrays& in, const Arrays& tangent) {
  const size_t consts = tracing::call_consts(node);
  const bool linear = node.op == Op::linear_call;
  for (size_t i = 0; i < consts; ++i) {
    if (is_zero(tangent[i])) continue;
    throw_user<UserError>(tracing::name(linear ? Op::custom_vjp : node.op),
                          linear ? "the derivative of its linear map in what the map is made of"
                                 : "a derivative in an array that the function closes over",
                          linear ? "reverse over reverse" : "derivatives in its arguments",
                          linear ? "use a custom_jvp" : "pass the array as an argument", node.loc);
  }
  if (!linear && !tracing::has_rule(node.op, node.attrs))
    throw_user<UserError>(tracing::name(node.op), "a derivative of a rule in a rule, and so on, too deep",
                          fmt::format("{} of them at most", tracing::kRulesInRules), "", node.loc);
  Arrays tangents;
  for (size_t i = consts; i < in.size(); ++i)
    if (is_inexact(in[i].dtype())) tangents.push_back(or_zeros(tangent[i], in[i]));
  const auto with = [](Arrays a, const Arrays& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const Arrays constants(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(consts));
  if (linear)
    return {tracing::apply_many(node.op, in, node.attrs, node.loc),
            tracing::apply_many(node.op, with(constants, tangents), node.attrs, node.loc)};

  ManyJvp both;
  Arrays floating;
  if (node.op == Op::custom_jvp) {
    both.out = tracing::apply_many(node.op, in, node.attrs, node.loc);
    floating = tracing::inline_graph(*node.attrs.graph(Attr::derivative), with(in, tangents));
  } else {
    both.out = tracing::inline_graph(*node.attrs.graph(Attr::forward), in);
    const auto results = both.out.begin() + static_cast<std::ptrdiff_t>(node.outputs.size());
    const Arrays known = with(constants, Arrays(results, both.out.end()));
    both.out.erase(results, both.out.end());
    floating = tracing::apply_many(
        Op::linear_call, with(known, tangents),
        {{Attr::backward, node.attrs.graph(Attr::backward)}, {Attr::num_consts, static_cast<int64_t>(known.size())}},
        node.loc);
  }
  size_t next = 0;
  for (const Array& y : both.out) both.tangent.push_back(is_inexact(y.dtype()) ? floating[next++] : Array());
  return both;
}

Arrays transpose_call(const TransposeSite& site) {
  const size_t consts = tracing::call_consts(site.node);
  Arrays operands(site.in.begin(), site.in.begin() + static_cast<std::ptrdiff_t>(consts));
  for (size_t i = 0; i < site.cotangents.size(); ++i) {
    const Aval& aval = site.graph.aval(site.node.outputs[i]);
    operands.push_back(is_zero(site.cotangents[i]) ? zeros(aval.shape, aval.dtype) : site.cotangents[i]);
  }
  Arrays cotangents(consts);
  for (Array& ct : tracing::inline_graph(*site.node.attrs.graph(Attr::backward), operands))
    cotangents.push_back(std::move(ct));
  return cotangents;
}

}  // namespace neap::autodiff
