// An exact search among sets of steps that are done finds the order with the lowest peak, for at most 64 steps.
#pragma once

#include <vector>

#include "planner/order/order_graph.h"

namespace neap::planner {

constexpr int kExactSteps = 64;  // a set of steps is a word of 64 bits

struct ExactOrder {
  std::vector<int> order;  // empty: none found below the limit
  bool proven = false;     // no order is lower (nor below the limit, if none was found), or this one is low enough
};

/// Looks for an order whose peak is less than `below`; a peak of `enough` need not be lowered. `work`, the number of
/// steps that may still be weighed, is lessened by those that were.
///
/// Sets are visited in the order of the lowest peak that reaches them, so the first that has all steps is the best.
/// From each set, steps run at once that do not pass the peak so far and leave no more bytes alive: whatever another
/// order does first, it can do after them with no more bytes (the live bytes of sets are submodular).
ExactOrder exact_order(const OrderGraph& graph, size_t below, size_t enough, int64_t& work);

}  // namespace neap::planner
