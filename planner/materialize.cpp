#include "planner/materialize.h"

#include <string>
#include <utility>
#include <vector>

#include "planner/cost.h"
#include "planner/fuse.h"
#include "trace/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int kRounds = 4;  // the widest steps of the next plan may be others

// The graph that stores all that is made of values alive at steps which hold more than `limit`; nullopt where nothing
// of that is in registers.
std::optional<Graph> storing_at_wide_steps(const Planned& planned, size_t limit) {
  const PlanData& plan = planned.plan;
  std::vector<int> wide(plan.steps.size() + 1, 0);  // steps before each that hold too much
  for (size_t s = 0; s < plan.steps.size(); ++s) wide[s + 1] = wide[s] + (plan.steps[s].bytes_live > limit ? 1 : 0);
  std::vector<bool> alive(planned.graph.values.size(), false);
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.value == no_value || buffer.last < buffer.first || buffer.last >= std::ssize(plan.steps)) continue;
    if (wide[buffer.last + 1] > wide[buffer.first]) alive[buffer.value] = true;
  }
  const std::vector<bool> stored = fuse(planned.graph).stored;
  Graph graph = planned.graph;
  bool changed = false;
  for (Node& node : graph.nodes) {
    if (!is_fusible(node.op) || stored[node.out()]) continue;
    for (const ValueId x : node.inputs) {
      if (alive[x]) alive[node.out()] = true;
    }
    const bool view =
        op_info(node.op).family == Family::leaf || node.op == Op::reshape || node.op == Op::broadcast_in_dim;
    if (!alive[node.out()] || view || node.attrs.has(Attr::name)) continue;
    node.attrs.set(Attr::name, std::string(kKept));
    changed = true;
  }
  if (!changed) return std::nullopt;
  return graph;
}

}  // namespace

std::optional<Planned> materialize(const Planned& planned, size_t limit, const PlanOptions& options) {
  std::optional<Planned> best;
  const Planned* last = &planned;
  for (int round = 0; round < kRounds; ++round) {
    std::optional<Graph> graph = storing_at_wide_steps(*last, limit);
    if (!graph) break;
    Planned next = plan_simplified(*std::move(graph), options, {});
    const bool lower = next.plan.peak_bytes < last->plan.peak_bytes;
    if (!lower) break;
    best = std::move(next);
    last = &*best;
    if (best->plan.peak_bytes <= limit) break;
  }
  return best;
}

}  // namespace neap::planner
