// A beam search goes step by step and keeps the best few sets of steps that are done, for any number of steps.
#pragma once

#include <vector>

#include "planner/order/order_graph.h"

namespace neap::planner {

/// Returns an order whose peak is at most `limit`, or nothing. Of the sets that steps within the limit reach, the
/// `width` with the fewest bytes alive are kept after each step. `backward` begins with what can be last. `work` is
/// lessened by the steps that were weighed; no order is found once it is exhausted.
std::vector<int> beam_order(const OrderGraph& graph, size_t width, size_t limit, bool backward, int64_t& work);

/// Estimates the least work of a beam of width 1.
inline int64_t beam_work(int64_t steps) { return steps * (8 + steps / 256); }

}  // namespace neap::planner
