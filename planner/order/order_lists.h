// Orders found in one walk through the steps, nearly linear in their number.
#pragma once

#include <vector>

#include "planner/order/order_graph.h"

namespace neap::planner {

/// Among the steps that can run: one that grows least of those that do not pass the peak so far, else the one that
/// needs least.
std::vector<int> forward_list(const OrderGraph& graph);

/// The same from the end: among the steps that can be last, the one before which least is alive.
std::vector<int> backward_list(const OrderGraph& graph);

/// Depth first from what nothing follows, operands of wide parts first.
std::vector<int> depth_first(const OrderGraph& graph);

}  // namespace neap::planner
