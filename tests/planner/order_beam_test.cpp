// The beam search: orders within their limit from both ends, every one that there is if the beam keeps every set of
// steps, and none once its work is spent.
#include "planner/order/order_beam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "order_naive.h"

namespace neap::planner {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
constexpr int64_t kPlenty = 1'000'000;

TEST(OrderBeam, FindsWhatIsWithinTheLimitIfEverySetIsKept) {
  constexpr size_t kEverySet = 256;
  Random random(51);
  for (int round = 0; round < 20; ++round) {
    for (const OrderProblem& problem : small_programs(random, 8, round % 2)) {
      const OrderGraph graph(problem);
      const size_t lowest = lowest_peak(problem);
      for (const bool backward : {false, true}) {
        int64_t work = kPlenty;
        const std::vector<int> order = beam_order(graph, kEverySet, lowest, backward, work);
        ASSERT_TRUE(valid(problem, order)) << backward;
        EXPECT_EQ(peak_of(graph, order), lowest);
        EXPECT_THAT(beam_order(graph, kEverySet, lowest - 1, backward, work), IsEmpty());
        EXPECT_GT(work, 0);
      }
    }
  }
}

TEST(OrderBeam, StaysWithinTheLimitAtAnyWidth) {
  Random random(52);
  for (const int steps : {8, 30, 60}) {
    for (int round = 0; round < 2; ++round) {
      for (const OrderProblem& problem : small_programs(random, steps, round % 2)) {
        const OrderGraph graph(problem);
        const size_t least = least_peak(graph), given = given_peak(problem);
        for (const size_t width : {1, 4}) {
          for (const bool backward : {false, true}) {
            for (const size_t limit : {least, least + (given - least) / 2, given}) {
              int64_t work = kPlenty;
              const std::vector<int> order = beam_order(graph, width, limit, backward, work);
              if (order.empty()) continue;
              ASSERT_TRUE(valid(problem, order));
              EXPECT_LE(peak_of(graph, order), limit);
            }
            int64_t work = kPlenty;
            EXPECT_TRUE(valid(problem, beam_order(graph, width, kNoLimit, backward, work))) << "nothing is in its way";
          }
        }
      }
    }
  }
}

// Two begin: the one that makes fewer bytes is kept first, but waits while the other's large step runs. Of two sets
// that are kept the other goes on. From the end one is enough.
TEST(OrderBeam, WiderBeamsKeepMoreThanTheFewestBytes) {
  OrderProblem problem{.steps = 4, .scratch = {0, 0, 1024, 0}};
  problem.values = {{64, {0}, {3}}, {128, {1}, {2}}, {64, {2}, {3}}, {64, {3}, {}, true}};
  const OrderGraph graph(problem);
  constexpr size_t kLimit = 128 + 64 + 1024;
  int64_t work = kPlenty;
  EXPECT_THAT(beam_order(graph, 1, kLimit, false, work), IsEmpty());
  EXPECT_THAT(beam_order(graph, 2, kLimit, false, work), ElementsAre(1, 2, 0, 3));
  EXPECT_THAT(beam_order(graph, 1, kLimit, true, work), ElementsAre(1, 2, 0, 3));
}

TEST(OrderBeam, EndsWithItsWork) {
  Random random(53);
  for (const OrderProblem& problem : small_programs(random, 8, true)) {
    const OrderGraph graph(problem);
    for (const int width : {1, 3}) {
      for (const bool backward : {false, true}) {
        int64_t left = kPlenty;
        const auto search = [&](int64_t& work) { return beam_order(graph, width, kNoLimit, backward, work); };
        const std::vector<int> whole = search(left);
        const int64_t used = kPlenty - left;
        ASSERT_TRUE(valid(problem, whole));
        for (int64_t given = 0; given <= used; ++given) {
          int64_t work = given;
          const std::vector<int> order = search(work);
          EXPECT_TRUE(order.empty() || order == whole);
          EXPECT_GE(work, -int64_t{width} * (4 + problem.steps)) << "the sets of one step are weighed together";
          if (given == 0) EXPECT_TRUE(order.empty() && work == 0);
          if (given == 1) EXPECT_THAT(order, IsEmpty());
          if (given == used) EXPECT_EQ(order, whole);
        }
      }
    }
  }
}

TEST(OrderBeam, AChainTakesAboutItsLeastWork) {
  for (const int steps : {10, 100, 1000}) {
    OrderProblem problem;
    problem.steps = steps;
    problem.scratch.assign(steps, 0);
    for (int s = 0; s + 1 < steps; ++s) problem.values.push_back({64, {s}, {s + 1}});
    for (const bool backward : {false, true}) {
      int64_t work = kPlenty;
      EXPECT_EQ(beam_order(OrderGraph(problem), 1, 128, backward, work), given_order(problem));
      EXPECT_LE(kPlenty - work, beam_work(steps));
      EXPECT_GE(2 * (kPlenty - work), beam_work(steps));
    }
  }
}

}  // namespace
}  // namespace neap::planner
