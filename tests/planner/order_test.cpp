// Orders respect dependences, never raise the peak, and are the best of all where all can be tried.
#include "planner/order/order.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>

#include "order_programs.h"
#include "planner/order/order_graph.h"
#include "planner/order/order_hill_valley.h"

namespace neap::planner {
namespace {

std::vector<int> given_order(const OrderProblem& problem) {
  std::vector<int> order(problem.steps);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

size_t given_peak(const OrderProblem& problem) { return peak_of_order(problem, given_order(problem)); }

// All pairs of steps whose order matters, straight from what the problem says.
std::vector<std::pair<int, int>> precedences(const OrderProblem& problem) {
  std::vector<std::pair<int, int>> pairs = problem.before;
  for (const auto& value : problem.values) {
    for (size_t w = 0; w < value.writers.size(); ++w) {
      const int writer = value.writers[w];
      for (const int other : value.writers) {
        if (writer < other) pairs.emplace_back(writer, other);
      }
      for (const int reader : value.readers) {
        if (writer < reader) pairs.emplace_back(writer, reader);
        if (reader < writer) pairs.emplace_back(reader, writer);
      }
    }
  }
  return pairs;
}

bool valid(const OrderProblem& problem, const std::vector<int>& order) {
  std::vector<int> at(problem.steps, -1);
  for (size_t i = 0; i < order.size(); ++i) at[order[i]] = static_cast<int>(i);
  return std::ranges::find(at, -1) == at.end() && order.size() == at.size() &&
         std::ranges::all_of(precedences(problem), [&](const auto& pair) { return at[pair.first] < at[pair.second]; });
}

// The lowest peak of all orders: over all sets of steps that can be done, whatever the order in which they were.
size_t lowest_peak(const OrderProblem& problem) {
  constexpr size_t kNever = std::numeric_limits<size_t>::max();
  const size_t sets = size_t{1} << problem.steps;
  std::vector<uint32_t> earlier(problem.steps, 0), touched(problem.values.size(), 0);
  for (const auto& [a, b] : precedences(problem)) earlier[b] |= 1u << a;
  for (size_t v = 0; v < problem.values.size(); ++v) {
    for (const int s : problem.values[v].writers) touched[v] |= 1u << s;
    for (const int s : problem.values[v].readers) touched[v] |= 1u << s;
  }
  const auto alive = [&](size_t v, size_t done) {
    const auto& value = problem.values[v];
    const bool born = value.given || (!value.writers.empty() && (done >> value.writers[0] & 1));
    return born && (value.kept || (touched[v] & ~done) != 0);
  };
  const auto during = [&](size_t done, int s) {
    size_t bytes = problem.scratch[s];
    for (size_t v = 0; v < problem.values.size(); ++v) {
      const auto& value = problem.values[v];
      if (alive(v, done) || (!value.writers.empty() && value.writers[0] == s)) bytes += value.bytes;
    }
    std::vector<int> taken;
    for (const auto& reuse : problem.reuses) {
      if (reuse.step != s || alive(reuse.from, done | size_t{1} << s)) continue;
      if (std::ranges::find(taken, reuse.from) != taken.end() || std::ranges::find(taken, reuse.into) != taken.end())
        continue;
      taken.insert(taken.end(), {reuse.from, reuse.into});
      bytes -= problem.values[reuse.into].bytes;
    }
    return bytes;
  };
  std::vector<size_t> peak(sets, kNever);
  peak[0] = 0;
  for (size_t done = 0; done + 1 < sets; ++done) {
    if (peak[done] == kNever) continue;
    for (int s = 0; s < problem.steps; ++s) {
      if ((done >> s & 1) || (earlier[s] & ~done) != 0) continue;
      size_t& next = peak[done | size_t{1} << s];
      next = std::min(next, std::max(peak[done], during(done, s)));
    }
  }
  return peak.back();
}

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

// Each layer's result is read by the next and, later, by the layer's derivative: at the turn all are alive, in any
// order.
TEST(Order, TheBoundOfANetworkAndItsDerivativeIsItsPeak) {
  constexpr int kLayers = 300, kBytes = 64;
  OrderProblem problem;
  problem.steps = 2 * kLayers;
  problem.scratch.assign(problem.steps, 0);
  for (int i = 0; i < kLayers; ++i) problem.values.push_back({kBytes, {i}, {i + 1, problem.steps - 1 - i}});
  for (int i = kLayers; i < problem.steps; ++i) {
    problem.values.push_back({kBytes, {i}, i + 1 < problem.steps ? std::vector<int>{i + 1} : std::vector<int>{}});
  }
  EXPECT_EQ(least_peak(OrderGraph(problem)), chosen_peak(problem));
  EXPECT_EQ(chosen_peak(problem), size_t{kBytes} * (kLayers + 1));
}

// Few steps and many are bounded in different ways.
TEST(Order, TheBoundLeavesOutWhatIsReadBeforeItIsWritten) {
  for (const int steps : {4, 5000}) {
    OrderProblem problem;
    problem.steps = steps;
    problem.scratch.assign(steps, 0);
    problem.values = {{192, {0}, {1}}, {128, {steps - 1}, {0}}};
    EXPECT_EQ(least_peak(OrderGraph(problem)), size_t{192});
    EXPECT_EQ(given_peak(problem), size_t{192});
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

// Hill-valley segments alone, without search.
TEST(Order, StringsAreBestOnTreesAndSeriesParallelGraphs) {
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    const int steps = 2 + below(random, 11);
    for (const OrderProblem& problem :
         {program_of(random, in_tree(random, steps), true), program_of(random, out_tree(random, steps), false),
          program_of(random, series_parallel(random, steps), false)}) {
      int64_t work = 0;
      const HillValleyOrder found = hill_valley_order(OrderGraph(problem), false, work);
      EXPECT_TRUE(found.proven);
      EXPECT_TRUE(valid(problem, found.order));
      EXPECT_EQ(peak_of_order(problem, found.order), lowest_peak(problem));
    }
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
