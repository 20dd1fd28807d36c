// The graph of an ordering problem and the bytes alive along an order: what a naive count says, for every order.
#include "planner/order/order_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bitset>
#include <functional>

#include "order_naive.h"

namespace neap::planner {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kMany = 5000;  // more steps than all that follows from each is known of
using Pairs = std::vector<std::pair<int, int>>;

// Of each step: those that must come later, by these edges from lower to higher numbers.
std::vector<std::bitset<kMany>> reached(Pairs edges, int steps) {
  std::vector<std::bitset<kMany>> sets(steps);
  std::ranges::sort(edges, std::greater<>());
  for (const auto& [s, next] : edges) sets[s] |= sets[next], sets[s].set(next);
  return sets;
}

Pairs edges_of(const OrderGraph& graph) {
  Pairs edges;
  for (int s = 0; s < graph.steps; ++s) {
    for (const int next : graph.after[s]) edges.emplace_back(s, next);
  }
  return edges;
}

template <class T>
std::vector<T> items(std::span<const T> list) {
  return {list.begin(), list.end()};
}

// An order at random of those that are allowed.
std::vector<int> some_order(Random& random, const OrderProblem& problem) {
  const NaiveOrder naive(problem);
  std::vector<int> order, ready;
  for (NaiveOrder::Set done = 0; done != naive.all(); done |= NaiveOrder::Set{1} << order.back()) {
    ready.clear();
    for (int s = 0; s < problem.steps; ++s) {
      if (naive.ready(done, s)) ready.push_back(s);
    }
    order.push_back(ready[below(random, static_cast<int>(ready.size()))]);
  }
  return order;
}

TEST(Lists, KeepTheOrderOfTheirItems) {
  const Lists<int> lists(3, {{2, 5}, {0, 7}, {2, 1}});
  EXPECT_EQ(lists.size(), 3u);
  EXPECT_THAT(items(lists[0]), ElementsAre(7));
  EXPECT_THAT(items(lists[1]), IsEmpty());
  EXPECT_THAT(items(lists[2]), ElementsAre(5, 1));
  EXPECT_EQ(Lists<int>().size(), 0u);
}

TEST(OrderGraph, EdgesSayWhatTheProblemDoesAndNothingTwice) {
  Random random(21);
  for (int round = 0; round < 40; ++round) {
    for (const OrderProblem& problem : small_programs(random, 8, round % 2)) {
      const OrderGraph graph(problem);
      const Pairs edges = edges_of(graph);
      const auto later = reached(edges, problem.steps);
      EXPECT_TRUE(later == reached(precedences(problem), problem.steps));
      for (const auto& [s, next] : edges) {
        for (const int other : graph.after[s]) EXPECT_FALSE(later[other][next]) << s << " to " << next << " is implied";
      }
      Pairs back;
      for (int s = 0; s < graph.steps; ++s) {
        EXPECT_TRUE(std::ranges::is_sorted(graph.after[s]));
        EXPECT_TRUE(std::ranges::is_sorted(graph.earlier[s]));
        for (const int before : graph.earlier[s]) back.emplace_back(before, s);
      }
      std::ranges::sort(back);
      EXPECT_EQ(back, edges);
    }
  }
}

TEST(OrderGraph, ValuesBeginAndAreTouchedWhereTheProblemSays) {
  Random random(22);
  for (int round = 0; round < 20; ++round) {
    for (const OrderProblem& problem : small_programs(random, 8, round % 2)) {
      const NaiveOrder naive(problem);
      const OrderGraph graph(problem);
      std::vector<size_t> need = problem.scratch;
      std::vector<std::vector<int>> starts(problem.steps), touches(problem.steps);
      for (int v = 0; v < static_cast<int>(problem.values.size()); ++v) {
        const OrderProblem::Value& value = problem.values[v];
        std::vector<int> touching;
        for (int s = 0; s < problem.steps; ++s) {
          if (naive.touched(v) >> s & 1) touching.push_back(s), touches[s].push_back(v);
        }
        EXPECT_EQ(items(graph.touching[v]), touching);
        EXPECT_EQ(graph.counts(v), value.given || !value.writers.empty());
        EXPECT_EQ(graph.frees(v), graph.counts(v) && !value.kept);
        if (value.writers.empty()) continue;
        starts[value.writers[0]].push_back(v);
        need[value.writers[0]] += value.bytes;
      }
      for (int s = 0; s < problem.steps; ++s) {
        EXPECT_THAT(items(graph.starts[s]), testing::UnorderedElementsAreArray(starts[s]));
        EXPECT_THAT(items(graph.touches[s]), testing::UnorderedElementsAreArray(touches[s]));
        EXPECT_EQ(std::ranges::count(problem.reuses, s, &OrderProblem::Reuse::step), std::ssize(graph.reuses[s]));
      }
      EXPECT_EQ(graph.need, need);
    }
  }
}

TEST(OrderGraph, ArgumentsDoNotCount) {
  OrderProblem problem{.steps = 1, .scratch = {64}};
  problem.values = {{640, {}, {0}}};
  EXPECT_FALSE(OrderGraph(problem).counts(0));
  EXPECT_FALSE(OrderGraph(problem).frees(0));
  EXPECT_EQ(peak_of_order(problem, {0}), 64u);
}

// What is dropped follows from what is left: of few steps all that does, of many what shows along the latest steps.
TEST(OrderGraph, ImpliedEdgesGo) {
  Random random(23);
  for (const int steps : {2, 40, kMany}) {
    Pairs edges;
    for (int i = 0; i < 2 * steps; ++i) {
      const int a = below(random, steps - 1), b = a + 1 + below(random, std::min(20, steps - 1 - a));
      edges.insert(edges.end(), 1 + i % 2, {a, b});
    }
    Pairs left = edges;
    drop_implied(left, steps);
    EXPECT_TRUE(reached(left, steps) == reached(edges, steps)) << steps << " steps";
    EXPECT_TRUE(std::ranges::is_sorted(left));
    EXPECT_EQ(std::ranges::adjacent_find(left), left.end());

    Pairs chain, shortcuts;
    for (int s = 0; s + 1 < steps; ++s) {
      chain.emplace_back(s, s + 1);
      for (int next = s + 1; next < std::min(steps, s + 4); ++next) shortcuts.emplace_back(s, next);
    }
    drop_implied(shortcuts, steps);
    EXPECT_EQ(shortcuts, chain);
  }
}

TEST(OrderGraph, EachReuseIsTriedWhereThoseBeforeItTookNothing) {
  OrderProblem problem{.steps = 3, .scratch = {0, 0, 0}};
  problem.values = {{64, {0}, {2}}, {64, {1}, {2}}, {64, {2}, {}}, {64, {2}, {}}};
  problem.reuses = {{2, 0, 2}, {2, 0, 3}, {2, 1, 2}, {2, 1, 3}};
  const OrderGraph graph(problem);
  const auto saved = [&](const std::vector<int>& dying) {
    return reused_bytes(graph.reuses[2], problem, [&](int v) { return std::ranges::find(dying, v) != dying.end(); });
  };
  EXPECT_EQ(saved({}), 0u);
  EXPECT_EQ(saved({0}), 64u);
  EXPECT_EQ(saved({1}), 64u);
  EXPECT_EQ(saved({0, 1}), 128u);
}

// Every order of a program, one step after the other.
class EveryOrder {
 public:
  explicit EveryOrder(const OrderProblem& problem) : problem_(problem), naive_(problem), graph_(problem) {}

