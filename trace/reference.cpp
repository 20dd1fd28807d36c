#include "trace/reference.h"

#include <optional>

#include "trace/call.h"
#include "trace/infer.h"
#include "trace/op_table.h"
#include "trace/reference_values.h"

namespace neap::trace {

std::vector<HostValue> evaluate_reference(Op op, std::span<const HostValue> in, const Attrs& attrs,
                                          std::source_location loc) {
  std::vector<Aval> avals;
  for (const HostValue& x : in) avals.push_back(x.aval);
  std::vector<Aval> out = infer(op, avals, attrs, loc);
  switch (op_info(op).family) {
    case Family::elementwise: return {reference_elementwise(op, in, out[0])};
    case Family::leaf: return {reference_leaf(op, attrs, out[0])};
    case Family::convert: return {reference_convert(op, in[0], out[0])};
    case Family::layout: return {reference_layout(op, in, attrs, out[0])};
    case Family::reduce: return {reference_reduce(op, in[0], attrs, out[0])};
    case Family::argreduce: return {reference_argreduce(op, in[0], attrs, out[0])};
    case Family::sort: return {reference_sort(op, in[0], attrs, out[0])};
    case Family::dot: return {reference_dot(in[0], in[1], attrs, out[0])};
    case Family::gather: return {reference_gather(in[0], in[1], attrs, out[0])};
    case Family::scatter: return {reference_scatter(op, in, attrs)};
    case Family::random: return {reference_random(op, in, attrs, out[0])};
    case Family::control: return reference_scan(in, attrs, std::move(out));
    case Family::call: return evaluate_reference(called(op, attrs, loc), in);
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

std::vector<HostValue> reference_scan(std::span<const HostValue> in, const Attrs& attrs, std::vector<Aval> out) {
  const Graph& body = *attrs.graph(Attr::body);
  const int64_t length = attrs.integer(Attr::length);
  const auto num_consts = static_cast<size_t>(attrs.integer(Attr::num_consts));
  const auto num_carry = static_cast<size_t>(attrs.integer(Attr::num_carry));

  std::vector<HostValue> results(in.begin() + static_cast<std::ptrdiff_t>(num_consts),
                                 in.begin() + static_cast<std::ptrdiff_t>(num_consts + num_carry));
  for (size_t i = num_carry; i < out.size(); ++i) results.push_back(make_value(out[i]));
  for (int64_t step = 0; step < length; ++step) {
    const int64_t row = attrs.integer(Attr::reverse) != 0 ? length - 1 - step : step;
    std::vector<HostValue> arguments(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(num_consts));
    arguments.insert(arguments.end(), results.begin(), results.begin() + static_cast<std::ptrdiff_t>(num_carry));
    for (size_t i = num_consts + num_carry; i < in.size(); ++i) {
      HostValue x = make_value(body.aval(body.inputs[i]));
      const size_t bytes = x.aval.bytes();
      std::memcpy(x.data->data(), in[i].data->data() + static_cast<size_t>(row) * bytes, bytes);
      arguments.push_back(std::move(x));
    }
    std::vector<HostValue> made = evaluate_reference(body, arguments);
    for (size_t i = 0; i < num_carry; ++i) results[i] = std::move(made[i]);
    for (size_t i = num_carry; i < made.size(); ++i) {
      const size_t bytes = made[i].aval.bytes();
      std::memcpy(results[i].data->data() + static_cast<size_t>(row) * bytes, made[i].data->data(), bytes);
    }
  }
  return results;
}

}  // namespace neap::trace
