// Hill-valley segments give orders of trees and series-parallel graphs with the lowest peak, and good ones of others.
//
// The steps that are ordered so far are a list of segments, each with its net growth and its hill: the most that it
// needs above what is alive when it starts. They ascend in rank: those that give back more than they take first, the
// lower hill first; then the others, the lower valley after the hill last. That is Liu's order of hills and valleys (A
// generalized pebbling game, 1987). Two steps in series are one list: neighbours that do not ascend become one segment.
// Two in parallel, with the same steps before and after both, merge by rank. Either keeps an order that is the best in
// every surrounding (Abdel-Wahab and Kameda, 1978; Monma and Sidney, 1979; for peak memory Kayaaslan, Lambert, Marchal
// and Ucar, 2018), so that a series-parallel graph becomes a single list. What is left of other graphs is searched
// exactly if it is small, else its heaviest edges are put in series until it reduces again, or is given up.
#pragma once

#include <vector>

#include "planner/order/order_graph.h"

namespace neap::planner {

struct HillValleyOrder {
  std::vector<int> order;  // empty: given up
  bool proven = false;     // no order is lower
};

/// Returns an optimal order if the graph is series-parallel and each value that is freed has one reader. With several
/// readers, the last of them in the given order is taken to free the value; `last_stays` then adds that it remains the
/// last, so that the peak is never above the given order's unless edges had to be put in series. `work` is that of
/// order_exact.h.
HillValleyOrder hill_valley_order(const OrderGraph& graph, bool last_stays, int64_t& work);

}  // namespace neap::planner
