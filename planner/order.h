// The order of steps with the lowest peak: exact where there are few steps, list scheduling where there are many, and
// never worse than the order given. Tested in tests/planner/order_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/plan.h"

namespace neap::planner {

/// What ordering needs to know of a program: which steps each value joins, and how large it is.
struct OrderProblem {
  struct Value {
    size_t bytes = 0;
    std::vector<int> writers;  // in the given order; the value is alive from the first of them
    std::vector<int> readers;
    bool kept = false;  // alive to the end
  };
  int steps = 0;
  std::vector<Value> values;
  std::vector<size_t> scratch;  // of each step
};

/// A permutation of the steps that respects the values.
std::vector<int> order_steps(const OrderProblem& problem);

/// The largest sum of live bytes when the steps run in this order.
size_t peak_of_order(const OrderProblem& problem, const std::vector<int>& order);

/// Reorders the steps of a plan and sets the live ranges.
void order(PlanData& plan);

}  // namespace neap::planner
