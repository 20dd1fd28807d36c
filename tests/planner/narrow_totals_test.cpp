// Totals of loops that are read through linear functions: fewer elements are added up, the values stay.
#include "planner/rewrite/narrow_totals.h"

#include <gtest/gtest.h>

#include <neap/neap.h>

#include <functional>
#include <random>
#include <tuple>
#include <vector>

#include "planner/rewrite/simplify.h"
#include "planner/search/budget.h"
#include "planner/search/make_plan.h"
#include "same_values.h"
#include "trace/graph/loop.h"
#include "trace/tracing/tracing.h"

namespace neap::planner {
namespace {

using namespace tracing;

constexpr int64_t kRows = 520, kColumns = 512;

using Function = std::function<std::vector<Array>(const Array& total, const Array& x, const Array& y)>;

// Three steps that each add weighted products of all pairs to a total, of which `read` makes the results.
Graph program(const Function& read, DType dtype = f32) {
  const std::vector<Aval> avals{{{kRows}, dtype}, {{kColumns}, dtype}, {{3}, dtype}};
  return simplify(trace_closed(avals, [&](const Arrays& in) {
    const Array &x = in[0], &y = in[1];
    const auto step = [&](const std::pair<Array, Array>& carry, const Array& w) {
      const Array pairs = expand_dims(x, 1) * expand_dims(y, 0) + w;
      return std::pair(std::pair(carry.first + pairs + w * expand_dims(x, 1), carry.second + w), w);
    };
    const Array start = zeros({kRows, kColumns}, dtype);
    const auto total = scan(step, std::pair(start, zeros({}, dtype)), in[2]).first;
    return Arrays(read(total.first, x + total.second * 0, y));
  }));
}

const Node* find_scan(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op == Op::scan) return &node;
  }
  return nullptr;
}

// Elements of all that the loop carries.
int64_t carried(const Graph& graph) {
  const Node* node = find_scan(graph);
  const LoopLayout loop(node->attrs);
  int64_t elements = 0;
  for (size_t i = 0; i < loop.carries; ++i) elements += graph.aval(node->outputs[i]).size();
  return elements;
}

// Small integers: no sum of theirs is rounded, in whatever order.
float small_integer(std::mt19937& random) { return static_cast<float>(random() % 7) - 3; }

void expect_narrowed(const Function& read, int64_t most) {
  const Graph graph = program(read);
  const std::optional<Graph> narrowed = narrow_totals(graph, 1 << 20);
  ASSERT_TRUE(narrowed);
  verify(*narrowed);
  EXPECT_LE(carried(*narrowed), most);
  expect_same_values(graph, *narrowed, small_integer);
  const Graph simple = simplify(*narrowed);
  verify(simple);
  expect_same_values(graph, simple, small_integer);
}

TEST(NarrowTotals, SumsOfRows) {
  expect_narrowed([](const Array& t, const Array&, const Array&) { return std::vector{sum(t, {1})}; }, kRows + 1);
}

TEST(NarrowTotals, SeveralResults) {
  expect_narrowed(
      [](const Array& t, const Array&, const Array& y) {
        return std::vector{sum(t, {1}), sum(t * expand_dims(y, 0), {1}), sum(-transpose(t), {1}), sum(t)};
      },
      2 * kRows + kColumns + 2);
}

TEST(NarrowTotals, OfWhatIsComputedOfLess) {
  expect_narrowed(
      [](const Array& t, const Array&, const Array& y) {
        const Array differences = reshape(y, {1, kColumns, 1}) - reshape(arange(2), {1, 1, 2});
        return std::vector{sum(expand_dims(t, 2) * differences, {1})};
      },
      2 * kRows + 1);
}

TEST(NarrowTotals, SlicesAndDifferences) {
  expect_narrowed(
      [](const Array& t, const Array&, const Array&) {
        return std::vector{sum(t - t * 3.0f, {0}), t[{neap::slice(), 2}], sum(reshape(t, {kRows * kColumns / 4, 4}))};
      },
      kColumns + kRows + 2);
}

// Two totals, each of which a step adds to from the left, of a loop that runs backwards and stacks two results.
TEST(NarrowTotals, BackwardsBesideStackedResults) {
  const std::vector<Aval> avals{{{kRows}, f32}, {{kColumns}, f32}, {{5}, f32}};
  const Graph graph = simplify(trace_closed(avals, [&](const Arrays& in) {
    const Array zero = zeros({kRows, kColumns});
    const auto step = [&](const std::tuple<Array, Array, Array>& carry, const Array& w) {
      const auto& [a, last, b] = carry;
      const Array pairs = expand_dims(in[0], 1) * expand_dims(in[1], 0);
      return std::pair(std::tuple(pairs * w + a, w * 2, (pairs - last) + b), std::pair(w + last, w * 3));
    };
    const auto [totals, stacked] = scan(step, std::tuple(zero, zeros({}), zero), in[2], {}, true);
    const auto& [a, last, b] = totals;
    return Arrays{sum(a, {1}), sum(b, {0}), last, stacked.first, stacked.second};
  }));
  const std::optional<Graph> narrowed = narrow_totals(graph, 1 << 20);
  ASSERT_TRUE(narrowed);
  verify(*narrowed);
  EXPECT_EQ(carried(*narrowed), kRows + kColumns + 1);
  expect_same_values(graph, *narrowed, small_integer);
}

