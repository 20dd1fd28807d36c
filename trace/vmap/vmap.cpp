#include "trace/vmap/vmap.h"

#include <algorithm>
#include <numeric>

#include "trace/graph/collective.h"
#include "trace/graph/host_call.h"
#include "trace/tracing/interpret.h"
#include "trace/vmap/vmap_rules.h"

namespace neap::tracing {

Array repeated(const Array& x, int64_t size) {
  Shape axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), 1);
  return broadcast_in_dim(x, after(size, x.shape()), axes);
}

Ints shifted(const Ints& axes) {
  Ints result;
  for (const int64_t axis : axes) result.push_back(axis + 1);
  return result;
}

Ints after(int64_t first, const Ints& list) {
  Ints result{first};
  result.insert(result.end(), list.begin(), list.end());
  return result;
}

Array VmapSite::with_batch(size_t operand) const {
  return batched[operand] ? in[operand] : repeated(in[operand], size);
}

Array VmapSite::apply(const Arrays& operands, const Attrs& attrs) const {
  return tracing::apply(node.op, operands, attrs, node.loc);
}

namespace {

Arrays all_with_batch(const VmapSite& site) {
  Arrays operands;
  for (size_t i = 0; i < site.in.size(); ++i) operands.push_back(site.with_batch(i));
  return operands;
}

// Loops over the examples, for ops that have no form with a batch.
Array one_by_one(const VmapSite& site) {
  std::vector<Aval> parameters;
  std::vector<size_t> place(site.in.size());
  Arrays operands;
  int64_t consts = 0;
  for (const bool stacked : {false, true}) {
    for (size_t i = 0; i < site.in.size(); ++i) {
      if (site.batched[i] != stacked) continue;
      place[i] = operands.size();
      operands.push_back(site.in[i]);
      parameters.push_back(site.graph.aval(site.node.inputs[i]));
      consts += !stacked;
    }
  }
  Graph body = trace_closed(parameters, [&](const Arrays& in) {
    Arrays ordered;
    for (const size_t i : place) ordered.push_back(in[i]);
    return Arrays{site.apply(ordered, site.node.attrs)};
  });
  return apply_many(Op::scan, operands,
                    {{Attr::body, std::make_shared<const Graph>(std::move(body))},
                     {Attr::length, site.size},
                     {Attr::num_consts, consts},
                     {Attr::num_carry, int64_t{0}},
                     {Attr::reverse, int64_t{0}}},
                    site.node.loc)[0];
}

// The function is called for each example; what is the same for all of them is not copied. One without effect whose
// operands are all the same is called once, if any example calls it.
Array vmap_host_call(const VmapSite& site) {
  Attrs attrs = site.node.attrs;
  if (attrs.has(Attr::masked) && !attrs.function(Attr::callee)->effect &&
      std::find(site.batched.begin() + 1, site.batched.end(), true) == site.batched.end()) {
    Arrays same = site.in;
    same[0] = any(same[0], {0});
    return repeated(site.apply(same, attrs), site.size);
  }
  attrs.set(Attr::batch, after(site.size, attrs.ints(Attr::batch)));
  Arrays operands = site.in;
  for (size_t i = 0; i < operands.size(); ++i)
    if (!site.batched[i]) operands[i] = reshape(operands[i], after(1, operands[i].shape()));
  return site.apply(operands, attrs);
}

Array vmap_node(const VmapSite& site) {
  Attrs attrs = site.node.attrs;
  switch (op_info(site.node.op).family) {
    case Family::complex:
    case Family::elementwise: return site.apply(all_with_batch(site), attrs);
    case Family::convert: return site.apply(site.in, attrs);
    case Family::layout: return vmap_layout(site);
    case Family::reduce: attrs.set(Attr::axes, shifted(attrs.ints(Attr::axes))); return site.apply(site.in, attrs);
    case Family::fft:
    case Family::argreduce:
    case Family::cumulative:
    case Family::sort: attrs.set(Attr::axis, attrs.integer(Attr::axis) + 1); return site.apply(site.in, attrs);
    case Family::dot: return vmap_dot(site);
    case Family::convolution: return vmap_convolution(site);
    case Family::factor: return vmap_factor(site);
    case Family::gather: return vmap_gather(site);
    case Family::scatter: return vmap_scatter(site);
    case Family::random:  // an array of keys is a batch already
      if (site.node.op == Op::random_fold_in) return site.apply(all_with_batch(site), attrs);
      if (site.in.size() > 1 && site.batched[1]) return one_by_one(site);
      return site.apply(site.in, attrs);
    case Family::host: return vmap_host_call(site);
    case Family::collective:  // of a ragged exchange each example may have rows of its own to send
      if (std::find(site.batched.begin() + 1, site.batched.end(), true) != site.batched.end()) return one_by_one(site);
      return vmap_collective(site);
    case Family::leaf:
    case Family::control:
    case Family::call: break;
  }
  throw InternalError("vmap: no rule");
}

struct Batched {
  Array value;
  bool has_batch = false;
};

std::vector<Batched> batch_node(const Graph& g, const Node& node, const std::vector<Batched>& operands, int64_t size,
                                const MeshAxis* axis) {
  Arrays in;
  std::vector<bool> marks;
  for (const Batched& x : operands) {
    in.push_back(x.value);
    marks.push_back(x.has_batch);
  }
  const VmapSite site{g, node, in, marks, size, axis};
  const bool along = axis && has_collectives(node, axis);
  BatchedResults out;
  if (along && op_info(node.op).family == Family::collective)
    out = vmap_along(site);
  else if (!along && std::ranges::find(marks, true) == marks.end())
    out = {apply_many(node.op, in, node.attrs, node.loc), std::vector<bool>(node.outputs.size(), false)};
  else if (is_loop(node.op))
    out = vmap_loop(site);
  else if (node.op == Op::cond)
    out = vmap_cond(site);
  else if (op_info(node.op).family == Family::call)
    out = vmap_call(site);
  else
    out = {{vmap_node(site)}, {true}};
  std::vector<Batched> results;
  for (size_t i = 0; i < node.outputs.size(); ++i) results.push_back({out.values[i], out.batched[i]});
  return results;
}

}  // namespace

