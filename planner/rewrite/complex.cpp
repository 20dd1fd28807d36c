#include "planner/rewrite/complex.h"

#include <neap/creation.h>
#include <neap/ops.h>

#include <algorithm>

#include "core/check.h"
#include "planner/plan/queries.h"
#include "trace/graph/call.h"
#include "trace/graph/op_table.h"
#include "trace/tracing/interpret.h"

namespace neap::planner {

using namespace tracing;

namespace {

bool any_complex(const Graph& g, const std::vector<ValueId>& values) {
  return std::ranges::any_of(values, [&](ValueId v) { return is_complex(g.aval(v).dtype); });
}

// Whether a value of the graph or of a body in it is.
bool has_complex(const Graph& graph) {
  if (std::ranges::any_of(graph.values, [](const Value& v) { return is_complex(v.aval.dtype); })) return true;
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    const Family family = op_info(node.op).family;
    if (family != Family::control && family != Family::call) return false;
    return std::ranges::any_of(std::array{Attr::body, Attr::otherwise},
                               [&](Attr body) { return node.attrs.has(body) && has_complex(*node.attrs.graph(body)); });
  });
}

// Complex values, one behind the other, by their parts.
std::vector<Aval> flattened(const std::vector<Aval>& avals) {
  std::vector<Aval> flat;
  for (const Aval& aval : avals)
    flat.insert(flat.end(), is_complex(aval.dtype) ? 2 : 1, {aval.shape, real_dtype(aval.dtype)});
  return flat;
}
Arrays flattened(std::span<const Parts> values) {
  Arrays flat;
  for (const Parts& x : values) {
    flat.push_back(x.re);
    if (x.is_complex()) flat.push_back(x.im);
  }
  return flat;
}
std::vector<Parts> joined(const Arrays& flat, const std::vector<Aval>& avals) {
  std::vector<Parts> values;
  size_t next = 0;
  for (const Aval& aval : avals) {
    values.push_back({flat[next++], {}});
    if (is_complex(aval.dtype)) values.back().im = flat[next++];
  }
  return values;
}

bool is_real(const Graph& g, ValueId v) {
  const Node* node = g.def(v);
  if (!node) return false;
  if (node->op == Op::complex) return is_zero(g, node->inputs[1]);
  return node->op == Op::convert && !is_complex(g.aval(node->inputs[0]).dtype);
}

// Of each value, whether its imaginary parts are read.
std::vector<bool> read_whole(const Graph& g) {
  std::vector<bool> whole(g.values.size(), false);
  for (const ValueId v : g.outputs) whole[v] = true;
  for (const Node& node : g.nodes) {
    for (const ValueId v : node.inputs) whole[v] = whole[v] || node.op != Op::real;
  }
  return whole;
}

std::vector<Parts> lower(const Graph& g, const std::vector<Parts>& inputs, const Target& target);

GraphPtr lower_body(const GraphPtr& body, const Target& target) {
  if (!has_complex(*body)) return body;
  const std::vector<Aval> avals = body->avals(body->inputs);
  return std::make_shared<const Graph>(trace_closed(
      flattened(avals), [&](const Arrays& in) { return flattened(lower(*body, joined(in, avals), target)); },
      body->name));
}

std::vector<Parts> lower_control(const Graph& g, const Node& node, std::span<const Parts> in, const Target& target) {
  Attrs attrs = node.attrs;
  for (const Attr body : {Attr::body, Attr::otherwise})
    if (attrs.has(body)) attrs.set(body, lower_body(attrs.graph(body), target));
  size_t first = 0;
  for (const Attr count : {Attr::num_consts, Attr::num_carry}) {
    if (!attrs.has(count)) continue;
    const auto n = static_cast<size_t>(attrs.integer(count));
    attrs.set(count, std::ssize(flattened(in.subspan(first, n))));
    first += n;
  }
  return joined(apply_many(node.op, flattened(in), std::move(attrs), node.loc), g.avals(node.outputs));
}

// The op of each part of its complex operands, and of the real ones in both.
Parts part_by_part(const Node& node, std::span<const Parts> in) {
  Arrays re, im;
  for (const Parts& x : in) {
    re.push_back(x.re);
    im.push_back(x.is_complex() ? x.im : x.re);
  }
  return {apply(node.op, re, node.attrs, node.loc), apply(node.op, im, node.attrs, node.loc)};
}

