// Exact search for the order with the lowest peak among sets of steps that are done, for at most 64 steps.
#pragma once

#include <vector>

#include "planner/order/order_graph.h"

namespace neap::planner {

constexpr int kExactSteps = 64;

struct ExactOrder {
  std::vector<int> order;  // empty: none found below the limit
  bool proven = false;     // no order is lower (nor below the limit, if none was found), or this one is low enough
};

/// Looks for an order whose peak is less than `below`; one of `enough` need not be lowered. `work`, the number of steps
/// that may still be weighed, is lessened by those that were.
///
/// Sets are visited by the lowest peak that reaches them, so the first to be whole is the best. From each set, steps
/// are run at once that do not pass the peak so far and leave no more bytes alive: whatever another order does first,
/// it can do after them with no more bytes (the live bytes of sets are submodular).
ExactOrder exact_order(const OrderGraph& graph, size_t below, size_t enough, int64_t& work);

}  // namespace neap::planner
