// From fused groups to the steps and buffers of a plan, still without offsets. Tested in tests/planner/plan_test.cpp.
#pragma once

#include <functional>
#include <optional>

#include "planner/account.h"
#include "planner/fuse.h"
#include "planner/order.h"
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
  OrderProblem problem;  // of its steps, before they were ordered
  bool parts = false;    // PlanOptions::part_steps makes a difference
};

/// The plan of a scan's body (planner/make_plan.cpp).
Planned plan_body(const tracing::Graph& body, int num_consts, int num_carry, const PlanOptions& options,
                  const FuseOptions& fuse_options);

/// All passes after simplification, for this choice of what to keep (planner/make_plan.cpp).
Planned plan_simplified(const tracing::Graph& simplified, const PlanOptions& options, const FuseOptions& fuse_options,
                        Placing placing = Placing::best);

/// What a plan is tried for, by its peak, or the least that it can be, and its predicted time.
using Worth = std::function<bool(size_t peak_bytes, double seconds)>;

/// The same of a graph that is tried beside others: nullopt where no order of its steps can be `worth` it; where they
/// are no easier to order than those of `like`, its peak is taken to be no lower. The plan is not placed
/// (planner/account.h): it can be compared and worked on, but to be run it has to be settled.
std::optional<Planned> try_plan(tracing::Graph simplified, const PlanOptions& options, const Worth& worth,
                                const Planned* like = nullptr);

/// Places what was tried, as well as can be (planner/account.h).
inline void settle(PlanData& plan, const PlanOptions& options) {
  account(plan, options.target, Placing::best, options.placing.get());
}

}  // namespace neap::planner
