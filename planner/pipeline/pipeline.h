// From a simplified graph and one set of choices to one plan: the passes in their order. What asks for several plans
// and takes the best (planner/search/make_plan.cpp and what it calls) comes after all this. Tested in
// tests/planner/plan_test.cpp.
#pragma once

#include <functional>
#include <optional>

#include "planner/fuse/fuse.h"
#include "planner/order/order.h"
#include "planner/place/buffer_assignment.h"
#include "planner/plan/plan.h"
#include "trace/graph/graph.h"
#include "trace/graph/loop.h"

namespace neap::planner {

/// A plan and the graph that its buffers' values are of.
struct Planned {
  tracing::Graph graph;
  PlanData plan;
  OrderProblem problem;     // of its steps, before they were ordered
  bool could_part = false;  // PlanOptions::part_steps makes a difference
};

/// The plan of a loop's body.
Planned plan_body(const tracing::Graph& body, tracing::CountedLoop loop, const PlanOptions& options,
                  const FuseOptions& fuse_options);

/// All passes after simplification, for this choice of what to keep.
Planned plan_simplified(const tracing::Graph& simplified, const PlanOptions& options, const FuseOptions& fuse_options,
                        Placing placing = Placing::best);

/// What a plan is tried for, by its peak, or the least that it can be, and its predicted time.
using Worth = std::function<bool(size_t peak_bytes, double seconds)>;

/// The same of a graph that is tried beside others: nullopt where no order of its steps can be `worth` it; where they
/// are no easier to order than those of `like`, its peak is taken to be no lower. The plan is not placed
/// (planner/place/buffer_assignment.h), unless that is asked for: it can be compared and worked on, but to be run it
/// has to be settled.
std::optional<Planned> try_plan(tracing::Graph simplified, const PlanOptions& options, const Worth& worth,
                                const Planned* like = nullptr, const FuseOptions& fuse_options = {},
                                Placing placing = Placing::nowhere);

/// What becomes of the outputs of a plan, or of the body of `loop`, if that is not null.
OrderOptions order_options(const PlanOptions& options, const tracing::CountedLoop* loop);

/// The last passes, of steps in their order, of values that do not share bytes yet. `loop`: of which they are the body,
/// or null.
PlanData place_in_order(PlanData ordered, const PlanOptions& options, const tracing::CountedLoop* loop);

/// Places what was tried, as well as can be (planner/place/buffer_assignment.h).
inline void settle(PlanData& plan, const PlanOptions& options) {
  assign_buffers(plan, options.target, Placing::best, options.placing.get());
}

}  // namespace neap::planner
