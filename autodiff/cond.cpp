// Derivatives of cond: cond of the branches' derivatives. What only one of them gives, the other gives as zeros.
#include "autodiff/jvp.h"
#include "autodiff/jvp_rules.h"
#include "autodiff/scan.h"
#include "autodiff/transpose.h"
#include "autodiff/transpose_rules.h"

namespace neap::autodiff {

ManyJvp jvp_cond(const Node& node, const Arrays& in, const Arrays& tangent) {
  std::vector<bool> inputs;
  for (size_t i = 1; i < tangent.size(); ++i) inputs.push_back(!is_zero(tangent[i]));
  const ActiveJvp yes = jvp_active(*node.attrs.graph(Attr::body), inputs);
  const ActiveJvp no = jvp_active(*node.attrs.graph(Attr::otherwise), inputs);
  const size_t results = node.outputs.size();
  std::vector<bool> active(results);
  for (size_t i = 0; i < results; ++i) active[i] = yes.active[i] || no.active[i];

  tracing::Attrs attrs = node.attrs;
  const auto set = [&](Attr attr, const ActiveJvp& branch) {
    attrs.set(attr, std::make_shared<const Graph>(tracing::trace_closed(
                        branch.graph.avals(branch.graph.inputs),
                        [&](const Arrays& operands) {
                          const Arrays out = tracing::inline_graph(branch.graph, operands);
                          Arrays both(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(results));
                          for (size_t i = 0, next = results; i < results; ++i) {
                            const Array t = branch.active[i] ? out[next++] : Array();
                            if (active[i]) both.push_back(or_zeros(t, out[i]));
                          }
                          return both;
                        },
                        branch.graph.name)));
  };
  set(Attr::body, yes);
  set(Attr::otherwise, no);
  Arrays operands = in;
  for (const Array& t : tangent)
    if (!is_zero(t)) operands.push_back(t);
  const Arrays out = tracing::apply_many(Op::cond, operands, attrs, node.loc);
  ManyJvp both{Arrays(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(results)), Arrays(results)};
  for (size_t i = 0, next = results; i < results; ++i)
    if (active[i]) both.tangent[i] = out[next++];
  return both;
}

Arrays transpose_cond(const TransposeSite& site) {
  const std::vector<bool> linear(site.linear.begin() + 1, site.linear.end());
  std::vector<bool> has_ct;
  for (const Array& ct : site.cotangents) has_ct.push_back(!is_zero(ct));
  const Transposed yes = transpose_active(*site.node.attrs.graph(Attr::body), linear, has_ct);
  const Transposed no = transpose_active(*site.node.attrs.graph(Attr::otherwise), linear, has_ct);
  Arrays cotangents(site.in.size());
  std::vector<bool> active(linear.size());
  for (size_t i = 0; i < linear.size(); ++i) active[i] = yes.active[i] || no.active[i];
  if (std::ranges::find(active, true) == active.end()) return cotangents;

  tracing::Attrs attrs = site.node.attrs;
  const auto set = [&](Attr attr, const Transposed& branch) {
    attrs.set(attr, std::make_shared<const Graph>(tracing::trace_closed(
                        branch.graph.avals(branch.graph.inputs),
                        [&](const Arrays& operands) {
                          const Arrays out = tracing::inline_graph(branch.graph, operands);
                          Arrays all;
                          for (size_t i = 0, next = 0; i < active.size(); ++i) {
                            if (branch.active[i])
                              all.push_back(out[next++]);
                            else if (active[i])
                              all.push_back(site.zeros_of(1 + i));
                          }
                          return all;
                        },
                        branch.graph.name)));
  };
  set(Attr::body, yes);
  set(Attr::otherwise, no);
  Arrays operands{site.in[0]};
  for (size_t i = 0; i < linear.size(); ++i)
    if (!linear[i]) operands.push_back(site.in[1 + i]);
  for (const Array& ct : site.cotangents)
    if (!is_zero(ct)) operands.push_back(ct);
  const Arrays out = tracing::apply_many(Op::cond, operands, attrs, site.node.loc);
  for (size_t i = 0, next = 0; i < active.size(); ++i)
    if (active[i]) cotangents[1 + i] = out[next++];
  return cotangents;
}

}  // namespace neap::autodiff
