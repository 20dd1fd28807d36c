// From fused groups to the steps and buffers of a plan, still without offsets. Tested in tests/planner/plan_test.cpp.
#pragma once

#include <optional>

#include "planner/account.h"
#include "planner/fuse.h"
#include "planner/plan.h"
#include "trace/graph.h"

namespace neap::planner {

/// Steps in the order of the groups, each with its sub-graph, reads, writes and scratch; buffers with their storage.
/// `graph` is simplified and has its copies (planner/scan.h).
PlanData make_steps(const tracing::Graph& graph, const Fusion& fusion, const PlanOptions& options,
                    const FuseOptions& fuse_options);

/// Sets first and last of every buffer from the steps, after they were made or moved.
void set_live_ranges(PlanData& plan);

/// A plan and the graph that its buffers' values are of.
struct Planned {
  tracing::Graph graph;
  PlanData plan;
};

/// The plan of a scan's body (planner/make_plan.cpp).
Planned plan_body(const tracing::Graph& body, int num_consts, int num_carry, const PlanOptions& options,
                  const FuseOptions& fuse_options);

/// All passes after simplification, for this choice of what to keep (planner/make_plan.cpp).
Planned plan_simplified(const tracing::Graph& simplified, const PlanOptions& options, const FuseOptions& fuse_options);

/// The same of a graph that is tried beside others: nullopt where no order of its steps can be `worth` it. A plan that
/// is not worth it as it is ordered is not placed (planner/account.h): it can be compared and worked on, but not run.
std::optional<Planned> try_plan(tracing::Graph simplified, const PlanOptions& options, const Worth& worth);

}  // namespace neap::planner
