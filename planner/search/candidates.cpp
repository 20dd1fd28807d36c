#include "planner/search/candidates.h"

#include <utility>

#include "planner/rewrite/compact_updates.h"
#include "planner/rewrite/layouts.h"
#include "planner/rewrite/simplify.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr size_t kMostNodes = 4000;   // beyond, one plan takes time enough
constexpr double kWorthWhile = 0.99;  // of the time, if no bytes are saved

size_t transposed_bytes(const Graph& graph) {
  size_t bytes = 0;
  for (const Node& node : graph.nodes) bytes += node.op == Op::transpose ? graph.aval(node.out()).bytes() : 0;
  return bytes;
}

}  // namespace

std::pair<Graph, Planned> compact_where_better(Graph simple, const PlanOptions& options) {
  Planned planned = plan_simplified(simple, options, {}, Placing::near);
  if (std::optional<Graph> compact = compact_updates(simple, options.target)) {
    // It moves fewer bytes where the table is not copied.
    Planned other = plan_simplified(*compact, options, {}, Placing::near);
    if (other.plan.peak_bytes < planned.plan.peak_bytes) return {*std::move(compact), std::move(other)};
  }
  return {std::move(simple), std::move(planned)};
}

std::optional<Planned> plan_in_better_layout(const Graph& graph, const Graph& simple, const Planned& usual,
                                             const PlanOptions& options) {
  if (simple.nodes.size() > kMostNodes) return std::nullopt;
  const std::optional<Graph> laid_out = lay_out(graph);
  if (!laid_out) return std::nullopt;
  Graph other = simplify(*laid_out);
  if (transposed_bytes(other) >= transposed_bytes(simple)) return std::nullopt;
  const auto better = [&](size_t peak_bytes, double seconds) {
    const double time = seconds / usual.plan.predicted_seconds;
    return peak_bytes <= usual.plan.peak_bytes && time <= 1 &&
           (peak_bytes < usual.plan.peak_bytes || time < kWorthWhile);
  };
  std::optional<Planned> moved = try_plan(std::move(other), options, better, &usual);
  if (!moved || !better(moved->plan.peak_bytes, moved->plan.predicted_seconds)) return std::nullopt;
  settle(moved->plan, options);
  if (!better(moved->plan.peak_bytes, moved->plan.predicted_seconds)) return std::nullopt;
  return moved;
}

}  // namespace neap::planner
