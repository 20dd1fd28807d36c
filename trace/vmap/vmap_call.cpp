// Batching of calls: of the graphs in their attributes.
#include <algorithm>

#include "trace/graph/call.h"
#include "trace/vmap/vmap.h"
#include "trace/vmap/vmap_rules.h"

namespace neap::tracing {

namespace {

// Returns the graph with a batch in those outputs that depend on it or are marked in `batched`; those in `whole` are
// summed over it.
GraphPtr batched_graph(const BatchedGraph& inner, int64_t size, const std::vector<bool>& batched,
                       const std::vector<bool>& whole = {}) {
  return std::make_shared<const Graph>(trace_closed(
      inner.graph.avals(inner.graph.inputs),
      [&](const Arrays& in) {
        Arrays out = inline_graph(inner.graph, in);
        for (size_t i = 0; i < out.size(); ++i) {
          if (!inner.batched[i] && batched[i]) out[i] = repeated(out[i], size);
          if (!whole.empty() && whole[i]) out[i] = sum(out[i], {0});
        }
        return out;
      },
      inner.graph.name));
}

}  // namespace

// All results have the batch. Tangents and cotangents have it where the values that they belong to have it; residuals
// where they depend on it.
BatchedResults vmap_call(const VmapSite& site) {
  const Op op = site.node.op;
  Attrs attrs = site.node.attrs;
  const auto consts = static_cast<ptrdiff_t>(attrs.integer(Attr::num_consts));
  const auto set = [&](Attr attr, const std::vector<bool>& inputs, const std::vector<bool>& batched,
                       const std::vector<bool>& whole = {}) {
    attrs.set(attr,
              batched_graph(vmap_active(*attrs.graph(attr), inputs, site.size, site.axis), site.size, batched, whole));
  };
  const auto all = [](size_t count) { return std::vector<bool>(count, true); };
  const size_t results = site.node.outputs.size();
  Arrays operands = site.in;
  if (op == Op::linear_solve) {
    std::vector<bool> inputs(site.batched.begin(), site.batched.begin() + consts);
    inputs.resize(operands.size(), true);
    for (size_t i = static_cast<size_t>(consts); i < operands.size(); ++i) operands[i] = site.with_batch(i);
    for (const Attr attr : {Attr::body, Attr::matvec, Attr::backward})
      if (attrs.has(attr)) set(attr, inputs, all(results));
  } else if (op == Op::linear_call) {
    // Tangents that have no batch get it, so that their cotangents have it.
    std::vector<bool> inputs(site.batched.begin(), site.batched.begin() + consts);
    inputs.resize(attrs.graph(Attr::backward)->inputs.size(), true);
    for (size_t i = static_cast<size_t>(consts); i < operands.size(); ++i) operands[i] = site.with_batch(i);
    set(Attr::backward, inputs, all(attrs.graph(Attr::backward)->outputs.size()));
  } else {
    std::vector<bool> tangents;
    for (size_t i = static_cast<size_t>(consts); i < operands.size(); ++i)
      if (is_inexact(operands[i].dtype())) tangents.push_back(site.batched[i]);
    if (op == Op::custom_jvp && has_rule(op, attrs)) {
      std::vector<bool> inputs = site.batched;
      inputs.insert(inputs.end(), tangents.begin(), tangents.end());
      set(Attr::derivative, inputs, all(attrs.graph(Attr::derivative)->outputs.size()));
    } else if (has_rule(op, attrs)) {
      const BatchedGraph inner = vmap_active(*attrs.graph(Attr::forward), site.batched, site.size, site.axis);
      std::vector<bool> forward = inner.batched;
      std::fill_n(forward.begin(), results, true);
      attrs.set(Attr::forward, batched_graph(inner, site.size, forward));
      std::vector<bool> inputs(site.batched.begin(), site.batched.begin() + consts);
      inputs.insert(inputs.end(), forward.begin() + static_cast<ptrdiff_t>(results), forward.end());
      inputs.resize(attrs.graph(Attr::backward)->inputs.size(), true);
      tangents.flip();
      set(Attr::backward, inputs, all(tangents.size()), tangents);
    }
    set(Attr::body, site.batched, all(results));
  }
  return {apply_many(op, operands, attrs, site.node.loc), all(results)};
}

}  // namespace neap::tracing
