#include "planner/fuse/step_names.h"

#include <fmt/format.h>
#include <neap/bytes.h>

#include <algorithm>

#include "planner/kernels/convolution.h"
#include "planner/kernels/cost.h"
#include "planner/kernels/cumulative.h"
#include "planner/kernels/dot.h"
#include "planner/kernels/factor.h"
#include "planner/kernels/fourier.h"
#include "planner/kernels/sort.h"
#include "planner/plan/marks.h"
#include "trace/graph/collective.h"
#include "trace/graph/host_call.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int kNameDepth = 3;  // ops inside one another that a name shows beside the outermost

// "reduce_sum(multiply(gather))": down the dearest operand, past what only moves elements.
std::string op_name(const Graph& group, ValueId v, int depth) {
  const Node* node = group.def(v);
  while (node && op_info(node->op).family == Family::layout && !node->inputs.empty() && group.def(node->inputs[0])) {
    node = group.def(node->inputs[0]);
  }
  if (!node) return {};
  std::string text(node->op == Op::stop_gradient ? "copy" : name(node->op));
  if (depth == 0) return text;
  const Node* inner = nullptr;
  double best = -1;
  for (const ValueId x : node->inputs) {
    const Node* candidate = group.def(x);
    if (!candidate || candidate->op == Op::constant) continue;
    const double cost = element_cost(group, *candidate) + static_cast<double>(group.aval(x).size()) * 1e-9;
    if (cost > best) best = cost, inner = candidate;
  }
  if (!inner) return text;
  const std::string rest = op_name(group, inner->out(), depth - 1);
  return rest.empty() ? text : fmt::format("{}({})", text, rest);
}

bool has(const Graph& group, Family family) {
  return std::ranges::any_of(group.nodes, [&](const Node& node) { return op_info(node.op).family == family; });
}

void explain_fused(PlanStep& step) {
  const auto computed =
      std::ranges::count_if(step.group.nodes, [](const Node& node) { return node.op != Op::constant; });
  if (computed <= 1) {
    step.reason = "one op";
  } else if (has(step.group, Family::random)) {
    step.reason = fmt::format("{} ops in registers; random bits from their counters, never stored", computed);
  } else {
    step.reason = fmt::format("{} ops in registers", computed);
  }
}

// What a step of a GPU that the host takes copies.
std::string copies_of(const HostWork& work) {
  if (work.held == 0) return ", in place";
  return fmt::format(": {} there, {} back, {} held there", format_bytes(work.sent), format_bytes(work.returned),
                     format_bytes(work.held));
}

void explain_scatter(PlanStep& step) {
  const Graph& group = step.group;
  const Node& node = *group.def(group.outputs[0]);
  const bool stored_updates = !group.def(node.inputs[2]);
  const std::string once = fmt::format("no element is updated twice{}", step.covering ? ", none is left out" : "");
  if (node.op != Op::scatter_add || stored_updates) {
    step.reason = step.unique_indices ? "updates are stored; " + once : "updates are stored";
    return;
  }
  step.strategy = Strategy::nocopy_gather_grad;
  step.reason = step.form == ScatterForm::counts   ? "one update for all rows: rows are counted"
                : step.form == ScatterForm::tables ? "updates computed where they are added"
                : step.unique_indices              ? once + ": any order, no tables"
                                                   : "updates added where they are computed, in row order";
  if (step.form != ScatterForm::direct) {
    step.reason += fmt::format(", {} partial table{}", step.partials, step.partials == 1 ? "" : "s");
  }
}

}  // namespace

