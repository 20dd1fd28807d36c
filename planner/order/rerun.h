// Steps that run again, so that what they make need not wait: the order of steps in which some occur twice or more,
// with no more bytes alive than a budget, for little time. What waits across the peak is dropped and made again just
// before it is read, with what that needs, where most bytes above the budget go away for the time; then as much as
// possible of that is taken back, and parts of it are sought again in other ways. (The problem is that of Checkmate,
// Jain et al. 2020, and Moccasin, Bartan et al. 2023, which state it as integer programs.) Tested in
// tests/planner/rerun_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/order/order.h"

namespace neap::planner {

/// An order of steps in which some run again.
struct Reruns {
  std::vector<int> order;   // steps, the first time each in the given order
  std::vector<bool> again;  // of these: not the first time
  size_t peak_bytes = 0;    // the largest sum of live bytes
  double seconds = 0;       // of what runs again
};

/// Looks for the least time in which the steps, in their given order, run with at most `budget` bytes alive; what is
/// lowest where that is not found. `seconds`: of each step. The search is bounded by `work`, in steps looked at, from
/// which it takes what it uses.
Reruns rerun_steps(const OrderProblem& problem, const std::vector<double>& seconds, size_t budget, int64_t& work);

}  // namespace neap::planner