Parts lower_dot(const Node& node, std::span<const Parts> in) {
  const auto product = [&](const Array& x, const Array& y) { return apply(node.op, {x, y}, node.attrs, node.loc); };
  const Parts &x = in[0], &y = in[1];
  return {product(x.re, y.re) - product(x.im, y.im), product(x.re, y.im) + product(x.im, y.re)};
}

Parts lower_node(const Graph& g, const Node& node, std::span<const Parts> in) {
  const Aval& out = g.aval(node.out());
  switch (op_info(node.op).family) {
    case Family::elementwise: return lower_elementwise(node.op, in);
    case Family::leaf: {
      Attrs attrs = node.attrs;
      attrs.set(Attr::dtype, real_dtype(out.dtype));
      const Array re = apply(node.op, {}, attrs, node.loc);
      return {re, zeros_like(re)};
    }
    case Family::convert: {
      const DType part = real_dtype(out.dtype);
      const Array re = convert(in[0].re, part);
      return {re, in[0].is_complex() ? convert(in[0].im, part) : zeros_like(re)};
    }
    case Family::complex:
      if (node.op == Op::complex) return {in[0].re, in[1].re};
      return {node.op == Op::real ? in[0].re : in[0].im, {}};
    case Family::convolution:
    case Family::dot: return lower_dot(node, in);
    case Family::layout:
    case Family::cumulative:
    case Family::reduce:
    case Family::gather:
    case Family::collective:
    case Family::scatter: return part_by_part(node, in);
    default: throw InternalError(std::string(name(node.op)) + " of complex numbers is not lowered");
  }
}

std::vector<Parts> lower(const Graph& with_calls, const std::vector<Parts>& inputs, const Target& target) {
  const Graph g = inline_calls(eliminate_dead_code(with_calls));
  const std::vector<bool> whole = read_whole(g);
  const auto rule = [&](const Node& node, const std::vector<Parts>& in) -> std::vector<Parts> {
    if (op_info(node.op).family == Family::control) return lower_control(g, node, in, target);
    if (node.op == Op::fft) {
      const bool reverse = node.attrs.integer(Attr::reverse) != 0;
      const FftUse use{reverse, !target.gpu, is_real(g, node.inputs[0]), !whole[node.out()]};
      return {lower_fft(in[0], node.attrs.integer(Attr::axis), use)};
    }
    if (any_complex(g, node.inputs) || any_complex(g, node.outputs)) return {lower_node(g, node, in)};
    std::vector<Parts> out;
    for (Array& y : apply_many(node.op, flattened(in), node.attrs, node.loc)) out.push_back({std::move(y), {}});
    return out;
  };
  return pick(interpret(g, inputs, rule), g.outputs);
}

}  // namespace

Parts taken_apart(const Array& pairs) {
  const auto part = [&](int64_t i) { return squeeze(slice_in_dim(pairs, i, i + 1, -1), -1); };
  return {part(0), part(1)};
}

Array interleaved(const Parts& x) { return concatenate({expand_dims(x.re, -1), expand_dims(x.im, -1)}, -1); }

Graph lower_complex(Graph graph, const Target& target) {
  if (!has_complex(graph)) return graph;
  const std::vector<Aval> avals = graph.avals(graph.inputs);
  std::vector<Aval> parameters = avals;
  for (Aval& aval : parameters) {
    if (!is_complex(aval.dtype)) continue;
    aval.shape.push_back(2);
    aval.dtype = real_dtype(aval.dtype);
  }
  std::vector<std::source_location> read_at(graph.values.size());  // first
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node)
    for (const ValueId v : node->inputs) read_at[v] = node->loc;
  Graph lowered = trace_closed(
      parameters,
      [&](const Arrays& in) {
        std::vector<Parts> inputs;
        for (size_t i = 0; i < in.size(); ++i) {
          const AtLine at(read_at[graph.inputs[i]]);
          inputs.push_back(is_complex(avals[i].dtype) ? taken_apart(in[i]) : Parts{in[i], {}});
        }
        const std::vector<Parts> outputs = lower(graph, inputs, target);
        Arrays results;
        for (size_t i = 0; i < outputs.size(); ++i) {
          const Node* made = graph.def(graph.outputs[i]);
          const AtLine at(made ? made->loc : std::source_location{});
          results.push_back(outputs[i].is_complex() ? interleaved(outputs[i]) : outputs[i].re);
        }
        return results;
      },
      graph.name);
  lowered.num_captured = graph.num_captured;
  return lowered;
}

}  // namespace neap::planner
