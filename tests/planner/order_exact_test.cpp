// The exact search: the lowest peak of all orders, none below a limit that none meets, and no word past its work.
#include "planner/order/order_exact.h"

#include <gtest/gtest.h>

#include "order_naive.h"

namespace neap::planner {
namespace {

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
constexpr int64_t kPlenty = 1'000'000;

TEST(OrderExact, IsTheLowestPeakOfAllOrders) {
  Random random(41);
  for (int round = 0; round < 30; ++round) {
    for (const OrderProblem& problem : small_programs(random, 8, round % 2)) {
      const OrderGraph graph(problem);
      int64_t work = kPlenty;
      const ExactOrder found = exact_order(graph, kNoLimit, 0, work);
      EXPECT_TRUE(found.proven);
      ASSERT_TRUE(valid(problem, found.order));
      EXPECT_EQ(peak_of(graph, found.order), lowest_peak(problem));
      EXPECT_LT(work, kPlenty);
    }
  }
}

TEST(OrderExact, FindsAnOrderBelowALimitWhereThereIsOne) {
  Random random(42);
  for (int round = 0; round < 20; ++round) {
    for (const OrderProblem& problem : small_programs(random, 8, round % 2)) {
      const OrderGraph graph(problem);
      const size_t lowest = lowest_peak(problem);
      int64_t work = kPlenty;
      const ExactOrder found = exact_order(graph, lowest + 1, 0, work);
      EXPECT_TRUE(found.proven);
      ASSERT_TRUE(valid(problem, found.order));
      EXPECT_EQ(peak_of(graph, found.order), lowest);
      const ExactOrder none = exact_order(graph, lowest, 0, work);
      EXPECT_TRUE(none.proven);
      EXPECT_TRUE(none.order.empty());
    }
  }
}

TEST(OrderExact, LowersNothingThatIsEnough) {
  Random random(43);
  for (int round = 0; round < 20; ++round) {
    for (const OrderProblem& problem : small_programs(random, 8, round % 2)) {
      const OrderGraph graph(problem);
      const size_t lowest = lowest_peak(problem);
      for (const size_t enough : {lowest - 1, lowest, (lowest + given_peak(problem)) / 2, given_peak(problem)}) {
        int64_t work = kPlenty;
        const ExactOrder found = exact_order(graph, kNoLimit, enough, work);
        EXPECT_TRUE(found.proven);
        ASSERT_TRUE(valid(problem, found.order));
        EXPECT_LE(peak_of(graph, found.order), std::max(lowest, enough));
      }
    }
  }
}

TEST(OrderExact, NothingIsBelowWhatIsThereFromTheBeginning) {
  OrderProblem problem{.steps = 2, .scratch = {0, 0}};
  problem.values = {{640, {}, {0}, false, true}, {64, {1}, {}, true}};
  const OrderGraph graph(problem);
  int64_t work = kPlenty;
  const ExactOrder none = exact_order(graph, 640, 0, work);
  EXPECT_TRUE(none.proven);
  EXPECT_TRUE(none.order.empty());
  EXPECT_EQ(work, kPlenty);
  EXPECT_EQ(exact_order(graph, 641, 0, work).order, (std::vector<int>{0, 1}));
}

// With less work than it takes, nothing is found and nothing is claimed.
TEST(OrderExact, EndsWithItsWork) {
  Random random(44);
  for (int round = 0; round < 6; ++round) {
    for (const OrderProblem& problem : small_programs(random, 8, round % 2)) {
      const OrderGraph graph(problem);
      int64_t left = kPlenty;
      const ExactOrder whole = exact_order(graph, kNoLimit, 0, left);
      const int64_t used = kPlenty - left;
      for (const int64_t given : {int64_t{0}, int64_t{1}, used / 4, used / 2, used, used + 1}) {
        int64_t work = given;
        const ExactOrder found = exact_order(graph, kNoLimit, 0, work);
        EXPECT_EQ(found.proven, !found.order.empty());
        EXPECT_TRUE(found.order.empty() || found.order == whole.order);
        EXPECT_GT(work, -2 - problem.steps) << "the steps after one set are weighed together";
        if (given == 0) EXPECT_TRUE(found.order.empty() && work == 0);
        if (given > used) EXPECT_EQ(found.order, whole.order);
      }
    }
  }
}

// Pairs of a large temporary and a small result that stays, all temporaries first in program order.
TEST(OrderExact, TakesAsManyStepsAsASetHolds) {
  constexpr int kPairs = kExactSteps / 2;
  constexpr size_t kBest = 6400 + size_t{64} * kPairs;
  OrderProblem problem;
  problem.steps = kExactSteps;
  problem.scratch.assign(kExactSteps, 0);
  for (int i = 0; i < kPairs; ++i) problem.values.push_back({6400, {i}, {kPairs + i}});
  for (int i = 0; i < kPairs; ++i) problem.values.push_back({64, {kPairs + i}, {}, true});
  const OrderGraph graph(problem);
  int64_t work = 1000;  // one set after the other, each with at most as many steps to weigh as there are pairs
  const ExactOrder enough = exact_order(graph, given_peak(problem), kBest, work);
  EXPECT_TRUE(enough.proven);
  ASSERT_TRUE(valid(problem, enough.order));
  EXPECT_EQ(peak_of(graph, enough.order), kBest);
  EXPECT_GT(work, 0);

  work = 10'000;  // whatever is lower than the best is looked at first: too many sets
  const ExactOrder none = exact_order(graph, given_peak(problem), 0, work);
  EXPECT_FALSE(none.proven);
  EXPECT_TRUE(none.order.empty());
  EXPECT_LE(work, 0);
  EXPECT_GT(work, -2 - kExactSteps);
}

}  // namespace
}  // namespace neap::planner
