// Plans in which steps run again (planner/order/rerun.h): the steps of a plan, in their order, as a problem, and the
// graph that computes what such an order does. Tested in tests/planner/rerun_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/order/order.h"
#include "planner/order/rerun.h"
#include "planner/pipeline/pipeline.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// The steps of a plan in its order. Values are its buffers; what lies in an argument or in an output of its own has no
/// bytes, as that is there all the time.
OrderProblem problem_in_order(const PlanData& plan);

/// The graph that runs the plan's steps in this order. What is computed again is marked, so that it stays apart from
/// the original (is_copy).
tracing::Graph graph_in_order(const Planned& planned, const Reruns& reruns);

/// A graph in which steps run again, and whether it holds about as much as was asked for; if not, that is the lowest.
struct Rerun {
  tracing::Graph graph;
  bool reached = false;
};

/// Looks for the least time in which the plan's steps hold about `peak_bytes`, or for what is lowest; nullopt where no
/// step runs again. The search is bounded by `work` (planner/order/rerun.h).
std::optional<Rerun> rerun_within(const Planned& planned, size_t peak_bytes, int64_t& work);

}  // namespace neap::planner
