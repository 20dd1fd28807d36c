#include "backends/lower.h"

#include <numeric>

#include "core/check.h"

namespace neap::backends {

using planner::PlanStep;

Kernel kernel_of(const PlanStep& step, Kernel::Kind kind, std::span<const DType> scratch) {
  Kernel kernel;
  kernel.kind = kind;
  kernel.name = step.op;
  const tracing::Graph& graph = step.group;
  auto add = [&](DType type, bool written, char prefix, size_t i) {
    kernel.buffers.push_back({type, written, prefix + std::to_string(i)});
  };
  for (size_t i = 0; i < graph.inputs.size(); ++i) add(graph.aval(graph.inputs[i]).dtype, false, 'r', i);
  for (size_t i = 0; i < graph.outputs.size(); ++i) add(graph.aval(graph.outputs[i]).dtype, true, 'w', i);
  for (size_t i = 0; i < scratch.size(); ++i) add(scratch[i], true, 's', i);
  return kernel;
}

Launch launch_of(Kernel kernel) {
  Launch launch;
  kernel.cost_per_element = cost_per_element(kernel);
  launch.operands.resize(kernel.buffers.size());
  std::iota(launch.operands.begin(), launch.operands.end(), 0);
  launch.kernel = std::move(kernel);
  return launch;
}

std::vector<Launch> lower(const PlanStep& step) {
  NEAP_CHECK(step.reads.size() == step.group.inputs.size() && step.writes.size() == step.group.outputs.size(),
             "{}: {} reads and {} writes for {} inputs and {} outputs", step.op, step.reads.size(), step.writes.size(),
             step.group.inputs.size(), step.group.outputs.size());
  switch (step.kind) {
    case PlanStep::Kind::map: return lower_map(step);
    case PlanStep::Kind::reduce: return lower_reduce(step);
    case PlanStep::Kind::scatter: return lower_scatter(step);
    case PlanStep::Kind::dot:
    case PlanStep::Kind::convolution:
    case PlanStep::Kind::fourier:
    case PlanStep::Kind::sort:
    case PlanStep::Kind::cumulative:
    case PlanStep::Kind::factor:
    case PlanStep::Kind::host:
    case PlanStep::Kind::scan: break;
  }
  NEAP_CHECK(false, "{} is no kernel", step.op);
  __builtin_unreachable();
}

}  // namespace neap::backends
