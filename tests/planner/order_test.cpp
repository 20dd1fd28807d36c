// Orders respect dependences, never raise the peak, and are the best of all where all can be tried.
#include "planner/order/order.h"

#include <gtest/gtest.h>

#include <functional>

#include "order_naive.h"
#include "planner/order/order_graph.h"

namespace neap::planner {
namespace {

// The chosen order's peak, checked to be no higher than the given order's.
size_t chosen_peak(const OrderProblem& problem) {
  const std::vector<int> order = order_steps(problem);
  EXPECT_TRUE(valid(problem, order));
  const size_t peak = peak_of_order(problem, order);
  EXPECT_LE(peak, given_peak(problem));
  EXPECT_GE(peak, least_peak(OrderGraph(problem)));
  return peak;
}

TEST(Order, BestOfAllOnSmallPrograms) {
  Random random(7);
  const std::vector<std::function<Edges()>> graphs{
      [&] { return random_graph(random, 2 + below(random, 11), 2, 12); },
      [&] { return random_graph(random, 12, 2, 4); },
      [&] { return random_graph(random, 12, 1, 12); },
      [&] { return in_tree(random, 12); },
      [&] { return out_tree(random, 12); },
      [&] { return series_parallel(random, 12); },
      [&] { return layered(random, 3, 4); },
  };
  for (int round = 0; round < 80; ++round) {
    for (const auto& graph : graphs) {
      OrderProblem problem = program_of(random, graph(), round % 2 == 0);
      if (round % 4 > 1) complicate(random, problem);
      EXPECT_EQ(chosen_peak(problem), lowest_peak(problem));
    }
  }
}

// Each of several operands may be written over by each of several results; some values take no bytes.
TEST(Order, BestOfAllWhereStepsWriteOverOperands) {
  Random random(9);
  for (int round = 0; round < 300; ++round) {
    for (const Edges& edges :
         {random_graph(random, 11, 2, 4), random_graph(random, 10, 3, 12), series_parallel(random, 11)}) {
      OrderProblem problem = program_of(random, edges, false);
      for (auto& value : problem.values) value.bytes = below(random, 4) == 0 ? 0 : value.bytes;
      complicate(random, problem);
      EXPECT_EQ(chosen_peak(problem), lowest_peak(problem));
    }
  }
}

TEST(Order, FewerReusesAreNoEasierButLessScratchMayBe) {
  OrderProblem problem{.steps = 2, .scratch = {64, 0}};
  problem.values = {{64, {0}, {1}}, {64, {1}, {}}};
  const OrderProblem fewer = problem;
  problem.reuses = {{1, 0, 1}};
  EXPECT_TRUE(no_easier(problem, problem));
  EXPECT_TRUE(no_easier(fewer, problem));
  EXPECT_FALSE(no_easier(problem, fewer));
  OrderProblem less = problem;
  less.scratch[0] = 0;
  EXPECT_FALSE(no_easier(less, problem));
}

TEST(Order, BestOfAllOnSmallNetworksAndLoops) {
  for (const OrderProblem& problem : {noisy_loop(4), observed_loop(4), noisy_loop(5)}) {
    EXPECT_EQ(chosen_peak(problem), lowest_peak(problem));
  }
}

// The lowest peak of an in-tree by Liu's rule for each step: of the subtrees below it, cut into segments where hills
// and valleys are, those with the greatest fall from hill to valley go first. As in his paper, with lists and no
// merging.
class Liu {
 public:
  explicit Liu(const OrderProblem& problem) : problem_(problem), below_(problem.steps), value_(problem.steps) {
    for (size_t v = 0; v < problem.values.size(); ++v) {
      value_[problem.values[v].writers[0]] = static_cast<int>(v);
      for (const int reader : problem.values[v].readers) below_[reader].push_back(problem.values[v].writers[0]);
    }
  }

  size_t peak() const { return segments(problem_.steps - 1).front().first; }

 private:
  using Segments = std::vector<std::pair<size_t, size_t>>;  // hill and valley, in bytes since the subtree began

