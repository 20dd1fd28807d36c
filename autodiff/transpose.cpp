#include "autodiff/transpose.h"

#include <algorithm>

#include <fmt/format.h>

#include "autodiff/linear.h"
#include "autodiff/transpose_rules.h"
#include "trace/graph/call.h"
#include "trace/library/linalg.h"
#include "trace/tracing/interpret.h"

namespace neap::autodiff {
namespace {

using tracing::Family;
using tracing::ValueId;

Array transpose_reduce_sum(const TransposeSite& site) {
  const Ints& axes = site.node.attrs.ints(Attr::axes);
  Shape kept;
  for (int64_t axis = 0; axis < static_cast<int64_t>(site.shape(0).size()); ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) kept.push_back(axis);
  return broadcast_in_dim(site.ct(), site.shape(0), kept);
}

// Transposes the bilinear product of complex numbers, as JAX does: nothing is conjugated, and so the part of i is
// negated.
Arrays transpose_complex(const TransposeSite& site) {
  const Array& ct = site.ct();
  switch (site.node.op) {
    case Op::real: return {complex(ct, zeros_like(ct))};
    case Op::imag: return {complex(zeros_like(ct), -ct)};
    default: return {real(ct), -imag(ct)};
  }
}

// The ops are linear in the last operand only.
Array transpose_factor(const TransposeSite& site) {
  const tracing::Attrs& attrs = site.node.attrs;
  if (site.linear[0]) not_linear(site.node);
  switch (site.node.op) {
    case Op::cholesky_tangent:
      return tracing::apply(Op::cholesky_cotangent, {site.in[0], site.ct()}, {{Attr::packed, int64_t{0}}},
                            site.node.loc);
    case Op::cholesky_cotangent:
      return tracing::apply(Op::cholesky_tangent, {site.in[0], site.ct()}, {}, site.node.loc);
    case Op::triangular_solve: break;
    default: not_linear(site.node);
  }
  return tracing::solve_left(site.in[0], site.ct(),
                             {.lower = attrs.integer(Attr::lower) != 0,
                              .transposed = attrs.integer(Attr::transposed) == 0,
                              .unit = attrs.integer(Attr::unit) != 0});
}

Arrays transpose_node(const TransposeSite& site) {
  switch (tracing::op_info(site.node.op).family) {
    case Family::elementwise: return transpose_elementwise(site);
    case Family::complex: return transpose_complex(site);
    case Family::fft:
      if (site.node.op != Op::fft) break;  // the planner's
      return {tracing::apply(Op::fft, {site.ct()}, site.node.attrs, site.node.loc)};
    case Family::cumulative:
      if (site.node.op == Op::cumsum) return {transpose_cumsum(site)};
      break;
    case Family::layout: return transpose_layout(site);
    case Family::dot: return transpose_dot(site);
    case Family::convolution: return transpose_convolution(site);
    case Family::scatter: return transpose_scatter(site);
    case Family::factor: return {Array(), transpose_factor(site)};
    case Family::control:
      if (site.node.op == Op::while_loop) no_way_back(site.node);
      return site.node.op == Op::cond ? transpose_cond(site) : transpose_scan(site);
    case Family::call: return transpose_call(site);
    case Family::collective: {
      Arrays result(site.node.inputs.size());
      result[0] = transpose_collective(site);
      return result;
    }
    case Family::convert:
      if (site.node.op == Op::convert) return {convert(site.ct(), site.aval(0).dtype)};
      break;
    case Family::reduce:
      if (site.node.op == Op::reduce_sum) return {transpose_reduce_sum(site)};
      break;
    default: break;
  }
  not_linear(site.node);
}

}  // namespace

void no_way_back(const Node& node) {
  throw_user<UserError>("while_loop", "a reverse-mode derivative through a loop whose number of steps is not known",
                        "jvp, jacfwd, or a loop with a fixed number of steps",
                        "use scan or fori_loop with integer bounds, or stop_gradient or a custom_vjp around the loop",
                        node.loc);
}

void not_linear(const Node& node) {
  throw_user<UserError>("custom_jvp", fmt::format("{} of what depends on a tangent", tracing::name(node.op)),
                        "a derivative, which is linear in the tangents", "see the rule given to custom_jvp", node.loc);
}

Transposed transpose_active(const Graph& with_calls, const std::vector<bool>& linear,
                            const std::vector<bool>& cotangents, const std::vector<bool>& sums) {
  // A rule may call functions that have rules on tangents: their bodies are transposed.
  const std::vector<bool> reached = depends_on(with_calls, linear);
  const Graph g = tracing::inline_calls(with_calls, [&](const Node& node) {
    return node.op != Op::linear_call && node.op != Op::linear_solve &&
           tracing::op_info(node.op).family == Family::call && reached[node.outputs[0]];
  });
  NEAP_CHECK(linear.size() == g.inputs.size() && cotangents.size() == g.outputs.size());
  std::vector<Aval> parameters;
  for (size_t i = 0; i < linear.size(); ++i)
    if (!linear[i]) parameters.push_back(g.aval(g.inputs[i]));
  const size_t known_inputs = parameters.size();
  for (size_t i = 0; i < cotangents.size(); ++i)
    if (cotangents[i]) parameters.push_back(g.aval(g.outputs[i]));
  const size_t sums_begin = parameters.size();
  for (size_t i = 0; i < sums.size(); ++i)
    if (sums[i]) parameters.push_back({g.aval(g.inputs[i]).shape, wide(g.aval(g.inputs[i]).dtype)});

  const std::vector<bool> depends = depends_on(g, linear);
  Transposed result;
  result.graph = tracing::trace_closed(
      parameters,
      [&](const Arrays& inputs) {
        Arrays known;
        for (size_t i = 0, next = 0; i < linear.size(); ++i) known.push_back(linear[i] ? Array() : inputs[next++]);
        const Arrays value = tracing::interpret(g, std::move(known), [&](const Node& node, const Arrays& in) {
          if (depends[node.outputs[0]]) return Arrays(node.outputs.size());
          return tracing::apply_many(node.op, in, node.attrs, node.loc);
        });

        Arrays ct(g.values.size());
        Arrays gathered(g.values.size());  // apart, so that small terms meet no large ones before they are added up
        Arrays starts(g.values.size());    // the sums that are not gathered into yet
        for (size_t i = 0, next = sums_begin; i < sums.size(); ++i)
          if (sums[i]) starts[g.inputs[i]] = inputs[next++];
        const auto sum_for = [&](ValueId v) { return is_zero(gathered[v]) ? starts[v] : gathered[v]; };
        const auto set_sum = [&](ValueId v, const Array& sum) { gathered[v] = sum, starts[v] = Array(); };
        const auto take = [&](ValueId v) {
          const Array rows = std::exchange(gathered[v], Array());
          const Array total = std::exchange(ct[v], Array());
          return is_zero(rows) ? total : sum_of(total, convert(rows, g.aval(v).dtype));
        };
        for (size_t i = 0, next = known_inputs; i < cotangents.size(); ++i)
          if (cotangents[i]) ct[g.outputs[i]] = sum_of(ct[g.outputs[i]], inputs[next++]);
        for (auto node = g.nodes.rbegin(); node != g.nodes.rend(); ++node) {
          if (!depends[node->outputs[0]]) continue;
          Arrays of_results;
          for (const ValueId v : node->outputs) of_results.push_back(take(v));
          if (std::ranges::all_of(of_results, is_zero)) continue;
          Arrays in;
          std::vector<bool> linear_operands;
          for (const ValueId v : node->inputs) {
            linear_operands.push_back(depends[v]);
            in.push_back(depends[v] ? Array() : value[v]);
          }
          const tracing::AtLine at(node->loc);
          TransposeSite site{g, *node, in, linear_operands, of_results};
          const ValueId first = node->inputs[0];
          if (node->op == Op::gather) {
            set_sum(first, transpose_gather(site, sum_for(first)));
            continue;
          }
          if (node->op == Op::dynamic_slice && !is_zero(sum_for(first))) {
            set_sum(first, transpose_window(site, sum_for(first)));
            continue;
          }
          Arrays sums_of_operands(in.size());
          if (node->op == Op::scan) {
            for (size_t i = 0; i < in.size(); ++i) {
              const auto here = node->inputs.begin() + static_cast<std::ptrdiff_t>(i);
              const bool again = std::find(node->inputs.begin(), here, *here) != here;
              if (linear_operands[i] && !again) sums_of_operands[i] = sum_for(*here);
            }
            site.sums = &sums_of_operands;
          }
          const Arrays of_operands = transpose_node(site);
          for (size_t i = 0; i < in.size(); ++i)
            if (!is_zero(sums_of_operands[i])) set_sum(node->inputs[i], sums_of_operands[i]);
          NEAP_CHECK(of_operands.size() == in.size(), "{}", tracing::name(node->op));
          for (size_t i = 0; i < in.size(); ++i) {
            if (!linear_operands[i]) continue;
            Array& total = ct[node->inputs[i]];
            total = sum_of(total, of_operands[i]);
          }
        }
        Arrays outputs;
        for (size_t i = 0; i < linear.size(); ++i) {
          const ValueId v = g.inputs[i];
          const bool summed = i < sums.size() && sums[i] && is_zero(starts[v]);
          const Array rows = summed ? std::exchange(gathered[v], Array()) : Array();
          const Array rest = linear[i] ? take(v) : Array();
          const Array cotangent = !summed ? rest : is_zero(rest) ? rows : rows + widened(rest);
          result.summed.push_back(summed);
          result.active.push_back(!is_zero(cotangent));
          if (result.active[i]) outputs.push_back(cotangent);
        }
        return outputs;
      },
      g.name);
  return result;
}

}  // namespace neap::autodiff
