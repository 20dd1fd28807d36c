// Loops and cond.
#include <limits>

#include "trace/graph/loop.h"
#include "trace/reference/reference.h"
#include "trace/reference/reference_values.h"

namespace neap::tracing {

std::vector<HostValue> reference_loop(Op op, std::span<const HostValue> in, const Attrs& attrs, std::vector<Aval> out) {
  const Graph& body = *attrs.graph(Attr::body);
  const int64_t length = attrs.integer_or(Attr::length, std::numeric_limits<int64_t>::max());
  const auto [num_consts, num_carry] = LoopLayout(attrs);

  std::vector<HostValue> results(in.begin() + static_cast<std::ptrdiff_t>(num_consts),
                                 in.begin() + static_cast<std::ptrdiff_t>(num_consts + num_carry));
  for (size_t i = num_carry; i < out.size(); ++i) results.push_back(make_value(out[i]));
  for (int64_t step = 0; step < length; ++step) {
    if (op == Op::while_loop && !*results[0].data->as<bool>()) break;
    const int64_t row = attrs.integer_or(Attr::reverse, 0) != 0 ? length - 1 - step : step;
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

std::vector<HostValue> reference_cond(std::span<const HostValue> in, const Attrs& attrs) {
  return evaluate_reference(*attrs.graph(*in[0].data->as<bool>() ? Attr::body : Attr::otherwise), in.subspan(1));
}

}  // namespace neap::tracing
