// What does not change from iteration to iteration is computed before the loop.
#include "planner/rewrite/hoist.h"

#include <gtest/gtest.h>

#include <neap/neap.h>

#include <random>
#include <vector>

#include "planner/rewrite/simplify.h"
#include "planner/search/make_plan.h"
#include "programs.h"
#include "same_values.h"
#include "tests/count.h"

namespace neap::planner {
namespace {

using Arrays = tracing::Arrays;

// How often the op is in bodies of the simplified program, and outside; that its values stay the same.
struct Counts {
  int inside = 0, outside = 0;
  bool operator==(const Counts&) const = default;
};
template <class F>
Counts counts(Op op, const std::vector<Shape>& shapes, const F& f) {
  const Graph g = traced(shapes, f), made = simplify(g);
  verify(made);
  expect_same_values(g, made, [](std::mt19937& random) { return 0.5f + static_cast<float>(random() % 100) / 128; });
  EXPECT_EQ(simplify(made), made) << "once is enough";
  Counts result;
  const auto visit = [&](const auto& self, const Graph& graph, int& to) -> void {
    to += count(graph, op);
    for (const tracing::Node& node : graph.nodes) {
      for (const Attr body : {Attr::body, Attr::otherwise}) {
        if (node.attrs.has(body)) self(self, *node.attrs.graph(body), result.inside);
      }
    }
  };
  result.outside = count(made, op);
  for (const tracing::Node& node : made.nodes) {
    if (node.attrs.has(Attr::body)) visit(visit, *node.attrs.graph(Attr::body), result.inside);
  }
  return result;
}

Array repeat(int64_t n, const std::function<Array(const Array&)>& f, const Array& x) {
  return fori_loop(0, n, [&](const Array&, const Array& c) { return f(c); }, x);
}

TEST(Hoist, WhatIsDearAndTakesNoMoreBytes) {
  EXPECT_EQ(
      counts(Op::cos, {{100}, {100}},
             [](const Arrays& in) { return repeat(5, [&](const Array& c) { return c * (2 * cos(in[1])); }, in[0]); }),
      (Counts{0, 1}));
  EXPECT_EQ(counts(Op::dot_general, {{20}, {20, 30}},
                   [](const Arrays& in) {  // the product of the two, not with c
                     return repeat(
                         5,
                         [&](const Array& c) { return tanh(matmul(matmul(in[1], transpose(in[1], Shape{1, 0})), c)); },
                         in[0]);
                   })
                .outside,
            1);
  EXPECT_EQ(
      counts(Op::reduce_sum, {{10}, {30, 10}},
             [](const Arrays& in) { return repeat(5, [&](const Array& c) { return c + sum(in[1], {0}); }, in[0]); }),
      (Counts{0, 1}));
  EXPECT_EQ(counts(Op::cos, {{8, 8}, {8, 8}},
                   [](const Arrays& in) {  // of few bytes, though of fewer
                     return repeat(
                         5, [&](const Array& c) { return c * cos(expand_dims(in[1][0], 0) * arange(8.0f)); }, in[0]);
                   }),
            (Counts{0, 1}));
}

TEST(Hoist, FromLoopsInLoops) {
  EXPECT_EQ(counts(Op::cos, {{100}, {100}},
                   [](const Arrays& in) {
                     return repeat(
                         4,
                         [&](const Array& a) { return repeat(5, [&](const Array& c) { return c * cos(in[1]); }, a); },
                         in[0]);
                   }),
            (Counts{0, 1}));
  EXPECT_EQ(counts(Op::cos, {{100}},
                   [](const Arrays& in) {  // as far as it stays the same
                     return repeat(
                         4, [&](const Array& a) { return repeat(5, [&](const Array& c) { return c * cos(a); }, a); },
                         in[0]);
                   }),
            (Counts{1, 0}));
}

TEST(Hoist, OfCarriesThatNeverChange) {
  EXPECT_EQ(counts(Op::cos, {{100}, {100}},
                   [](const Arrays& in) {
                     using Two = std::pair<Array, Array>;
                     return fori_loop(
                                0, 5, [](const Array&, const Two& c) { return Two(c.first * cos(c.second), c.second); },
                                Two(in[0], in[1]))
                         .first;
                   }),
            (Counts{0, 1}));
}

TEST(Hoist, OthersStay) {
  EXPECT_EQ(counts(Op::cos, {{100}},
                   [](const Arrays& in) { return repeat(5, [&](const Array& c) { return cos(c); }, in[0]); }),
            (Counts{1, 0}));
  EXPECT_EQ(counts(Op::add, {{100}, {100}},
                   [](const Arrays& in) {  // cheaper than to hold it
                     return repeat(5, [&](const Array& c) { return c * (in[1] + 1); }, in[0]);
                   }),
            (Counts{1, 0}));
  EXPECT_EQ(counts(Op::exp, {{200}, {200}},
                   [](const Arrays& in) {  // of far more bytes than what it is computed of
                     return repeat(
                         5,
                         [&](const Array& c) {
                           return sum(exp(expand_dims(in[1], 0) * expand_dims(in[1], 1)) * c, {1}) / 1000;
                         },
                         in[0]);
                   })
                .inside,
            1);
  EXPECT_EQ(counts(Op::cos, {{100}, {100}, {}},
                   [](const Arrays& in) {  // of a branch that may not be taken
                     return cond(
                         in[2] > 100, [&](const Array& x) { return x * cos(in[1]); }, [](const Array& x) { return x; },
                         in[0]);
                   }),
            (Counts{1, 0}));
}

TEST(Hoist, NotWhatIsStoredOfLoopsThatMayNotRun) {
  const auto stored = [](int64_t steps) {
    return counts(Op::dot_general, {{20}, {20, 20}}, [&](const Arrays& in) {
      const auto step = [&](const Array& c) { return c + sum(matmul(in[1], in[1]), {0}); };
      if (steps >= 0) return repeat(steps, step, in[0]);
      return while_loop([](const Array& c) { return sum(c) < 1e6f; }, step, in[0]);
    });
  };
  EXPECT_EQ(stored(5).outside, 1);
  EXPECT_EQ(stored(0).outside, 0);
  EXPECT_EQ(stored(-1).outside, 0);
}

// What takes more than a page is held only where that is worth its bytes.
TEST(Hoist, LargeValuesAreACandidate) {
  const auto turned = [](const Arrays& in) {
    return repeat(20, [&](const Array& c) { return c * cos(in[1]) + flip(c) * sin(in[1]); }, in[0]);
  };
  constexpr int64_t kElements = 1 << 18;
  EXPECT_EQ(counts(Op::cos, {{kElements}, {kElements}}, turned), (Counts{1, 0}));
  const Graph g = traced({{kElements}, {kElements}}, turned);
  const std::optional<Graph> made = hoist_from_loops(simplify(g));
  ASSERT_TRUE(made);
  verify(*made);
  EXPECT_EQ(count(*made, Op::cos), 1);
  expect_same_values(g, *made, [](std::mt19937& random) { return static_cast<float>(random() % 100) / 128; });
  EXPECT_FALSE(hoist_from_loops(simplify(*made)));
  // A budget that has no room for them is met without.
  const size_t array = 4 * kElements;
  PlanOptions options;
  options.memory_budget = 4 * array + 4096;
  EXPECT_LE(make_plan(g, options).peak_bytes, 4 * array + 4096);
}

TEST(Hoist, TheGradientOfALoopToo) {
  const Graph g = traced({{64}, {64}}, [](const Arrays& in) {
    return grad([&](const Array& x) { return sum(repeat(6, [&](const Array& c) { return sin(c) * exp(in[1]); }, x)); })(
        in[0]);
  });
  const Graph made = simplify(g);
  for (const tracing::Node& node : made.nodes) {
    if (node.attrs.has(Attr::body)) EXPECT_EQ(count(*node.attrs.graph(Attr::body), Op::exp), 0) << print(made);
  }
}

}  // namespace
}  // namespace neap::planner
