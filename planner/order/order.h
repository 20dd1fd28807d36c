// This looks for the order of steps with the lowest peak; the result is never worse than the order given.
//
// It is exact where there are few steps and the search comes to an end (order_exact.h), and optimal where each value
// has one reader and the steps form a tree or a series-parallel graph (order_hill_valley.h). Else it is the best of
// several list schedules, hill-valley segments of a graph that is made series-parallel, beam searches (order_beam.h),
// and exact search in windows at the peak. Steps that all others come before or after cut the program into parts that
// are ordered by themselves. All searches are bounded by work, never by a clock, so that a program has one order.
// Tested in tests/planner/order_test.cpp.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/plan/plan.h"

namespace neap::planner {

/// Holds what ordering needs to know of a program: which steps write and read each value, and how large it is.
struct OrderProblem {
  struct Value {
    size_t bytes = 0;
    std::vector<int> writers;  // in the given order; the value is alive from the first of them
    std::vector<int> readers;
    bool kept = false;   // alive to the end
    bool given = false;  // alive from the beginning, to the last step that touches it; has no writers

    bool operator==(const Value&) const = default;
  };
  // The step may write `into`, of as many bytes, over `from` if no later step touches that.
  struct Reuse {
    int step = 0;
    int from = 0;
    int into = 0;

    bool operator==(const Reuse&) const = default;
  };
  int steps = 0;
  std::vector<Value> values;
  std::vector<size_t> scratch;              // of each step
  std::vector<Reuse> reuses;                // each tried where those before it did not take its values
  std::vector<std::pair<int, int>> before;  // further precedences; all agree with the given order
  std::vector<int> once;                    // steps that never run again (planner/order/rerun.h)
};

/// Tells whether every order of these steps is also an order of the other problem, with no higher peak there.
bool no_easier(const OrderProblem& problem, const OrderProblem& than);

/// Returns a permutation of the steps in which every value is written before it is read.
std::vector<int> order_steps(const OrderProblem& problem);

/// Returns the largest sum of live bytes when the steps run in this order.
size_t peak_of_order(const OrderProblem& problem, const std::vector<int>& order);

/// Says what becomes of a plan's outputs.
struct OrderOptions {
  bool carves = true;  // outputs may lie in the arena; else each has bytes of its own for the whole run
  int num_carry = -1;  // of a scan's body: its first outputs are carries, the others lie outside the arena
  int num_consts = 0;  // of a scan's body
};

/// Makes the ordering problem of a plan's steps. Donated arguments and carries that are written in place in the given
/// order are in every order.
OrderProblem order_problem(const PlanData& plan, const OrderOptions& options = {});

/// Puts the steps of a plan into this order and sets the live ranges.
void reorder(PlanData& plan, const std::vector<int>& order);

}  // namespace neap::planner
