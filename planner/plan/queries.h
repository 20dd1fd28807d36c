// These are the questions that many places ask of graphs and plans.
#pragma once

#include <neap/error.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Returns the value whose bytes `v` shares: `v` itself or, if that is a reshape, what is reshaped.
tracing::ValueId view_root(const tracing::Graph& graph, tracing::ValueId v);

/// Tells whether a value is a constant zero everywhere, seen through layouts and conversions.
bool is_zero(const tracing::Graph& graph, tracing::ValueId v);

/// Tells of each value whether an output of the graph lies in its bytes.
std::vector<bool> holds_output(const tracing::Graph& graph);

/// Counts the rows of a gather's or scatter's indices: what each says is one place.
inline int64_t index_rows(const Aval& indices) { return indices.size() / std::max<int64_t>(1, indices.shape.back()); }

/// Counts the nodes of the graph and of its loops' bodies, which are planned with it.
size_t count_nodes(const tracing::Graph& graph);

/// Marks in `read`, beside the values of a loop's body that are marked, all that they follow from, in this iteration or
/// those before: a carry that is read is live, and what it becomes is read. Carries that are `live` to begin with are
/// wanted for themselves.
void mark_read(const tracing::Graph& body, std::span<const tracing::ValueId> carry_in,
               std::span<const tracing::ValueId> carry_out, std::vector<bool>& read, std::vector<bool>& live);

/// Returns "file:line" of the user's code that a buffer or step comes from, or nothing where that is unknown.
std::string where(const auto& item) {
  if (!item.origin.empty()) return item.origin;
  return item.source.line() == 0 ? "" : to_string(item.source);
}

/// Tells whether what a loop's body gives as a carry lies in its arena where nothing else does, so that it may lie
/// where the carry before it does, and that there: from iteration to iteration they change places, and nothing is
/// copied.
bool may_trade(const PlanData& body, int output);
/// Bytes from which on that is faster than a copy.
inline constexpr size_t kFewestTraded = 4096;

/// Describes the plan as one alternative of a decision.
inline Alternative alternative(std::string name, const PlanData& plan) {
  return {std::move(name), plan.peak_bytes, plan.predicted_seconds};
}

/// Returns the first step with the most live bytes; -1 where there are no steps.
int peak_step(const PlanData& plan);

/// Returns the buffers that hold bytes during a step, the largest first; aliases are left out.
std::vector<int> alive_at(const PlanData& plan, int step);

/// Returns the text, cut to `width` characters where it is longer; the last two are then dots.
std::string shortened(const std::string& text, size_t width);

/// Writes one line for each buffer alive at the peak step: bytes, storage, shape, what made it, source line.
std::string describe_alive(const PlanData& plan, const std::string& indent);

}  // namespace neap::planner
