// Functions with a derivative of their own.
#include "trace/graph/call.h"

#include <neap/error.h>

#include <algorithm>

#include <fmt/format.h>

#include "autodiff/joined.h"
#include "autodiff/jvp.h"
#include "autodiff/transpose.h"
#include "autodiff/transpose_rules.h"

namespace neap::autodiff {

namespace {

// Of A x = b: A dx = db - dA x, by the function that solves.
ManyJvp jvp_linear_solve(const Node& node, const Arrays& in, const Arrays& tangent) {
  const auto consts = static_cast<std::ptrdiff_t>(tracing::call_consts(node));
  const Arrays constants(in.begin(), in.begin() + consts);
  ManyJvp both{tracing::apply_many(node.op, in, node.attrs, node.loc), {}};
  std::vector<bool> active(in.size(), false);
  Arrays moving = joined(constants, both.out);  // then tangents of the constants
  for (size_t i = 0; i < constants.size(); ++i) {
    active[i] = !is_zero(tangent[i]);
    if (active[i]) moving.push_back(tangent[i]);
  }
  const ActiveJvp product = jvp_active(*node.attrs.graph(Attr::matvec), active);
  const Arrays products = tracing::inline_graph(product.graph, moving);
  Arrays right = constants;
  for (size_t i = 0, next = both.out.size(); i < both.out.size(); ++i) {
    const Array moved = tangent[i + constants.size()], of_matrix = product.active[i] ? products[next++] : Array();
    right.push_back(is_zero(of_matrix) ? or_zeros(moved, both.out[i])
                    : is_zero(moved)   ? -of_matrix
                                       : moved - of_matrix);
  }
  both.tangent = tracing::apply_many(node.op, right, node.attrs, node.loc);
  return both;
}

// The transpose solves the transposed system. Its matrix is made, too, for derivatives of what it gives.
Arrays transpose_linear_solve(const TransposeSite& site, const Arrays& operands) {
  const Node& node = site.node;
  const size_t consts = tracing::call_consts(node), results = node.outputs.size();
  if (std::find(site.linear.begin(), site.linear.begin() + static_cast<std::ptrdiff_t>(consts), true) !=
      site.linear.begin() + static_cast<std::ptrdiff_t>(consts))
    not_linear(node);
  if (!node.attrs.has(Attr::backward))
    throw_user<UserError>("custom_linear_solve", "a reverse-mode derivative without a solver of the transposed system",
                          "a transpose_solve, or symmetric = true", "jvp and jacfwd need neither", node.loc);
  // A symmetric one is its own transpose. (Passes leave two equal graphs of one.)
  if (tracing::eliminate_dead_code(*node.attrs.graph(Attr::body)) ==
      tracing::eliminate_dead_code(*node.attrs.graph(Attr::backward)))
    return tracing::apply_many(node.op, operands, node.attrs, node.loc);
  const tracing::GraphPtr matvec = node.attrs.graph(Attr::matvec);
  std::vector<bool> linear(consts, false);
  linear.resize(consts + results, true);
  const Transposed turned = transpose_active(*matvec, linear, std::vector<bool>(results, true));
  tracing::Attrs attrs = node.attrs;
  attrs.set(Attr::body, node.attrs.graph(Attr::backward));
  attrs.set(Attr::backward, node.attrs.graph(Attr::body));
  attrs.set(Attr::matvec, std::make_shared<const Graph>(tracing::trace_closed(
                              matvec->avals(matvec->inputs),
                              [&](const Arrays& in) {
                                const Arrays products = tracing::inline_graph(turned.graph, in);
                                Arrays all;
                                size_t next = 0;
                                for (size_t i = consts; i < in.size(); ++i)
                                  all.push_back(turned.active[i] ? products[next++] : zeros_like(in[i]));
                                return all;
                              },
                              matvec->name)));
  return tracing::apply_many(node.op, operands, std::move(attrs), node.loc);
}

}  // namespace

ManyJvp jvp_call(const Node& node, const Arrays& in, const Arrays& tangent) {
  if (node.op == Op::linear_solve) return jvp_linear_solve(node, in, tangent);
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
  const Arrays constants(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(consts));
  if (linear)
    return {tracing::apply_many(node.op, in, node.attrs, node.loc),
            tracing::apply_many(node.op, joined(constants, tangents), node.attrs, node.loc)};

  ManyJvp both;
  Arrays floating;
  if (node.op == Op::custom_jvp) {
    both.out = tracing::apply_many(node.op, in, node.attrs, node.loc);
    floating = tracing::inline_graph(*node.attrs.graph(Attr::derivative), joined(in, tangents));
  } else {
    both.out = tracing::inline_graph(*node.attrs.graph(Attr::forward), in);
    const auto results = both.out.begin() + static_cast<std::ptrdiff_t>(node.outputs.size());
    const Arrays known = joined(constants, Arrays(results, both.out.end()));
    both.out.erase(results, both.out.end());
    floating = tracing::apply_many(
        Op::linear_call, joined(known, tangents),
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
  for (Array& ct : site.node.op == Op::linear_solve
                       ? transpose_linear_solve(site, operands)
                       : tracing::inline_graph(*site.node.attrs.graph(Attr::backward), operands))
    cotangents.push_back(std::move(ct));
  return cotangents;
}

}  // namespace neap::autodiff