  void check() {
    const OrderSimulation simulation(graph_);
    check(simulation, 0, naive_.live(0));
  }

 private:
  using Set = NaiveOrder::Set;

  Set left(int v, Set done) const { return naive_.touched(v) & ~done; }

  void check(const OrderSimulation& simulation, Set done, size_t peak) {
    ASSERT_EQ(simulation.live, naive_.live(done));
    ASSERT_EQ(simulation.peak, peak);
    for (int v = 0; v < static_cast<int>(problem_.values.size()); ++v) {
      ASSERT_EQ(simulation.is_last(v), graph_.frees(v) && std::popcount(left(v, done)) == 1);
    }
    for (int s = 0; s < problem_.steps; ++s) {
      if (!naive_.ready(done, s)) continue;
      const Set next = done | Set{1} << s;
      ASSERT_EQ(simulation.live + simulation.need(s), naive_.during(done, s));
      ASSERT_EQ(simulation.growth(s), naive_.growth(done, s));
      std::vector<int> freeing, one_left;
      for (int v = 0; v < static_cast<int>(problem_.values.size()); ++v) {
        if ((naive_.touched(v) >> s & 1) && std::popcount(left(v, next)) == 1) one_left.push_back(v);
      }
      OrderSimulation then = simulation;
      then.run(s, &freeing);
      std::ranges::sort(freeing);
      ASSERT_EQ(freeing, one_left);
      check(then, next, std::max(peak, naive_.during(done, s)));
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  const OrderProblem& problem_;
  const NaiveOrder naive_;
  const OrderGraph graph_;
};

TEST(OrderSimulation, CountsWhatIsAliveAlongEveryOrder) {
  Random random(24);
  for (int round = 0; round < 8; ++round) {
    for (const OrderProblem& problem : small_programs(random, 6, round % 2)) {
      EveryOrder(problem).check();
      if (HasFatalFailure()) return;
    }
  }
}

TEST(OrderSimulation, ThePeakOfAnOrderIsItsWidestMoment) {
  Random random(25);
  for (int round = 0; round < 10; ++round) {
    for (const OrderProblem& problem : small_programs(random, 6, round % 2)) {
      const NaiveOrder naive(problem);
      const OrderGraph graph(problem);
      size_t lowest = std::numeric_limits<size_t>::max();
      naive.for_each_order([&](const std::vector<int>& order) {
        NaiveOrder::Set done = 0;
        size_t peak = naive.live(0);
        for (const int s : order) peak = std::max(peak, naive.during(done, s)), done |= NaiveOrder::Set{1} << s;
        ASSERT_EQ(peak_of(graph, order), peak);
        lowest = std::min(lowest, peak);
      });
      EXPECT_EQ(naive.lowest_peak(), lowest);
    }
  }
}

// A stretch's orders are those that the whole allows, and take as many bytes but for what is alive throughout.
TEST(Arrangement, APartIsTheProblemOfItsStepsAndIsPutBackInAnyOrder) {
  Random random(26);
  for (int round = 0; round < 4; ++round) {
    for (const OrderProblem& problem : small_programs(random, 7, round % 2)) {
      const NaiveOrder naive(problem);
      const OrderGraph graph(problem);
      const Arrangement arrangement(graph, some_order(random, problem));
      EXPECT_EQ(arrangement.peak(), peak_of_order(problem, arrangement.order()));
      const int begin = below(random, problem.steps - 1);
      const int end = std::min(problem.steps, begin + 2 + below(random, 3));
      const OrderProblem part = arrangement.part(begin, end);
      const OrderGraph inner(part);
      ASSERT_EQ(part.steps, end - begin);
      NaiveOrder::Set before = 0, then = 0;
      for (int i = 0; i < end; ++i) (i < begin ? before : then) |= NaiveOrder::Set{1} << arrangement.order()[i];
      size_t throughout = 0;
      for (size_t v = 0; v < problem.values.size(); ++v) {
        if (naive.alive(v, before) && naive.alive(v, before | then)) throughout += problem.values[v].bytes;
      }
      std::vector<int> stretch = given_order(part);
      do {
        std::vector<int> order = arrangement.order();
        for (int i = begin; i < end; ++i) order[i] = arrangement.order()[begin + stretch[i - begin]];
        ASSERT_EQ(valid(part, stretch), valid(problem, order));
        if (!valid(problem, order)) continue;
        const Arrangement alone(inner, stretch), whole(graph, order);
        Arrangement changed = arrangement;
        changed.reorder(inner, begin, stretch);
        ASSERT_EQ(changed.order(), order);
        for (int i = 0; i < problem.steps; ++i) ASSERT_EQ(changed.during(i), whole.during(i));
        for (int i = begin; i < end; ++i) ASSERT_EQ(whole.during(i), throughout + alone.during(i - begin));
        EXPECT_EQ(changed.peak(begin, end), throughout + alone.peak());
        const OrderProblem again = changed.part(1, problem.steps), anew = whole.part(1, problem.steps);
        EXPECT_TRUE(no_easier(again, anew) && no_easier(anew, again)) << "ranges of the values are out of date";
      } while (std::ranges::next_permutation(stretch).found);
    }
  }
}

TEST(Arrangement, SeparatorsHaveTheSameStepInEveryOrder) {
  Random random(27);
  for (int round = 0; round < 10; ++round) {
    for (const OrderProblem& problem : small_programs(random, 7, round % 2)) {
      std::vector<NaiveOrder::Set> seen(problem.steps, 0);
      NaiveOrder(problem).for_each_order([&](const std::vector<int>& order) {
        for (size_t i = 0; i < order.size(); ++i) seen[i] |= NaiveOrder::Set{1} << order[i];
      });
      std::vector<int> same;
      for (int i = 0; i < problem.steps; ++i) {
        if (std::popcount(seen[i]) == 1) same.push_back(i);
      }
      const OrderGraph graph(problem);
      EXPECT_EQ(Arrangement(graph, some_order(random, problem)).separators(), same);
    }
  }
}

// One value that all steps read, and two of the steps swapped. In time quadratic in the readers this would take
// minutes, more than CTest gives a test.
TEST(Arrangement, ReorderingTakesTimeLinearInTheReadersOfAValue) {
  constexpr int kSteps = 400'000;
  OrderProblem problem;
  problem.steps = kSteps;
  problem.scratch.resize(kSteps);
  for (int s = 0; s < kSteps; ++s) problem.scratch[s] = 64 * static_cast<size_t>(s % 7);
  problem.values.resize(1);
  problem.values[0].bytes = 640;
  problem.values[0].writers = {0};
  for (int s = 1; s < kSteps; ++s) problem.values[0].readers.push_back(s);
  const OrderGraph graph(problem);
  std::vector<int> given(kSteps);
  std::iota(given.begin(), given.end(), 0);
  Arrangement arrangement(graph, given);
  const OrderProblem inner = arrangement.part(1, kSteps);
  const OrderGraph part(inner);
  std::vector<int> order(given.begin(), given.end() - 1);
  std::swap(order[0], order.back());
  arrangement.reorder(part, 1, order);
  std::swap(given[1], given.back());
  EXPECT_EQ(arrangement.order(), given);
  const Arrangement anew(graph, given);
  for (int i = 0; i < kSteps; ++i) ASSERT_EQ(arrangement.during(i), anew.during(i)) << i;
}

}  // namespace
}  // namespace neap::planner
