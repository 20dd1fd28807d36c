#include "trace/reference/reference.h"

#include <optional>

#include "trace/graph/call.h"
#include "trace/graph/host_task.h"
#include "trace/graph/infer.h"
#include "trace/graph/op_table.h"
#include "trace/reference/reference_values.h"

namespace neap::tracing {

namespace {
HostValue reference_host_task(const Node& node, std::span<const HostValue> in, const Aval& out) {
  std::vector<Aval> avals;
  std::vector<const std::byte*> operands;
  for (const HostValue& x : in) {
    avals.push_back(x.aval);
    operands.push_back(x.data->data());
  }
  HostValue result{out, allocate(out.bytes(), name(node.op))};
  HostTask(node, avals).run(operands, result.data->data());
  return result;
}
}  // namespace

std::vector<HostValue> evaluate_reference(Op op, std::span<const HostValue> in, const Attrs& attrs,
                                          std::source_location loc) {
  std::vector<Aval> avals;
  for (const HostValue& x : in) avals.push_back(x.aval);
  std::vector<Aval> out = infer(op, avals, attrs, loc);
  switch (op_info(op).family) {
    case Family::elementwise: return {reference_elementwise(op, in, out[0])};
    case Family::leaf: return {reference_leaf(op, attrs, out[0])};
    case Family::convert: return {reference_convert(op, in[0], out[0])};
    case Family::complex: return {reference_complex(op, in, out[0])};
    case Family::fft: return {reference_fft(op, in[0], attrs, out[0])};
    case Family::layout: return {reference_layout(op, in, attrs, out[0])};
    case Family::reduce: return {reference_reduce(op, in, attrs, out[0])};
    case Family::argreduce: return {reference_argreduce(op, in[0], attrs, out[0])};
    case Family::sort: return {reference_sort(op, in[0], attrs, out[0])};
    case Family::cumulative: return {reference_cumulative(op, in[0], attrs)};
    case Family::dot: return {reference_dot(in, attrs, out[0])};
    case Family::convolution: return {reference_convolution(in, attrs, out[0])};
    case Family::factor: return {reference_factor(op, in, attrs, out[0])};
    case Family::gather: return {reference_gather(in[0], in[1], attrs, out[0])};
    case Family::scatter: return {reference_scatter(op, in, attrs)};
    case Family::random: return {reference_random(op, in, attrs, out[0])};
    case Family::control:
      return op == Op::cond ? reference_cond(in, attrs) : reference_loop(op, in, attrs, std::move(out));
    case Family::call: return evaluate_reference(called(op, attrs, loc), in);
    case Family::host:
    case Family::collective: return {reference_host_task({op, {}, attrs, {}, loc}, in, out[0])};
  }
  throw InternalError(fmt::format("{}: no reference", name(op)));
}

std::vector<HostValue> evaluate_reference(const Graph& graph, std::span<const HostValue> inputs) {
  NEAP_CHECK(inputs.size() == graph.inputs.size(), "{} inputs, not {}", inputs.size(), graph.inputs.size());
  std::vector<std::optional<HostValue>> values(graph.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Aval& expected = graph.aval(graph.inputs[i]);
    NEAP_CHECK(inputs[i].aval == expected, "input {} is {}, not {}", i, to_string(inputs[i].aval), to_string(expected));
    values[graph.inputs[i]] = inputs[i];
  }
  std::vector<int> uses = count_uses(graph);
  for (const Node& node : graph.nodes) {
    std::vector<HostValue> operands;
    for (const ValueId v : node.inputs) operands.push_back(*values[v]);
    std::vector<HostValue> results = evaluate_reference(node.op, operands, node.attrs, node.loc);
    for (size_t i = 0; i < results.size(); ++i) values[node.outputs[i]] = std::move(results[i]);
    for (const ValueId v : node.inputs) {
      if (--uses[v] == 0) values[v].reset();
    }
  }
  std::vector<HostValue> outputs;
  for (const ValueId v : graph.outputs) outputs.push_back(*values[v]);
  return outputs;
}

}  // namespace neap::tracing
