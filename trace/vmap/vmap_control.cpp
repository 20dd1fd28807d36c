// Batching of loops and of cond.
#include <algorithm>

#include "trace/graph/effects.h"
#include "trace/graph/loop.h"
#include "trace/vmap/vmap.h"
#include "trace/vmap/vmap_rules.h"

namespace neap::tracing {
namespace {

// Broadcasts the flag of each example over the elements of its part of `like`.
Array for_elements(const Array& flags, const Array& like) { return broadcast_in_dim(flags, like.shape(), {0}); }

// Returns the loop over a batch in which each example stops when its own flag says so: it goes on while any example
// does, and carries that and the flags. Batched values of the examples that stopped stay as they are.
BatchedResults vmap_until_all_stop(const VmapSite& site, size_t consts, const BatchedGraph& inner,
                                   const std::vector<bool>& batched) {
  const auto first = static_cast<std::ptrdiff_t>(consts);
  std::vector<Aval> parameters = inner.graph.avals(inner.graph.inputs);
  parameters.insert(parameters.begin() + first, Aval{{}, DType::bool_});
  Graph step = trace_closed(
      parameters,
      [&](Arrays in) {
        in.erase(in.begin() + first);
        Arrays out = inline_graph(inner.graph, in);
        const Array flags = in[consts];
        for (size_t i = 0; i < out.size(); ++i) {
          if (!batched[consts + i]) continue;
          if (!inner.batched[i]) out[i] = repeated(out[i], site.size);
          out[i] = i == 0 ? bitwise_and(flags, out[i]) : select(for_elements(flags, out[i]), out[i], in[consts + i]);
        }
        out.insert(out.begin(), any(out[0]));
        return out;
      },
      inner.graph.name);
  Arrays operands = site.in;
  for (size_t i = consts; i < operands.size(); ++i)
    if (batched[i]) operands[i] = site.with_batch(i);
  operands.insert(operands.begin() + first, any(operands[consts]));
  Attrs attrs = site.node.attrs;
  attrs.set(Attr::body, std::make_shared<const Graph>(std::move(step)));
  attrs.set(Attr::num_carry, attrs.integer(Attr::num_carry) + 1);
  BatchedResults out{apply_many(site.node.op, operands, attrs, site.node.loc), {}};
  out.values.erase(out.values.begin());
  out.batched.assign(batched.begin() + first, batched.end());
  return out;
}

}  // namespace

// A least fixed point finds which carries have a batch. Stacked operands have the loop's axis before the batch's.
BatchedResults vmap_loop(const VmapSite& site) {
  const Attrs& attrs = site.node.attrs;
  const auto [consts, carries] = LoopLayout(attrs);
  const Graph& body = *attrs.graph(Attr::body);
  std::vector<bool> batched = site.batched;
  BatchedGraph inner;
  bool each_stops = false;
  for (bool settled = false; !settled;) {
    inner = vmap_active(body, batched, site.size, site.axis);
    settled = true;
    each_stops = site.node.op == Op::while_loop && (inner.batched[0] || batched[consts]);
    if (each_stops) check_way(site, "whether the loop goes on");
    if (each_stops && may_call_host(body))
      inner = vmap_active(masked_calls(body, body.inputs[consts]), batched, site.size, site.axis);
    for (size_t i = 0; i < carries; ++i) {
      const bool changes = body.outputs[i] != body.inputs[consts + i];
      if (!(inner.batched[i] || (each_stops && changes)) || batched[consts + i]) continue;
      batched[consts + i] = true;
      settled = false;
    }
  }
  if (each_stops) return vmap_until_all_stop(site, consts, inner, batched);
  Graph step = trace_closed(
      inner.graph.avals(inner.graph.inputs),
      [&](const Arrays& in) {
        Arrays out = inline_graph(inner.graph, in);
        for (size_t i = 0; i < carries; ++i)
          if (batched[consts + i] && !inner.batched[i]) out[i] = repeated(out[i], site.size);
        return out;
      },
      body.name);
  Arrays operands = site.in;
  for (size_t i = consts; i < operands.size(); ++i) {
    if (i < consts + carries && batched[i]) operands[i] = site.with_batch(i);
    if (i >= consts + carries && batched[i]) operands[i] = moveaxis(operands[i], 0, 1);
  }
  Attrs with_body = attrs;
  with_body.set(Attr::body, std::make_shared<const Graph>(std::move(step)));
  BatchedResults out{apply_many(site.node.op, operands, with_body, site.node.loc), inner.batched};
  for (size_t i = 0; i < out.values.size(); ++i) {
    if (i < carries)
      out.batched[i] = batched[consts + i];
    else if (out.batched[i])
      out.values[i] = moveaxis(out.values[i], 1, 0);
  }
  return out;
}

// One predicate for all examples gives a cond of the batched branches; one for each runs both branches, and selects.
BatchedResults vmap_cond(const VmapSite& site) {
  const std::vector<bool> inputs(site.batched.begin() + 1, site.batched.end());
  const Arrays arguments(site.in.begin() + 1, site.in.end());
  if (site.batched[0]) check_way(site, "its predicate");
  // The host is called for the examples that take the branch.
  const bool masked = site.batched[0] && may_call_host(site.node);
  const auto branch = [&](Attr attr) {
    const Graph& body = *site.node.attrs.graph(attr);
    if (!masked) return vmap_active(body, inputs, site.size, site.axis);
    std::vector<bool> all = inputs;
    all.insert(all.begin(), true);
    return vmap_active(with_mask(body), all, site.size, site.axis);
  };
  const BatchedGraph yes = branch(Attr::body), no = branch(Attr::otherwise);
  std::vector<bool> batched = yes.batched;
  for (size_t i = 0; i < batched.size(); ++i) batched[i] = batched[i] || no.batched[i] || site.batched[0];
  const auto run = [&](const BatchedGraph& graph, const Arrays& in) {
    Arrays out = inline_graph(graph.graph, in);
    for (size_t i = 0; i < out.size(); ++i)
      if (batched[i] && !graph.batched[i]) out[i] = repeated(out[i], site.size);
    return out;
  };
  if (site.batched[0]) {
    const auto where = [&](const Array& taken) {
      Arrays all = arguments;
      if (masked) all.insert(all.begin(), taken);
      return all;
    };
    BatchedResults out{run(yes, where(site.in[0])), batched};
    const Arrays other = run(no, where(bitwise_not(site.in[0])));
    for (size_t i = 0; i < other.size(); ++i)
      out.values[i] = select(for_elements(site.in[0], other[i]), out.values[i], other[i]);
    return out;
  }
  Attrs attrs = site.node.attrs;
  const auto set = [&](Attr attr, const BatchedGraph& graph) {
    attrs.set(attr, std::make_shared<const Graph>(trace_closed(
                        graph.graph.avals(graph.graph.inputs), [&](const Arrays& in) { return run(graph, in); },
                        graph.graph.name)));
  };
  set(Attr::body, yes);
  set(Attr::otherwise, no);
  return {apply_many(Op::cond, site.in, attrs, site.node.loc), batched};
}

}  // namespace neap::tracing
