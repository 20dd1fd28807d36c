// Orders respect dependences, never raise the peak, and are the best of all where all can be tried.
#include "planner/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace neap::planner {
namespace {

// Each step makes one value from some earlier ones.
OrderProblem random_program(std::mt19937& random, int steps) {
  OrderProblem problem;
  problem.steps = steps;
  problem.scratch.assign(steps, 0);
  for (int s = 0; s < steps; ++s) {
    OrderProblem::Value value;
    value.bytes = 64 * (1 + random() % 50);
    value.writers = {s};
    for (int operand = 0; operand < 2 && s > 0; ++operand) problem.values[random() % s].readers.push_back(s);
    problem.values.push_back(value);
  }
  problem.values.back().kept = true;
  return problem;
}

bool valid(const OrderProblem& problem, const std::vector<int>& order) {
  std::vector<int> at(order.size());
  for (size_t i = 0; i < order.size(); ++i) at[order[i]] = static_cast<int>(i);
  for (const auto& value : problem.values) {
    for (const int reader : value.readers) {
      if (at[reader] < at[value.writers[0]]) return false;
    }
  }
  return true;
}

TEST(Order, ExactOnSmallPrograms) {
  std::mt19937 random(7);
  for (int program = 0; program < 30; ++program) {
    const OrderProblem problem = random_program(random, 7);
    std::vector<int> order(7);
    std::iota(order.begin(), order.end(), 0);
    const size_t given = peak_of_order(problem, order);
    size_t best = given;
    do {
      if (valid(problem, order)) best = std::min(best, peak_of_order(problem, order));
    } while (std::ranges::next_permutation(order).found);
    const std::vector<int> chosen = order_steps(problem);
    EXPECT_TRUE(valid(problem, chosen));
    EXPECT_EQ(peak_of_order(problem, chosen), best);
    EXPECT_LE(best, given);
  }
}

TEST(Order, NeverAboveProgramOrder) {
  std::mt19937 random(3);
  for (int program = 0; program < 20; ++program) {
    const OrderProblem problem = random_program(random, 60);
    std::vector<int> given(60);
    std::iota(given.begin(), given.end(), 0);
    const std::vector<int> chosen = order_steps(problem);
    EXPECT_TRUE(valid(problem, chosen));
    EXPECT_LE(peak_of_order(problem, chosen), peak_of_order(problem, given));
  }
}

TEST(Order, FinishesOneBranchBeforeTheNext) {
  OrderProblem problem;  // 20 x: large temporary, then a small result; all temporaries first in program order
  problem.steps = 40;
  problem.scratch.assign(40, 0);
  for (int i = 0; i < 20; ++i) problem.values.push_back({6400, {i}, {20 + i}, false});
  for (int i = 0; i < 20; ++i) problem.values.push_back({64, {20 + i}, {}, true});
  EXPECT_LE(peak_of_order(problem, order_steps(problem)), 6400u + 20 * 64);
}

}  // namespace
}  // namespace neap::planner