BatchedGraph vmap_active(const Graph& g, const std::vector<bool>& batched, int64_t size, const MeshAxis* axis) {
  NEAP_CHECK(batched.size() == g.inputs.size(), "{} marks for {} inputs", batched.size(), g.inputs.size());
  std::vector<Aval> parameters;
  for (size_t i = 0; i < batched.size(); ++i) {
    parameters.push_back(g.aval(g.inputs[i]));
    if (batched[i]) parameters[i].shape.insert(parameters[i].shape.begin(), size);
  }
  BatchedGraph result;
  result.graph = trace_closed(
      parameters,
      [&](const Arrays& inputs) {
        std::vector<Batched> values;
        for (size_t i = 0; i < inputs.size(); ++i) values.push_back({inputs[i], batched[i]});
        values = interpret(g, std::move(values), [&](const Node& node, const std::vector<Batched>& operands) {
          return batch_node(g, node, operands, size, axis);
        });
        Arrays outputs;
        for (const Batched& y : pick(values, g.outputs)) {
          outputs.push_back(y.value);
          result.batched.push_back(y.has_batch);
        }
        return outputs;
      },
      g.name);
  return result;
}

Graph vmap(const Graph& g, const std::vector<std::optional<int64_t>>& in_axes, int64_t size,
           const std::vector<int64_t>& out_axes) {
  NEAP_CHECK(in_axes.size() == g.inputs.size() && out_axes.size() == g.outputs.size());
  std::vector<Aval> parameters;
  std::vector<bool> batched;
  for (size_t i = 0; i < in_axes.size(); ++i) {
    parameters.push_back(g.aval(g.inputs[i]));
    batched.push_back(in_axes[i].has_value());
    if (in_axes[i]) parameters[i].shape.insert(parameters[i].shape.begin() + *in_axes[i], size);
  }
  const BatchedGraph inner = vmap_active(g, batched, size);
  Graph result = trace_closed(
      parameters,
      [&](const Arrays& inputs) {
        Arrays moved = inputs;
        for (size_t i = 0; i < moved.size(); ++i)
          if (in_axes[i]) moved[i] = moveaxis(moved[i], *in_axes[i], 0);
        Arrays outputs = inline_graph(inner.graph, moved);
        for (size_t i = 0; i < outputs.size(); ++i) {
          if (!inner.batched[i]) outputs[i] = repeated(outputs[i], size);
          outputs[i] = moveaxis(outputs[i], 0, out_axes[i]);
        }
        return outputs;
      },
      g.name);
  result.num_captured = g.num_captured;
  return result;
}

}  // namespace neap::tracing