TEST(NarrowTotals, InBodiesToo) {
  const std::vector<Aval> avals{{{kRows}, f32}, {{kColumns}, f32}};
  const Graph graph = simplify(trace_closed(avals, [&](const Arrays& in) {
    const auto inner = [&](const Array&, const Array& total) {
      return total + expand_dims(in[0], 1) * expand_dims(in[1], 0);
    };
    const auto outer = [&](const Array&, const Array& c) {
      return c - sum(fori_loop(0, 2, inner, zeros({kRows, kColumns})), {1});
    };
    return Arrays{fori_loop(0, 2, outer, in[0])};
  }));
  const std::optional<Graph> narrowed = narrow_totals(graph, 1 << 20);
  ASSERT_TRUE(narrowed);
  EXPECT_EQ(carried(*find_scan(*narrowed)->attrs.graph(Attr::body)), kRows);
  expect_same_values(graph, *narrowed, small_integer);
}

// Carries that change places, a total that is stacked too.
TEST(NarrowTotals, OnlyWhatStaysATotal) {
  const auto narrows = [](bool swaps, bool stacks) {
    const std::vector<Aval> avals{{{kRows, 1}, f32}};
    const Graph graph = simplify(trace_closed(avals, [&](const Arrays& in) {
      const Array zero = zeros({kRows, kColumns});
      const auto step = [&](const std::pair<Array, Array>& c, std::nullptr_t) {
        const Array a = c.first + in[0], b = c.second - in[0];
        const std::pair both = swaps ? std::pair(b, a) : std::pair(a, b);
        return std::pair(both, stacks ? both.first : in[0]);
      };
      const auto [c, stacked] = scan(step, std::pair(zero, zero), nullptr, 3);
      return Arrays{sum(c.first, {1}), sum(square(c.second), {1}), stacked};
    }));
    return narrow_totals(graph, 1 << 20).has_value();
  };
  EXPECT_TRUE(narrows(false, false));
  EXPECT_FALSE(narrows(true, false));
  EXPECT_FALSE(narrows(false, true));
}

TEST(NarrowTotals, OthersStay) {
  const auto stays = [](const Function& read, DType dtype = f32) {
    return !narrow_totals(program(read, dtype), 1 << 20);
  };
  EXPECT_FALSE(stays([](const Array& t, const Array&, const Array&) { return std::vector{sum(t, {1})}; }));
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array&) { return std::vector{t}; })) << "a result";
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array&) { return std::vector{sum(t, {1}), t}; }));
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array&) { return std::vector{sum(square(t), {1})}; }));
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array&) { return std::vector{sum(t + 1.0f, {1})}; }));
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array&) { return std::vector{sum(1.0f / t, {1})}; }));
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array&) { return std::vector{max(t, {1})}; }));
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array&) {
    return std::vector{sum(t * expand_dims(sum(t, {1}), 1), {1})};
  })) << "a square";
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array&) {
    return std::vector{sum(t * expand_dims(t[{neap::slice(), 2}], 1), {1})};
  })) << "a square";
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array&) { return std::vector{sum(t * (2.0f * t), {1})}; }))
      << "a square";
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array& y) { return std::vector{sum(t / y, {1})}; }))
      << "zeros would be divided by zero";
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array&) { return std::vector{sum(t, {1})}; }, f16))
      << "which overflow in sums of their own";
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array&) {
    return std::vector{t[{neap::slice(), neap::slice(400)}]};
  })) << "hardly less";
  EXPECT_TRUE(stays([](const Array& t, const Array& x, const Array&) {
    return std::vector{sum(t * expand_dims(x, 1), {1})};
  })) << "another result of the loop";
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array& y) {
    return std::vector{
        sum(t * matmul(expand_dims(exp(y[{neap::slice(1)}]), 1) + zeros({kRows, 1}), expand_dims(y, 0)), {1})};
  })) << "a product in each step";
  EXPECT_TRUE(stays([](const Array& t, const Array&, const Array&) { return std::vector{sum(t, {1})}; }, i32));
}

// What else reads the carry in the body, and a start that is not zero.
TEST(NarrowTotals, OnlyOfSums) {
  const auto narrows = [](float start, bool is_read) {
    const std::vector<Aval> avals{{{kRows, 1}, f32}};
    return narrow_totals(
               simplify(trace_closed(avals,
                                     [&](const Arrays& in) {
                                       const auto step = [&](const Array&, const Array& c) {
                                         return c + (is_read ? c * in[0] : in[0] * ones({1, kColumns}));
                                       };
                                       return Arrays{sum(fori_loop(0, 3, step, full({kRows, kColumns}, start)), {1})};
                                     })),
               1 << 20)
        .has_value();
  };
  EXPECT_TRUE(narrows(0, false));
  EXPECT_FALSE(narrows(1, false));
  EXPECT_FALSE(narrows(0, true));
}

// The gradient in the points of what is iterated over the distances of all pairs.
TEST(NarrowTotals, TheGradientOfPointsHoldsNoPairs) {
  constexpr int64_t kPoints = 2100;  // 17 MiB of pairs
  const auto loss = [](const Array& x, const Array& y) {
    const Array cost = square(expand_dims(x, 1) - expand_dims(y, 0));
    const auto step = [&](const Array& g, std::nullptr_t) {
      const Array f = -logsumexp(expand_dims(g, 0) - cost, {1});
      return std::pair(-logsumexp(expand_dims(f, 1) - cost, {0}), nullptr);
    };
    return mean(scan(step, zeros_like(y), nullptr, 10).first);
  };
  const std::vector<Aval> avals{{{kPoints}, f32}, {{kPoints}, f32}};
  const Graph graph = trace_closed(avals, [&](const Arrays& in) { return Arrays{grad(loss)(in[0], in[1])}; });
  PlanOptions options;
  options.memory_budget = size_t{1} << 20;
  EXPECT_LE(make_plan(graph, options).peak_bytes, *options.memory_budget);
}

}  // namespace
}  // namespace neap::planner
