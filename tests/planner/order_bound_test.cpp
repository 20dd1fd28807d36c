// The bound of an order's peak: what is alive during some step in every order, and never above the lowest peak.
#include <gtest/gtest.h>

#include "order_naive.h"
#include "planner/order/order_graph.h"

namespace neap::planner {
namespace {

// What is kept, what is given, and of each step what is alive during it in all orders, by trying them. No reuses.
size_t bound_of_all_orders(const OrderProblem& problem) {
  const NaiveOrder naive(problem);
  std::vector<std::vector<bool>> alive(problem.steps, std::vector<bool>(problem.values.size(), true));
  naive.for_each_order([&](const std::vector<int>& order) {
    NaiveOrder::Set done = 0;
    for (const int s : order) {
      for (size_t v = 0; v < problem.values.size(); ++v) alive[s][v] = alive[s][v] && naive.alive_during(v, done, s);
      done |= NaiveOrder::Set{1} << s;
    }
  });
  size_t bound = std::max(naive.live(0), naive.live(naive.all()));
  for (int s = 0; s < problem.steps; ++s) {
    size_t bytes = problem.scratch[s];
    for (size_t v = 0; v < problem.values.size(); ++v) bytes += alive[s][v] ? problem.values[v].bytes : 0;
    bound = std::max(bound, bytes);
  }
  return bound;
}

TEST(OrderBound, IsNeverAboveTheLowestPeak) {
  Random random(31);
  for (int round = 0; round < 60; ++round) {
    for (const OrderProblem& problem : small_programs(random, 8, round % 2)) {
      const size_t bound = least_peak(OrderGraph(problem));
      EXPECT_LE(bound, lowest_peak(problem));
      EXPECT_GT(bound, 0u);
    }
  }
}

TEST(OrderBound, IsWhatIsAliveDuringSomeStepInEveryOrder) {
  Random random(32);
  for (int round = 0; round < 10; ++round) {
    for (OrderProblem& problem : small_programs(random, 7, round % 2)) {
      problem.reuses.clear();
      EXPECT_EQ(least_peak(OrderGraph(problem)), bound_of_all_orders(problem));
    }
  }
}

TEST(OrderBound, IsThePeakWhereThereIsOneOrder) {
  Random random(33);
  for (int round = 0; round < 20; ++round) {
    for (OrderProblem& problem : small_programs(random, 30, round % 2)) {
      problem.reuses.clear();
      for (int s = 0; s + 1 < problem.steps; ++s) problem.before.emplace_back(s, s + 1);
      EXPECT_EQ(least_peak(OrderGraph(problem)), given_peak(problem));
    }
  }
}

// Each layer's result is read by the next and, later, by the layer's derivative: at the turn all are alive.
TEST(OrderBound, OfANetworkAndItsDerivativeIsItsPeak) {
  constexpr int kLayers = 300, kBytes = 64;
  OrderProblem problem;
  problem.steps = 2 * kLayers;
  problem.scratch.assign(problem.steps, 0);
  for (int i = 0; i < kLayers; ++i) problem.values.push_back({kBytes, {i}, {i + 1, problem.steps - 1 - i}});
  for (int i = kLayers; i < problem.steps; ++i) {
    problem.values.push_back({kBytes, {i}, i + 1 < problem.steps ? std::vector<int>{i + 1} : std::vector<int>{}});
  }
  EXPECT_EQ(given_peak(problem), size_t{kBytes} * (kLayers + 1));
  EXPECT_EQ(least_peak(OrderGraph(problem)), given_peak(problem));
}

// A step that writes over its operand holds one of the two, but no second result is written over the same operand.
TEST(OrderBound, LeavesOutWhatMayBeWrittenOver) {
  OrderProblem problem{.steps = 2, .scratch = {0, 0}};
  problem.values = {{640, {0}, {1}}, {640, {1}, {}, true}};
  EXPECT_EQ(least_peak(OrderGraph(problem)), 1280u);
  problem.reuses = {{1, 0, 1}};
  EXPECT_EQ(least_peak(OrderGraph(problem)), 640u);
  EXPECT_EQ(given_peak(problem), 640u);
  problem.values.push_back({640, {1}, {}, true});
  problem.reuses.push_back({1, 0, 2});
  EXPECT_EQ(least_peak(OrderGraph(problem)), 1280u);
  EXPECT_EQ(given_peak(problem), 1280u);
}

// Few steps and many are bounded in different ways.
TEST(OrderBound, LeavesOutWhatIsReadBeforeItIsWritten) {
  for (const int steps : {4, 5000}) {
    OrderProblem problem;
    problem.steps = steps;
    problem.scratch.assign(steps, 0);
    problem.values = {{192, {0}, {1}}, {128, {steps - 1}, {0}}};
    EXPECT_EQ(least_peak(OrderGraph(problem)), size_t{192});
    EXPECT_EQ(given_peak(problem), size_t{192});
  }
}

TEST(OrderBound, OfManyStepsIsAtLeastWhatOneOfThemTouches) {
  Random random(34);
  for (const bool shared : {true, false}) {
    const OrderProblem problem = program_of(random, random_graph(random, 5000, 2, 8), shared);
    std::vector<size_t> touched = problem.scratch;
    size_t kept = 0;
    for (const OrderProblem::Value& value : problem.values) {
      for (const int s : value.writers) touched[s] += value.bytes;
      for (const int s : value.readers) touched[s] += value.bytes;
      kept += value.kept ? value.bytes : 0;
    }
    const size_t bound = least_peak(OrderGraph(problem));
    EXPECT_GE(bound, std::max(kept, std::ranges::max(touched)));
    EXPECT_LE(bound, given_peak(problem));
  }
}

}  // namespace
}  // namespace neap::planner
