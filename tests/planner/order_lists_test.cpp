// Orders from one walk: each is an order of every program, by the rule that its header states, in time about linear.
#include "planner/order/order_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "order_naive.h"

namespace neap::planner {
namespace {

using testing::ElementsAre;
using Set = NaiveOrder::Set;

TEST(OrderLists, AreOrdersOfEveryProgram) {
  Random random(61);
  for (const int steps : {8, 40, 200}) {
    for (int round = 0; round < 10; ++round) {
      for (const OrderProblem& problem : small_programs(random, steps, round % 2)) {
        const OrderGraph graph(problem);
        for (auto* const list : {&forward_list, &backward_list, &depth_first}) {
          EXPECT_TRUE(valid(problem, list(graph)));
        }
      }
    }
  }
}

// Of the steps that can run: what grows least within the peak so far, else what needs least.
TEST(OrderLists, ForwardGrowsLeastWithinThePeak) {
  Random random(62);
  for (int round = 0; round < 40; ++round) {
    for (OrderProblem& problem : small_programs(random, 14, round % 2)) {
      problem.reuses.clear();
      const NaiveOrder naive(problem);
      Set done = 0;
      size_t peak = naive.live(0);
      for (const int step : forward_list(OrderGraph(problem))) {
        size_t needed = std::numeric_limits<size_t>::max();
        int64_t growth = std::numeric_limits<int64_t>::max();
        for (int s = 0; s < problem.steps; ++s) {
          if (!naive.ready(done, s)) continue;
          needed = std::min(needed, naive.during(done, s));
          if (naive.during(done, s) <= peak) growth = std::min(growth, naive.growth(done, s));
        }
        if (needed <= peak) {
          EXPECT_LE(naive.during(done, step), peak);
          EXPECT_EQ(naive.growth(done, step), growth);
        } else {
          EXPECT_EQ(naive.during(done, step), needed);
        }
        peak = std::max(peak, naive.during(done, step));
        done |= Set{1} << step;
      }
    }
  }
}

// Of the steps that can be last: the one before which least is alive.
TEST(OrderLists, BackwardLeavesLeastAlive) {
  Random random(63);
  for (int round = 0; round < 40; ++round) {
    for (const OrderProblem& problem : small_programs(random, 14, round % 2)) {
      const NaiveOrder naive(problem);
      Set left = naive.all();
      std::vector<int> order = backward_list(OrderGraph(problem));
      std::ranges::reverse(order);
      for (const int step : order) {
        size_t least = std::numeric_limits<size_t>::max();
        for (int s = 0; s < problem.steps; ++s) {
          if (naive.can_be_last(left, s)) least = std::min(least, naive.live(left & ~(Set{1} << s)));
        }
        left &= ~(Set{1} << step);
        EXPECT_EQ(naive.live(left), least);
      }
    }
  }
}

// The steps whose values each step of a tree reads.
std::vector<std::vector<int>> operands_of(const OrderProblem& tree) {
  std::vector<std::vector<int>> operands(tree.steps);
  for (const OrderProblem::Value& value : tree.values) {
    for (const int reader : value.readers) operands[reader].push_back(value.writers[0]);
  }
  return operands;
}

TEST(OrderLists, DepthFirstFinishesEachPartOfAForestBeforeTheNext) {
  Random random(64);
  for (int round = 0; round < 40; ++round) {
    Edges edges = in_tree(random, 12);
    for (auto& list : edges) {
      if (below(random, 4) == 0) list.clear();
    }
    const OrderProblem problem = program_of(random, edges, true);
    const auto operands = operands_of(problem);
    std::vector<std::vector<int>> parts(problem.steps);  // of each step: it and all that comes before it
    const std::vector<int> order = depth_first(OrderGraph(problem));
    ASSERT_TRUE(valid(problem, order));
    for (auto at = order.begin(); at != order.end(); ++at) {
      std::vector<int>& part = parts[*at];
      part = {*at};
      for (const int p : operands[*at]) part.insert(part.end(), parts[p].begin(), parts[p].end());
      EXPECT_TRUE(std::is_permutation(part.begin(), part.end(), at + 1 - std::ssize(part), at + 1));
    }
  }
}

// The lowest peak of the tree below a step, of all orders that finish one operand before the next.
size_t lowest_by_parts(const OrderProblem& tree, const std::vector<std::vector<int>>& operands, int s) {
  std::vector<int> order = operands[s];
  std::ranges::sort(order);
  std::vector<size_t> peaks(tree.steps);
  for (const int p : order) peaks[p] = lowest_by_parts(tree, operands, p);
  size_t lowest = std::numeric_limits<size_t>::max();
  do {
    size_t peak = 0, held = 0;
    for (const int p : order) {
      peak = std::max(peak, held + peaks[p]);
      held += tree.values[p].bytes;
    }
    lowest = std::min(lowest, std::max(peak, held + tree.scratch[s] + tree.values[s].bytes));
  } while (std::ranges::next_permutation(order).found);
  return lowest;
}

// Widest first, a tree takes the fewest bytes that it can part by part.
TEST(OrderLists, DepthFirstBeginsWithWideOperands) {
  OrderProblem join{.steps = 3, .scratch = {0, 6400, 0}};
  join.values = {{640, {0}, {2}}, {64, {1}, {2}}, {64, {2}, {}, true}};
  EXPECT_THAT(depth_first(OrderGraph(join)), ElementsAre(1, 0, 2));
  Random random(65);
  for (int round = 0; round < 200; ++round) {
    const OrderProblem tree = program_of(random, in_tree(random, 2 + below(random, 7)), true);
    EXPECT_EQ(peak_of_order(tree, depth_first(OrderGraph(tree))),
              lowest_by_parts(tree, operands_of(tree), tree.steps - 1));
  }
}

TEST(OrderLists, DepthFirstBeginsAnewAtEachStepThatNothingFollows) {
  OrderProblem pairs{.steps = 6, .scratch = {0, 0, 0, 0, 0, 0}};
  for (int i = 0; i < 3; ++i) pairs.values.push_back({6400, {i}, {3 + i}});
  for (int i = 0; i < 3; ++i) pairs.values.push_back({64, {3 + i}, {}, true});
  EXPECT_THAT(depth_first(OrderGraph(pairs)), ElementsAre(0, 3, 1, 4, 2, 5));
}

// With one value that all steps read. In time quadratic in the steps this would take minutes.
TEST(OrderLists, TakeTimeAboutLinearInTheSteps) {
  constexpr int kSteps = 40'000;
  Random random(66);
  OrderProblem problem = program_of(random, random_graph(random, kSteps, 2, 8), true);
  problem.values.push_back({640, {0}, {}});
  for (int s = 1; s < kSteps; ++s) problem.values.back().readers.push_back(s);
  const OrderGraph graph(problem);
  for (auto* const list : {&forward_list, &backward_list, &depth_first}) EXPECT_TRUE(valid(problem, list(graph)));
}

}  // namespace
}  // namespace neap::planner