void name_step(PlanStep& step, bool naive, bool recomputes) {
  const Graph& group = step.group;
  step.op.clear();
  for (const ValueId v : group.outputs) {
    if (step.kind == PlanStep::Kind::scan || step.op.size() > 60) break;
    if (!step.op.empty()) step.op += ", ";
    step.op += op_name(group, v, kNameDepth);
  }
  step.strategy = naive ? Strategy::naive : recomputes ? Strategy::recompute : Strategy::fused;
  const auto opaque = [&](std::string reason) {
    step.op = name(group.nodes[0].op);
    step.strategy = naive ? Strategy::naive : Strategy::opaque;
    step.reason = std::move(reason);
  };
  switch (step.kind) {
    case PlanStep::Kind::dot: {
      const DotForm form = dot_form(group, group.nodes[0]);
      step.op = "dot_general";
      step.strategy = naive ? Strategy::naive : recomputes ? Strategy::recompute : Strategy::opaque;
      step.reason = fmt::format("{} x {} x {}", form.m, form.k, form.n);
      if (form.batch != 1) step.reason = fmt::format("{} of {}", form.batch, step.reason);
      return;
    }
    case PlanStep::Kind::convolution: {
      const ConvolutionForm form = convolution_form(group, group.nodes[0]);
      const auto& [depth, height, width] = form.space;
      step.op = name(group.nodes[0].op);
      step.strategy = naive ? Strategy::naive : recomputes ? Strategy::recompute : Strategy::opaque;
      step.reason = fmt::format("{} to {} features, {} of {}", form.in, form.out, form.batch,
                                to_string(Shape{depth.count, height.count, width.count}));
      if (form.groups != 1) step.reason = fmt::format("{} groups of {}", form.groups, step.reason);
      return;
    }
    case PlanStep::Kind::fourier: {
      const FourierForm form = fourier_form(group, group.nodes[0]);
      return opaque(fmt::format("{} of {}", form.outer * form.inner, form.length));
    }
    case PlanStep::Kind::sort: {
      const SortForm form = sort_form(group, group.nodes[0]);
      opaque(fmt::format("{} row{} of {}", form.rows, form.rows == 1 ? "" : "s", form.length));
      if (form.selects()) step.reason += fmt::format(", ranks {} to {}", form.start, form.limit - 1);
      return;
    }
    case PlanStep::Kind::cumulative: {
      const CumulativeForm form = cumulative_form(group, group.nodes[0]);
      return opaque(fmt::format("{} of {}", form.outer * form.inner, form.length));
    }
    case PlanStep::Kind::factor: {
      const factor::Form form = factor_form(group, group.nodes[0]);
      step.op = name(group.nodes[0].op);
      step.strategy = naive ? Strategy::naive : step.host ? Strategy::host : Strategy::opaque;
      step.reason = fmt::format("{} of {} x {}", form.batch, form.m, form.n);
      if (step.host) step.reason += ", by the host" + copies_of(*step.host);
      return;
    }
    case PlanStep::Kind::host: {
      if (op_info(group.nodes[0].op).family == Family::collective) {
        const Node& node = group.nodes[0];
        const MeshAxis& axis = *node.attrs.mesh_axis();
        step.op = name(node.op);
        step.strategy = naive ? Strategy::naive : Strategy::host;
        step.reason = fmt::format("{} ranks along \"{}\"", axis.size, axis.name);
        const size_t sent = node.inputs.empty() ? 0 : sent_bytes(node.op, group.aval(node.inputs[0]), axis.size);
        if (sent > 0 && node.op == Op::ragged_all_to_all)  // as many of its rows as there are for others
          step.reason += fmt::format(", rows of {} to send", format_bytes(sent));
        else if (sent > 0)
          step.reason += fmt::format(", {} sent", format_bytes(sent));
        if (step.host) step.reason += copies_of(*step.host);
        return;
      }
      const HostFunction& function = *group.nodes[0].attrs.function(Attr::callee);
      const int64_t calls = element_count(group.nodes[0].attrs.ints(Attr::batch));
      step.op = function.name;
      step.strategy = naive ? Strategy::naive : Strategy::host;
      step.reason = fmt::format("{} call{} of the host", calls, calls == 1 ? "" : "s");
      if (step.host) step.reason += copies_of(*step.host);
      return;
    }
    case PlanStep::Kind::scan: {
      const Attrs& attrs = group.nodes[0].attrs;
      const size_t steps = step.body ? step.body->steps.size() : 0;
      const bool scans = group.nodes[0].op == Op::scan, branch = !scans && attrs.has(Attr::length);
      step.op = branch ? "cond" : name(group.nodes[0].op);
      step.strategy = naive ? Strategy::naive : branch ? Strategy::branch : Strategy::loop;
      step.reason = scans    ? fmt::format("{} iterations of {} steps", attrs.integer(Attr::length), steps)
                    : branch ? fmt::format("{} steps where its predicate is true", steps)
                             : fmt::format("{} steps while its condition is true", steps);
      if (has_mark(group.nodes[0], Mark::chunked)) step.strategy = Strategy::chunked;
      return;
    }
    default: break;
  }
  if (naive) {
    step.reason = "every op stores its result";
    return;
  }
  explain_fused(step);
  if (recomputes) step.reason += "; some computed again by other steps, cheaper than kept";
  if (step.kind == PlanStep::Kind::scatter) explain_scatter(step);
}

std::string scratch_label(const PlanStep& step) {
  switch (step.kind) {
    case PlanStep::Kind::reduce: return "partial results";
    case PlanStep::Kind::scatter:
      return step.form == ScatterForm::counts    ? "counts"
             : step.form == ScatterForm::winners ? "winning rows"
                                                 : "partial tables";
    case PlanStep::Kind::dot:
    case PlanStep::Kind::convolution: return "packing";
    case PlanStep::Kind::fourier: return "points between passes";
    case PlanStep::Kind::sort: return "elements between passes";
    case PlanStep::Kind::cumulative: return "totals of blocks";
    case PlanStep::Kind::factor: return "work space";
    case PlanStep::Kind::scan: return "arena of the body";
    case PlanStep::Kind::host:
    case PlanStep::Kind::map: break;
  }
  return "scratch";
}

void name_in_place(PlanStep& step) {
  if (step.strategy == Strategy::fused) step.strategy = Strategy::inplace;
  const std::string how = step.kind == PlanStep::Kind::scatter ? "; into the operand" : "; over a dying operand";
  if (!step.reason.ends_with(how)) step.reason += how;
}

}  // namespace neap::planner
