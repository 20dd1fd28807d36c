// What is asked of graphs and plans in many places.
#pragma once

#include <neap/error.h>

#include <string>
#include <utility>
#include <vector>

#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// The value whose bytes `v` shares: through reshapes, to what they reshape.
tracing::ValueId view_root(const tracing::Graph& graph, tracing::ValueId v);

/// Which values outputs of the graph lie in.
std::vector<bool> holds_output(const tracing::Graph& graph);

/// How many nodes the graph has, those of loops' bodies included: they are planned with it.
size_t count_nodes(const tracing::Graph& graph);

/// "file:line" of the user's code that a buffer or step comes from; empty where that is unknown.
std::string where(const auto& item) {
  if (!item.origin.empty()) return item.origin;
  return item.source.line() == 0 ? "" : to_string(item.source);
}

/// The plan as one of those that a decision is between.
inline Alternative alternative(std::string name, const PlanData& plan) {
  return {std::move(name), plan.peak_bytes, plan.predicted_seconds};
}

/// The step with the most live bytes, the first of them; -1 where there are no steps.
int peak_step(const PlanData& plan);

/// Buffers that hold bytes during a step, the largest first; aliases are left out.
std::vector<int> alive_at(const PlanData& plan, int step);

/// The text, or so many of its characters with two dots at the end.
std::string shortened(const std::string& text, size_t width);

/// One line for each value alive at the peak step: bytes, storage, shape, what made it, source line.
std::string describe_alive(const PlanData& plan, const std::string& indent);

}  // namespace neap::planner
