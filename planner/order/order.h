// The order of steps with the lowest peak, never worse than the order given.
//
// Exact where there are few steps (order_exact.h); optimal where each value has one reader and the steps form a tree or
// a series-parallel graph (order_hill_valley.h); else the best of several list schedules, hill-valley segments of a
// graph that is made series-parallel, and exact search in windows at the peak. Steps that all others come before or
// after cut the program into parts that are ordered by themselves. All searches are bounded by work, never by a clock,
// so that a program has one order. Tested in tests/planner/order_test.cpp.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/plan/plan.h"

namespace neap::planner {

/// What ordering needs to know of a program: which steps each value joins, and how large it is.
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
};

/// Whether every order of these steps is one of the other's with no higher peak there.
bool no_easier(const OrderProblem& problem, const OrderProblem& than);

/// A permutation of the steps that respects the values.
std::vector<int> order_steps(const OrderProblem& problem);

/// The largest sum of live bytes when the steps run in this order.
size_t peak_of_order(const OrderProblem& problem, const std::vector<int>& order);

/// What becomes of a plan's outputs.
struct OrderOptions {
  bool carves = true;  // outputs may lie in the arena; else each has bytes of its own for the whole run
  int num_carry = -1;  // of a scan's body: its first outputs are carries, the others lie outside the arena
  int num_consts = 0;  // of a scan's body
};

/// The problem of a plan's steps. Arguments that are donated to an output, and carries, that the given order lets be
/// written in place stay so.
OrderProblem order_problem(const PlanData& plan, const OrderOptions& options = {});

/// Puts the steps of a plan in this order and sets the live ranges.
void reorder(PlanData& plan, const std::vector<int>& order);

}  // namespace neap::planner
