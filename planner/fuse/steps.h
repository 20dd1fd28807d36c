// This makes the steps and buffers of a plan from fused groups, still without offsets. Tested in
// tests/planner/plan_test.cpp.
#pragma once

#include <memory>

#include "core/function_ref.h"
#include "planner/fuse/fuse.h"
#include "planner/plan/plan.h"
#include "trace/graph/graph.h"
#include "trace/graph/loop.h"

namespace neap::planner {

/// Plans a loop's body.
using PlanBody = FunctionRef<std::shared_ptr<const PlanData>(const tracing::GraphPtr& body, tracing::CountedLoop loop)>;

/// Makes steps in the order of the groups, each with its sub-graph, reads, writes and scratch, and buffers with their
/// storage. `graph` is simplified and has its copies (planner/fuse/insert_copies.h).
PlanData make_steps(const tracing::Graph& graph, const Fusion& fusion, const PlanOptions& options, PlanBody plan_body);

/// Sets first and last of every buffer from the steps, after those were made or moved.
void set_live_ranges(PlanData& plan);

}  // namespace neap::planner