  Segments segments(int s) const {
    struct Piece {
      size_t hill, valley, before;  // before: the valley that precedes it
      size_t number;
    };
    std::vector<Piece> pieces;
    for (const int child : below_[s]) {
      size_t before = 0;
      for (const auto& [hill, valley] : segments(child)) {
        pieces.push_back({hill, valley, before, pieces.size()});
        before = valley;
      }
    }
    std::ranges::sort(pieces, [](const Piece& a, const Piece& b) {
      return std::pair(b.hill - b.valley, a.number) < std::pair(a.hill - a.valley, b.number);
    });
    std::vector<std::pair<size_t, size_t>> profile;
    size_t alive = 0;
    for (const Piece& piece : pieces) {
      profile.emplace_back(alive - piece.before + piece.hill, alive - piece.before + piece.valley);
      alive = profile.back().second;
    }
    const OrderProblem::Value& made = problem_.values[value_[s]];
    const bool stays = made.kept || !made.readers.empty();
    profile.emplace_back(alive + problem_.scratch[s] + made.bytes, stays ? made.bytes : 0);
    Segments result;  // the highest hill, the lowest valley after it, the highest hill after that, ...
    for (size_t at = 0; at < profile.size();) {
      size_t hill = at;
      for (size_t i = at; i < profile.size(); ++i) hill = profile[i].first >= profile[hill].first ? i : hill;
      size_t valley = hill;
      for (size_t i = hill; i < profile.size(); ++i) valley = profile[i].second <= profile[valley].second ? i : valley;
      result.emplace_back(profile[hill].first, profile[valley].second);
      at = valley + 1;
    }
    return result;
  }

  const OrderProblem& problem_;
  std::vector<std::vector<int>> below_;
  std::vector<int> value_;
};

TEST(Order, LargeTreesAsLiuOrdersThem) {
  Random random(11);
  for (const int steps : {9, 30, 100, 300, 1000}) {
    for (int round = 0; round < 5; ++round) {
      const OrderProblem problem = program_of(random, in_tree(random, steps), true);
      EXPECT_EQ(chosen_peak(problem), Liu(problem).peak()) << steps;
    }
  }
}

// Reversed, a program has the same peaks: its values live as long, and steps need as much. Values have one reader.
OrderProblem reversed(const OrderProblem& problem) {
  OrderProblem result = problem;
  const int last = problem.steps - 1;
  for (auto& value : result.values) {
    std::swap(value.given, value.kept);
    if (!value.given && !value.kept && value.readers.empty()) value.readers = value.writers;
    std::swap(value.writers, value.readers);
    if (value.given) value.readers.insert(value.readers.end(), value.writers.begin(), value.writers.end());
    if (value.given) value.writers.clear();
    for (auto* list : {&value.writers, &value.readers}) {
      for (int& s : *list) s = last - s;
    }
  }
  std::ranges::reverse(result.scratch);
  return result;
}

TEST(Order, LargeSeriesParallelGraphsTheSameBackward) {
  Random random(13);
  for (const int steps : {40, 200, 1000}) {
    for (int round = 0; round < 5; ++round) {
      const OrderProblem problem = program_of(random, series_parallel(random, steps), false);
      EXPECT_EQ(chosen_peak(problem), chosen_peak(reversed(problem)));
    }
  }
  for (int round = 0; round < 5; ++round) {
    const OrderProblem tree = program_of(random, out_tree(random, 300), false);
    EXPECT_EQ(chosen_peak(tree), chosen_peak(reversed(tree)));
  }
}

TEST(Order, NeverAboveTheGivenOrder) {
  Random random(3);
  for (const int steps : {20, 60, 100, 400, 1200}) {
    for (int round = 0; round < 3; ++round) {
      for (const bool shared : {true, false}) {
        OrderProblem problem = program_of(random, random_graph(random, steps, 2, steps), shared);
        chosen_peak(problem);
        problem = program_of(random, random_graph(random, steps, 2, 6), shared);
        complicate(random, problem);
        chosen_peak(problem);
        chosen_peak(program_of(random, layered(random, steps / 5, 5), shared));
      }
    }
  }
  for (const int depth : {2, 5, 20, 60}) chosen_peak(u_net(depth));
  chosen_peak(program_of(random, random_graph(random, 6000, 2, 8), true));
}

// Far from any order that could be tried: as low as what one step of the loop needs.
TEST(Order, UnrolledLoops) {
  for (const int count : {3, 30, 300}) {
    EXPECT_EQ(chosen_peak(noisy_loop(count)), 640u + 640u + 1280u);
    EXPECT_EQ(chosen_peak(observed_loop(count)), 6400u + 640u + 64u * static_cast<size_t>(count - 1));
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

TEST(Order, OneOrderForAProgram) {
  Random random(17);
  const OrderProblem problem = program_of(random, random_graph(random, 80, 2, 80), true);
  EXPECT_EQ(order_steps(problem), order_steps(problem));
}

}  // namespace
}  // namespace neap::planner
