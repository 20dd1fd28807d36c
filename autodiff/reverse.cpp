#include "autodiff/reverse.h"

#include <neap/creation.h>
#include <neap/error.h>

#include <fmt/format.h>

#include "autodiff/scan.h"
#include "autodiff/transpose.h"

namespace neap::autodiff {

using tracing::Arrays;

namespace {

// Returns the cotangents of the active inputs; `given` are those of the outputs that have tangents.
Arrays pull_back(const Graph& g, const std::vector<bool>& active, const Linearized& linearized, Arrays residuals,
                 const Arrays& given) {
  std::vector<bool> linear(linearized.tangent.inputs.size(), true);
  for (size_t i = 0; i < linearized.residuals; ++i) linear[i] = false;
  const Transposed backward =
      transpose_active(linearized.tangent, linear, std::vector<bool>(linearized.tangent.outputs.size(), true));
  residuals.insert(residuals.end(), given.begin(), given.end());
  const Arrays out = tracing::inline_graph(tracing::eliminate_dead_code(backward.graph), residuals);
  Arrays result;
  size_t tangent_input = linearized.residuals, next = 0;
  for (size_t i = 0; i < active.size(); ++i) {
    if (!active[i]) continue;
    const Aval& aval = g.aval(g.inputs[i]);
    result.push_back(backward.active[tangent_input++] ? out[next++] : zeros(aval.shape, aval.dtype));
  }
  return result;
}

std::ptrdiff_t offset(size_t n) { return static_cast<std::ptrdiff_t>(n); }

}  // namespace

Graph pullback(const Graph& g, const std::vector<bool>& active, const Linearized& linearized) {
  std::vector<Aval> parameters = linearized.tangent.avals(linearized.tangent.inputs);
  parameters.resize(linearized.residuals);
  for (const ValueId v : g.outputs)
    if (is_inexact(g.aval(v).dtype)) parameters.push_back(g.aval(v));
  return tracing::trace_closed(
      parameters,
      [&](const Arrays& in) {
        Arrays given;
        size_t next = linearized.residuals;
        for (size_t i = 0; i < g.outputs.size(); ++i) {
          if (!is_inexact(g.aval(g.outputs[i]).dtype)) continue;
          if (linearized.active[i]) given.push_back(in[next]);
          ++next;
        }
        return pull_back(g, active, linearized, Arrays(in.begin(), in.begin() + offset(linearized.residuals)), given);
      },
      g.name);
}

Graph vjp(const Graph& g, const std::vector<bool>& active) {
  const Linearized linearized = linearize(g, active);
  const Graph back = pullback(g, active, linearized);
  std::vector<Aval> parameters = g.avals(g.inputs);
  for (const ValueId v : g.outputs)
    if (is_inexact(g.aval(v).dtype)) parameters.push_back(g.aval(v));
  return tracing::trace_closed(
      parameters,
      [&](const Arrays& in) {
        const auto inputs = offset(g.inputs.size()), outputs = offset(g.outputs.size());
        const Arrays forward = tracing::inline_graph(linearized.primal, Arrays(in.begin(), in.begin() + inputs));
        Arrays to_back(forward.begin() + outputs, forward.end());
        to_back.insert(to_back.end(), in.begin() + inputs, in.end());
        const Arrays cotangents = tracing::inline_graph(back, to_back);
        Arrays result(forward.begin(), forward.begin() + outputs);
        result.insert(result.end(), cotangents.begin(), cotangents.end());
        return result;
      },
      g.name);
}

Graph grad(const Graph& g, const std::vector<size_t>& wrt, bool with_value, bool holomorphic, std::string_view op,
           std::source_location loc) {
  if (g.outputs.size() != 1)
    throw_user<ShapeError>(op, fmt::format("the function returns {} arrays", g.outputs.size()), "one scalar",
                           "vjp takes any result", loc);
  const Aval aval = g.aval(g.outputs[0]);
  if (!aval.shape.empty())
    throw_user<ShapeError>(op, fmt::format("the function returns {}", to_string(aval)), "a scalar",
                           "reduce it with sum() or mean(), or use vjp or jacrev", loc);
  if (holomorphic ? !is_complex(aval.dtype) : !is_float(aval.dtype))
    throw_user<DTypeError>(op, fmt::format("the function returns {}", to_string(aval)),
                           holomorphic ? "a complex dtype, as holomorphic says" : "a floating dtype",
                           is_complex(aval.dtype)
                               ? "take abs(), real() or imag() of it, or grad(f, holomorphic) where f is that"
                               : "convert it, for example with astype(f32), before the arithmetic",
                           loc);
  std::vector<bool> active(g.inputs.size(), false);
  for (const size_t i : wrt) active[i] = true;
  const Linearized linearized = linearize(g, active);
  Graph result = tracing::trace_closed(
      g.avals(g.inputs),
      [&](const Arrays& in) {
        Arrays forward = tracing::inline_graph(linearized.primal, in);
        const Array value = forward[0];
        forward.erase(forward.begin());
        const Arrays seed = linearized.active[0] ? Arrays{ones({}, aval.dtype)} : Arrays();
        const Arrays gradients = pull_back(g, active, linearized, std::move(forward), seed);
        // One for each active input, in their order; wrt may have another.
        Arrays outputs;
        if (with_value) outputs.push_back(value);
        for (const size_t i : wrt) {
          size_t position = 0;
          for (size_t j = 0; j < i; ++j) position += active[j];
          outputs.push_back(gradients[position]);
        }
        return outputs;
      },
      g.name);
  result = tracing::eliminate_dead_code(result);
  result.num_captured = g.num_captured;
  return result;
}

}  // namespace neap::autodiff
