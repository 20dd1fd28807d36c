#include "planner/pipeline/pass_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace neap::planner {

using namespace tracing;

namespace {

std::string_view name_of(PlanStep::Kind kind) {
  switch (kind) {
    case PlanStep::Kind::map: return "map";
    case PlanStep::Kind::reduce: return "reduce";
    case PlanStep::Kind::scatter: return "scatter";
    case PlanStep::Kind::dot: return "dot";
    case PlanStep::Kind::convolution: return "convolution";
    case PlanStep::Kind::sort: return "sort";
    case PlanStep::Kind::fourier: return "fourier";
    case PlanStep::Kind::cumulative: return "cumulative";
    case PlanStep::Kind::factor: return "factor";
    case PlanStep::Kind::scan: return "scan";
    case PlanStep::Kind::host: return "host";
  }
  return "";
}

// As tracing::print() numbers them.
std::vector<int> printed_numbers(const Graph& graph) {
  std::vector<int> numbers(graph.values.size(), -1);
  int next = 0;
  for (const ValueId v : graph.inputs) numbers[v] = next++;
  for (const Node& node : graph.nodes) {
    for (const ValueId v : node.outputs) numbers[v] = next++;
  }
  return numbers;
}

}  // namespace

std::string fusion_text(const Graph& graph, const Fusion& fusion) {
  std::string text = print(graph) + "\n\n";
  const std::vector<int> numbers = printed_numbers(graph);
  for (size_t g = 0; g < fusion.groups.size(); ++g) {
    text += fmt::format("// step {}, {}:", g, name_of(fusion.groups[g].kind));
    for (const ValueId v : fusion.groups[g].roots) text += fmt::format(" %{}", numbers[v]);
    text += '\n';
  }
  return text;
}

std::string steps_text(const PlanData& plan) {
  std::string text;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    text += fmt::format("{:>4} {:<7} reads [{}] writes [{}] scratch [{}]  {}\n", s, name_of(step.kind),
                        fmt::join(step.reads, ","), fmt::join(step.writes, ","), fmt::join(step.scratch, ","), step.op);
  }
  return text;
}

std::string buffers_text(const PlanData& plan) {
  std::string text;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    text += fmt::format("{:>4} {:<12} {:>12} bytes, steps {} to {}", b, name(buffer.storage), buffer.bytes,
                        buffer.first, buffer.last);
    if (buffer.alias_of >= 0) {
      text += fmt::format(", in {} at {}", buffer.alias_of, buffer.alias_offset);
    } else if (buffer.offset >= 0) {
      text += fmt::format(", at {}", buffer.offset);
    }
    text += fmt::format("  {}\n", buffer.label);
  }
  return text;
}

}  // namespace neap::planner
