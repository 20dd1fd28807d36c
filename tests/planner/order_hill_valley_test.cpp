// Orders by hills and valleys: proven, and the best of all, for trees and series-parallel graphs of values with one
// reader, and for nothing else.
#include "planner/order/order_hill_valley.h"

#include <gtest/gtest.h>

#include "order_naive.h"

namespace neap::planner {
namespace {

constexpr int64_t kPlenty = 1'000'000;

// Whether no four steps are ordered as the letter N: a before c, b before c and d, and nothing else.
bool is_series_parallel(const OrderProblem& problem) {
  const int n = problem.steps;
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n, false));
  for (const auto& [a, b] : precedences(problem)) before[a][b] = true;
  for (int middle = 0; middle < n; ++middle) {
    for (int a = 0; a < n; ++a) {
      for (int b = 0; b < n; ++b) before[a][b] = before[a][b] || (before[a][middle] && before[middle][b]);
    }
  }
  const auto apart = [&](int a, int b) { return a != b && !before[a][b] && !before[b][a]; };
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < n; ++b) {
      for (int c = 0; apart(a, b) && c < n; ++c) {
        for (int d = 0; before[a][c] && before[b][c] && d < n; ++d) {
          if (before[b][d] && apart(a, d) && apart(c, d)) return false;
        }
      }
    }
  }
  return true;
}

// Whether each value that is freed has one reader at most, a further writer counted as one.
bool one_reader_each(const OrderProblem& problem) {
  const NaiveOrder naive(problem);
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const OrderProblem::Value& value = problem.values[v];
    if (!value.kept && std::popcount(naive.touched(v)) > (value.given ? 1 : 2)) return false;
  }
  return true;
}

TEST(OrderHillValley, IsBestOnTreesAndSeriesParallelGraphs) {
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    const int steps = 2 + below(random, 7);
    for (OrderProblem problem :
         {program_of(random, in_tree(random, steps), true), program_of(random, out_tree(random, steps), false),
          program_of(random, series_parallel(random, steps), false)}) {
      if (round % 2) complicate(random, problem);
      for (auto& value : problem.values) {
        if (value.given) value.readers.resize(1);
      }
      for (const bool last_stays : {false, true}) {
        int64_t work = 0;  // nothing is searched
        const HillValleyOrder found = hill_valley_order(OrderGraph(problem), last_stays, work);
        EXPECT_TRUE(found.proven);
        ASSERT_TRUE(valid(problem, found.order));
        EXPECT_EQ(peak_of_order(problem, found.order), lowest_peak(problem));
      }
    }
  }
}

TEST(OrderHillValley, IsProvenWhereTheGraphIsSeriesParallelAndValuesHaveOneReader) {
  Random random(71);
  for (int round = 0; round < 40; ++round) {
    for (const OrderProblem& problem : small_programs(random, 8, round % 2)) {
      for (const bool last_stays : {false, true}) {
        int64_t work = kPlenty;
        const HillValleyOrder found = hill_valley_order(OrderGraph(problem), last_stays, work);
        ASSERT_TRUE(valid(problem, found.order));
        EXPECT_EQ(found.proven, is_series_parallel(problem) && one_reader_each(problem));
        if (found.proven) EXPECT_EQ(peak_of_order(problem, found.order), lowest_peak(problem));
      }
    }
  }
}

// The smallest graph that is not series-parallel.
TEST(OrderHillValley, ClaimsNothingOfTheLetterN) {
  OrderProblem problem{.steps = 4, .scratch = {0, 0, 0, 0}};
  problem.values = {{64, {0}, {2}}, {128, {1}, {2}}, {640, {1}, {3}}, {64, {2}, {}, true}, {64, {3}, {}, true}};
  ASSERT_FALSE(is_series_parallel(problem));
  int64_t work = kPlenty;
  const HillValleyOrder searched = hill_valley_order(OrderGraph(problem), false, work);
  EXPECT_FALSE(searched.proven);
  EXPECT_LT(work, kPlenty);
  ASSERT_TRUE(valid(problem, searched.order));
  EXPECT_EQ(peak_of_order(problem, searched.order), lowest_peak(problem));

  work = 0;  // too little to search: an edge is put in series
  const HillValleyOrder forced = hill_valley_order(OrderGraph(problem), false, work);
  EXPECT_FALSE(forced.proven);
  EXPECT_TRUE(valid(problem, forced.order));
}

// What is left of a graph that reduces no further is searched: best of all too, if the last reader is the only one.
TEST(OrderHillValley, SearchesWhatIsLeftOfOtherGraphs) {
  Random random(72);
  for (int round = 0; round < 60; ++round) {
    for (const OrderProblem& problem : small_programs(random, 8, false)) {
      if (!one_reader_each(problem)) continue;
      int64_t work = kPlenty;
      const HillValleyOrder found = hill_valley_order(OrderGraph(problem), false, work);
      ASSERT_TRUE(valid(problem, found.order));
      EXPECT_EQ(peak_of_order(problem, found.order), lowest_peak(problem));
    }
  }
}

TEST(OrderHillValley, IsNeverAboveTheGivenOrderWhereTheLastReaderStaysTheLast) {
  Random random(73);
  for (int round = 0; round < 60; ++round) {
    for (const OrderProblem& problem : small_programs(random, 8, round % 2)) {
      int64_t work = kPlenty;
      const HillValleyOrder found = hill_valley_order(OrderGraph(problem), true, work);
      ASSERT_TRUE(valid(problem, found.order));
      EXPECT_LE(peak_of_order(problem, found.order), given_peak(problem));
      for (const OrderProblem::Value& value : problem.values) {
        if (value.kept || value.readers.size() < 2) continue;
        const auto at = [&](int s) { return std::ranges::find(found.order, s); };
        const int last = std::ranges::max(value.readers);
        for (const int reader : value.readers) EXPECT_LE(at(reader), at(last));
      }
    }
  }
}

// With no work edges are put in series: an order still, or none.
TEST(OrderHillValley, WithoutWorkIsAnOrderOrNone) {
  Random random(74);
  for (const int steps : {8, 100}) {
    for (int round = 0; round < 10; ++round) {
      for (const OrderProblem& problem : small_programs(random, steps, round % 2)) {
        for (const bool last_stays : {false, true}) {
          int64_t work = 0;
          const HillValleyOrder found = hill_valley_order(OrderGraph(problem), last_stays, work);
          EXPECT_EQ(work, 0);
          if (found.order.empty()) EXPECT_FALSE(found.proven);
          if (!found.order.empty()) EXPECT_TRUE(valid(problem, found.order));
        }
      }
    }
  }
}

}  // namespace
}  // namespace neap::planner
