// What bytes cost that steps read and write, by the cache in which they lie: bytes are still in a cache where no more
// than its size was touched since they were (LRU). A plan or a loop's body is taken to run again and again, but for the
// body of a loop of one iteration. Tested in tests/planner/predict_test.cpp; neap-cost (bench/cost/) compares it with
// the clock.
#pragma once

#include <vector>

#include "planner/kernels/cost.h"
#include "planner/plan/plan.h"
#include "trace/graph/loop.h"

namespace neap::planner {

/// ByteCost is what a byte costs, in the units of planner/kernels/cost.h.
struct ByteCost {
  double read = 0, write = 0;
};

/// Returns it for bytes that were touched last when so many had still to be touched before them.
ByteCost byte_cost(double distance, const predicted::Machine& machine = {});

/// Returns, for each value of a step's group, how often an element of it is computed, or read, on average: less than
/// once where slices of it are all that is read, more often where a broadcast repeats it along all but its innermost
/// new axes, in whose loop nothing changes.
std::vector<double> times_computed(const tracing::Graph& group);

/// StepTraffic is what a step reads and writes.
struct StepTraffic {
  std::vector<double> read, written;            // bytes of each input and output of the group
  std::vector<double> read_costs, write_costs;  // units a byte
  double tables = 0;                            // bytes of a scatter's tables, which are filled and added up
  double at_places = 0;                         // units of gathers and scatters beside these, as rows lie anywhere
  std::vector<double> times;                    // times_computed() of the group
};

/// Returns it for the steps of a plan in their order, of whose memory so many bytes are held at most. `loop`: whose
/// body it is, or null; its stacked operands and results are another slice of something larger in each iteration.
std::vector<StepTraffic> plan_traffic(const PlanData& plan, size_t held, const tracing::CountedLoop* loop = nullptr,
                                      const predicted::Machine& machine = {});

}  // namespace neap::planner
