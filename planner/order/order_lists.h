// These orders are found in one walk through the steps, in time nearly linear in their number.
#pragma once

#include <vector>

#include "planner/order/order_graph.h"

namespace neap::planner {

/// Runs, of the steps that can run and do not pass the peak so far, the one that adds the fewest live bytes; where all
/// pass it, one that needs the fewest.
std::vector<int> forward_list(const OrderGraph& graph);

/// Goes from the end: of the steps that can be last, it takes the one before which the fewest bytes are alive.
std::vector<int> backward_list(const OrderGraph& graph);

/// Goes depth first from the steps that nothing follows, and takes those operands first whose parts need the most bytes
/// beside what they leave.
std::vector<int> depth_first(const OrderGraph& graph);

}  // namespace neap::planner
