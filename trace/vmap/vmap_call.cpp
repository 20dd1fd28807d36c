// Batching of calls: of the graphs in their attributes.
#include <algorithm>

#include "trace/graph/call.h"
#include "trace/graph/collective.h"
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

namespace {

// Whether each is in one of the lists, of which `more` may be longer.
std::vector<bool> either(std::vector<bool> marks, const std::vector<bool>& more) {
  for (size_t i = 0; i < marks.size(); ++i) marks[i] = marks[i] || more[i];
  return marks;
}

// Returns the graph whose input has no batch: its first example gets it, as the first rank does of what all have, and
// the others zeros.
GraphPtr given_to_first(const Graph& graph, size_t input) {
  std::vector<Aval> parameters = graph.avals(graph.inputs);
  const int64_t size = parameters[input].shape[0];
  parameters[input].shape.erase(parameters[input].shape.begin());
  return std::make_shared<const Graph>(trace_closed(
      parameters,
      [&](Arrays in) {
        const Array one = reshape(in[input], after(1, in[input].shape()));
        in[input] = size == 1 ? one : concatenate({one, zeros(after(size - 1, in[input].shape()), one.dtype())}, 0);
        return inline_graph(graph, in);
      },
      graph.name));
}

// Those of the results that have a tangent.
std::vector<bool> of_tangents(const VmapSite& site, const std::vector<bool>& results) {
  std::vector<bool> marks;
  for (size_t i = 0; i < results.size(); ++i)
    if (is_inexact(site.graph.aval(site.node.outputs[i]).dtype)) marks.push_back(results[i]);
  return marks;
}

}  // namespace

// Tangents and cotangents have the batch where the values that they belong to have it; residuals where they depend on
// it. All results have it, but where collectives in the graphs may make them the same for all examples: then those that
// depend on it in any of the graphs.
BatchedResults vmap_call(const VmapSite& site) {
  const Op op = site.node.op;
  Attrs attrs = site.node.attrs;
  const auto consts = static_cast<ptrdiff_t>(attrs.integer(Attr::num_consts));
  const auto along = [&](Attr attr, const std::vector<bool>& inputs) {
    return vmap_active(*attrs.graph(attr), inputs, site.size, site.axis);
  };
  const auto set = [&](Attr attr, const std::vector<bool>& inputs, const std::vector<bool>& batched,
                       const std::vector<bool>& whole = {}) {
    attrs.set(attr, batched_graph(along(attr, inputs), site.size, batched, whole));
  };
  const auto all = [](size_t count) { return std::vector<bool>(count, true); };
  const size_t count = site.node.outputs.size();
  const bool some = site.axis && has_collectives(site.node, site.axis);  // results have the batch
  std::vector<bool> results = all(count);
  Arrays operands = site.in;
  if (op == Op::linear_solve) {
    std::vector<bool> inputs(site.batched.begin(), site.batched.begin() + consts);
    std::vector<bool> sides(site.batched.begin() + consts, site.batched.end());
    if (!some) sides = all(sides.size());
    const auto with_sides = [&] {
      std::vector<bool> marks = inputs;
      marks.insert(marks.end(), sides.begin(), sides.end());
      return marks;
    };
    for (bool settled = !some; !settled;) {  // a solution is like its right side, and both like what matvec gives
      std::vector<bool> next = sides;
      for (const Attr attr : {Attr::body, Attr::matvec, Attr::backward})
        if (attrs.has(attr)) next = either(next, along(attr, with_sides()).batched);
      settled = next == sides;
      sides = std::move(next);
    }
    for (size_t i = 0; i < sides.size(); ++i)
      if (sides[i]) operands[static_cast<size_t>(consts) + i] = site.with_batch(static_cast<size_t>(consts) + i);
    results = sides;
    for (const Attr attr : {Attr::body, Attr::matvec, Attr::backward})
      if (attrs.has(attr)) set(attr, with_sides(), results);
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
    if (some) results = along(Attr::body, site.batched).batched;
    if (op == Op::custom_jvp && has_rule(op, attrs)) {
      std::vector<bool> inputs = site.batched;
      inputs.insert(inputs.end(), tangents.begin(), tangents.end());
      if (some) {
        const std::vector<bool> given = along(Attr::derivative, inputs).batched;
        for (size_t i = 0, next = 0; i < count; ++i)
          if (is_inexact(site.graph.aval(site.node.outputs[i]).dtype)) results[i] = results[i] || given[next++];
      }
      set(Attr::derivative, inputs, of_tangents(site, results));
    } else if (has_rule(op, attrs)) {
      const BatchedGraph inner = along(Attr::forward, site.batched);
      if (some) results = either(results, inner.batched);
      std::vector<bool> forward = inner.batched;
      std::copy(results.begin(), results.end(), forward.begin());
      attrs.set(Attr::forward, batched_graph(inner, site.size, forward));
      std::vector<bool> inputs(site.batched.begin(), site.batched.begin() + consts);
      inputs.insert(inputs.end(), forward.begin() + static_cast<ptrdiff_t>(count), forward.end());
      const std::vector<bool> cotangents = of_tangents(site, results);
      const size_t before = inputs.size();
      inputs.resize(before + cotangents.size(), true);
      NEAP_CHECK(inputs.size() == attrs.graph(Attr::backward)->inputs.size(), "{} cotangents", cotangents.size());
      tangents.flip();
      set(Attr::backward, inputs, all(tangents.size()), tangents);
      for (size_t i = 0; i < cotangents.size(); ++i)
        if (!cotangents[i]) attrs.set(Attr::backward, given_to_first(*attrs.graph(Attr::backward), before + i));
    }
    set(Attr::body, site.batched, results);
  }
  return {apply_many(op, operands, attrs, site.node.loc), results};
}

}  // namespace neap::tracing
