// Constants of loops that are computed in the loops' bodies: less is held, no bit changes.
#include "planner/search/sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/neap.h>

#include <algorithm>
#include <functional>

#include "planner/rewrite/simplify.h"
#include "planner/search/budget.h"
#include "programs.h"
#include "same_values.h"
#include "trace/graph/loop.h"
#include "trace/tracing/tracing.h"

namespace neap::planner {
namespace {

using testing::Contains;

constexpr int64_t kRows = 40, kColumns = 30;

// Optimal transport between points on a line, by scaling rows and columns in turn.
Array sinkhorn(const Array& x, const Array& y) {
  const Array cost = square(expand_dims(x, 1) - expand_dims(y, 0));
  const auto step = [&](const Array& g, const Array&) {
    const Array f = -logsumexp(expand_dims(g, 0) - cost, 1);
    const Array next = -logsumexp(expand_dims(f, 1) - cost, 0);
    return std::pair(next, f[0]);
  };
  return scan(step, zeros_like(y), zeros({10}, f32)).first;
}

Graph traced_sinkhorn(int64_t rows, int64_t columns) {
  const std::vector<Aval> avals{{{rows}, f32}, {{columns}, f32}};
  return tracing::trace_closed(avals,
                               [](const tracing::Arrays& in) { return tracing::Arrays{sinkhorn(in[0], in[1])}; });
}

// What changes with the carry: a sum of the constant alone would be computed before the loop.
ValueId summed(Graph& body, ValueId constant, ValueId carry) {
  const ValueId rows = broadcast(body, carry, {kRows, kColumns}, {0});
  return reduce_sum(body, body.add(Op::add, {constant, rows}), {1});
}

// A scan of four steps whose body adds up what it reads of the constants, which have kRows x kColumns elements.
Graph scan_of(Graph g, std::vector<ValueId> constants) {
  Graph body;
  std::vector<ValueId> read;
  for (size_t i = 0; i < constants.size(); ++i) read.push_back(body.add_input({{kRows, kColumns}, f32}));
  ValueId carry = body.add_input({{kRows}, f32});
  for (const ValueId v : read) carry = body.add(Op::add, {carry, summed(body, v, carry)});
  body.outputs = {carry};
  std::vector<ValueId> inputs = constants;
  inputs.push_back(splat(g, 0, f32, {kRows}));
  const auto count = static_cast<int64_t>(constants.size());
  const std::vector<ValueId> results = add_scan(g, std::move(inputs), body, 4, count, 1).outputs;
  g.outputs.insert(g.outputs.end(), results.begin(), results.end());
  return g;
}

ValueId rows_of(Graph& g, ValueId x) { return broadcast(g, x, {kRows, kColumns}, {0}); }

size_t constants_of(const Graph& g) {
  for (const tracing::Node& node : g.nodes) {
    if (node.op == Op::scan) return tracing::LoopLayout(node.attrs).consts;
  }
  return 0;
}

std::optional<Graph> sunk(const Graph& g) { return sink_into_loops(plan_simplified(simplify(g), {}, {})); }

TEST(Sink, DistancesAreNotStored) {
  const Graph g = traced_sinkhorn(kRows, kColumns);
  const std::optional<Graph> result = sunk(g);
  ASSERT_TRUE(result);
  verify(*result);
  EXPECT_EQ(constants_of(simplify(g)), 1u);
  EXPECT_EQ(constants_of(*result), 2u) << "the points";
  expect_same_values(g, *result);
}

TEST(Sink, APlanHoldsPointsAlone) {
  const Graph g = traced_sinkhorn(4000, 3000);
  const Program program(g);
  EXPECT_THAT(search_candidates(program, {}).taken, Contains("sunk"));
  const PlanData plan = make_plan(g, {});
  EXPECT_LT(plan.peak_bytes, size_t{1} << 20) << "distances alone are 48 MB";
  EXPECT_LE(plan.predicted_seconds, 1.3 * begin_search(program, {}).plan().predicted_seconds);
}

TEST(Sink, KeepsTheBits) {
  const Array x = random::normal(random::key(1), {400}), y = random::normal(random::key(2), {300});
  const PlanData plan = jit(sinkhorn).plan(spec({400}, f32), spec({300}, f32)).data();
  EXPECT_THAT(plan.decisions, Contains(testing::Field(&Decision::chosen, "sunk")));
  const Array planned = jit(sinkhorn)(x, y), naive = jit(sinkhorn, {.pipeline = Pipeline::naive})(x, y);
  EXPECT_EQ(planned.to_vector<float>(), naive.to_vector<float>());
}

TEST(Sink, ConstantsShareWhatTheyAreOf) {
  Graph g;
  const ValueId x = g.add_input({{kRows}, f32}), y = g.add_input({{kRows}, f32});
  const ValueId first = g.add(Op::exp, {g.add(Op::add, {rows_of(g, x), rows_of(g, y)})});
  const ValueId second = g.add(Op::sin, {g.add(Op::multiply, {rows_of(g, x), rows_of(g, y)})});
  g = scan_of(std::move(g), {first, second});
  const std::optional<Graph> result = sunk(g);
  ASSERT_TRUE(result);
  verify(*result);
  EXPECT_EQ(constants_of(*result), 2u) << "x and y, once each";
  expect_same_values(g, *result);
}

TEST(Sink, WhatIsReadElsewhereStays) {
  Graph g;
  const ValueId table = g.add(Op::exp, {rows_of(g, g.add_input({{kRows}, f32}))});
  g.outputs = {g.add(Op::sort, {table}, {{Attr::axis, int64_t{1}}, {Attr::descending, int64_t{0}}})};
  EXPECT_FALSE(sunk(scan_of(std::move(g), {table})));
}

TEST(Sink, AViewIsWhatItViews) {
  Graph g;
  const ValueId x = g.add_input({{1, kRows}, f32});
  const ValueId table = g.add(Op::exp, {broadcast(g, x, {1, kRows, kColumns}, {0, 1})});
  const ValueId view = reshape(g, table, {kRows, kColumns});
  g = scan_of(std::move(g), {view});
  const std::optional<Graph> result = sunk(g);
  ASSERT_TRUE(result);
  verify(*result);
  expect_same_values(g, *result);
}

// The carries of two loops; x is an operand of the second by itself.
TEST(Sink, SeveralLoopsComputeIt) {
  Graph g;
  const ValueId x = g.add_input({{kRows}, f32});
  const ValueId table = g.add(Op::exp, {rows_of(g, x)});
  g = scan_of(std::move(g), {table});
  Graph body;
  const ValueId own = body.add_input({{kRows}, f32}), read = body.add_input({{kRows, kColumns}, f32});
  const ValueId carry = body.add_input({{kRows}, f32}), row = body.add_input({{kRows}, f32});
  const ValueId next = body.add(Op::add, {body.add(Op::add, {carry, own}), summed(body, read, carry)});
  body.outputs = {next, body.add(Op::multiply, {next, row})};
  const ValueId rows = g.add_input({{3, kRows}, f32});
  const std::vector<ValueId> results = add_scan(g, {x, table, g.outputs[0], rows}, body, 3, 2, 1).outputs;
  g.outputs.insert(g.outputs.end(), results.begin(), results.end());
  const std::optional<Graph> result = sunk(g);
  ASSERT_TRUE(result);
  verify(*result);
  for (const tracing::Node& node : result->nodes) {
    if (node.op == Op::scan) EXPECT_EQ(tracing::LoopLayout(node.attrs).consts, 1u) << "x";
  }
  expect_same_values(g, *result);
}

TEST(Sink, ThatEndByACondition) {
  Graph body;
  const ValueId read = body.add_input({{kRows, kColumns}, f32});
  body.add_input({{}, bool_});
  const ValueId count = body.add_input({{}, i32}), total = body.add_input({{kRows}, f32});
  const ValueId next = body.add(Op::add, {count, splat(body, 1, i32, {})});
  body.outputs = {body.add(Op::less, {next, splat(body, 5, i32, {})}), next,
                  body.add(Op::add, {total, summed(body, read, total)})};
  for (const bool any : {true, false}) {
    Graph g;
    const ValueId table = g.add(Op::exp, {rows_of(g, g.add_input({{kRows}, f32}))});
    const std::vector<ValueId> inputs{table, splat(g, any ? 1 : 0, bool_, {}), splat(g, 0, i32, {}),
                                      splat(g, 0, f32, {kRows})};
    g.outputs = g.nodes[g.add_node(Op::while_loop, inputs,
                                   {{Attr::body, std::make_shared<const Graph>(body)},
                                    {Attr::num_consts, int64_t{1}},
                                    {Attr::num_carry, int64_t{3}}},
                                   std::source_location::current())]
                    .outputs;
    const std::optional<Graph> result = sunk(g);
    EXPECT_EQ(result.has_value(), any) << "a loop that never runs is gone";
    if (!result) continue;
    verify(*result);
    expect_same_values(g, *result);
  }
}

// A table that a product reads in each step is stored in each: budgets may be met without sinking it alone.
TEST(Sink, BudgetsAreMetAsWithout) {
  Graph body;
  const ValueId square = body.add_input({{128, 128}, f32}), table = body.add_input({{96, 128}, f32});
  const ValueId carry = body.add_input({{96, 128}, f32});
  const ValueId mixed = body.add(Op::tanh, {matmul(body, carry, square)});
  body.outputs = {body.add(Op::tanh, {body.add(Op::multiply, {mixed, table})})};
  Graph g;
  const ValueId v = g.add_input({{128}, f32}), a = g.add_input({{96}, f32}), b = g.add_input({{128}, f32});
  const ValueId x = g.add_input({{96, 128}, f32});
  const ValueId outer =
      g.add(Op::abs, {g.add(Op::multiply, {broadcast(g, v, {128, 128}, {0}), broadcast(g, v, {128, 128}, {1})})});
  const ValueId sum =
      g.add(Op::abs, {g.add(Op::add, {broadcast(g, a, {96, 128}, {0}), broadcast(g, b, {96, 128}, {1})})});
  g.outputs = add_scan(g, {outer, sum, x}, body, 2, 2, 1).outputs;
  const PlanOptions options;
  const Program program(g);
  const PlanData unsunk = begin_search(program, options).plan();
  const size_t least = tradeoff_of(program.simple(), unsunk, options).back().peak_bytes;
  PlanOptions budgeted;
  budgeted.memory_budget = least;
  EXPECT_LE(make_plan(g, budgeted).peak_bytes, least);
  const std::vector<Tradeoff> curve = tradeoff(g, options);
  EXPECT_LE(curve.back().peak_bytes, least);
  EXPECT_TRUE(std::ranges::is_sorted(curve, std::greater(), &Tradeoff::peak_bytes));
}

TEST(Sink, SoDoesWhatIsOfAsMuch) {
  Graph g;
  const ValueId x = g.add_input({{kRows, kColumns}, f32});
  const ValueId table = g.add(Op::exp, {x});
  EXPECT_FALSE(sunk(scan_of(g, {table})));
}

TEST(Sink, SoDoProductsAndRandomNumbers) {
  Graph g;
  const ValueId a = g.add_input({{kRows, 4}, f32}), b = g.add_input({{4, kColumns}, f32});
  const ValueId product = matmul(g, g.add(Op::exp, {a}), b);
  EXPECT_FALSE(sunk(scan_of(g, {product})));
  Graph h;
  const ValueId key = h.add_input({{2}, u32});
  const ValueId bits = h.add(Op::random_bits, {key}, {{Attr::shape, Shape{kRows, kColumns}}, {Attr::dtype, u32}});
  const ValueId table = convert(h, bits, f32);
  EXPECT_FALSE(sunk(scan_of(h, {table})));
}

}  // namespace
}  // namespace neap::planner
