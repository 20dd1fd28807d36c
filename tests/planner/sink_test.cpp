// Constants of loops that are computed in the loops' bodies: less is held, no bit changes.
#include "planner/search/sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/neap.h>

#include <cstring>
#include <random>

#include "planner/rewrite/simplify.h"
#include "programs.h"
#include "tests/trace/host.h"
#include "trace/graph/loop.h"
#include "trace/reference/reference.h"
#include "trace/tracing/tracing.h"

namespace neap::planner {
namespace {

using testing::Contains;
using tracing::HostValue;

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

// A scan of four steps whose body adds up what it reads of the constants, which have kRows x kColumns elements.
Graph scan_of(Graph g, std::vector<ValueId> constants) {
  Graph body;
  std::vector<ValueId> read;
  for (size_t i = 0; i < constants.size(); ++i) read.push_back(body.add_input({{kRows, kColumns}, f32}));
  ValueId carry = body.add_input({{kRows}, f32});
  for (const ValueId v : read) carry = body.add(Op::add, {carry, reduce_sum(body, v, {1})});
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

std::vector<HostValue> values_of(const Graph& g) {
  std::mt19937 random(1);
  std::vector<HostValue> values;
  for (const ValueId v : g.inputs) {
    HostValue x{g.aval(v), allocate(g.aval(v).bytes(), "test")};
    for (int64_t i = 0; i < x.aval.size(); ++i) x.data->as<float>()[i] = static_cast<float>(random() % 1000) / 999;
    values.push_back(std::move(x));
  }
  return values;
}

void expect_same_values(const Graph& a, const Graph& b) {
  const auto inputs = values_of(a);
  const auto x = tracing::evaluate_reference(a, inputs), y = tracing::evaluate_reference(b, inputs);
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(x[i].aval, y[i].aval);
    EXPECT_EQ(std::memcmp(x[i].data->data(), y[i].data->data(), x[i].aval.bytes()), 0);
  }
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
  EXPECT_THAT(search_candidates(g, {}).taken, Contains("sunk"));
  const PlanData plan = make_plan(g, {});
  EXPECT_LT(plan.peak_bytes, size_t{1} << 20) << "distances alone are 48 MB";
  EXPECT_LE(plan.predicted_seconds, 1.3 * begin_search(g, {}).plan().predicted_seconds);
}

TEST(Sink, KeepsTheBits) {
  const Array x = random::normal(random::key(1), {400}), y = random::normal(random::key(2), {300});
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

TEST(Sink, SoDoesWhatIsOfAsMuch) {
  Graph g;
  const ValueId x = g.add_input({{kRows, kColumns}, f32});
  EXPECT_FALSE(sunk(scan_of(g, {g.add(Op::exp, {x})})));
}

TEST(Sink, SoDoProductsAndRandomNumbers) {
  Graph g;
  const ValueId a = g.add_input({{kRows, 1}, f32}), b = g.add_input({{1, kColumns}, f32});
  EXPECT_FALSE(sunk(scan_of(g, {matmul(g, g.add(Op::exp, {a}), b)})));
  Graph h;
  const ValueId key = h.add_input({{2}, u32});
  const ValueId bits = h.add(Op::random_bits, {key}, {{Attr::shape, Shape{kRows, kColumns}}, {Attr::dtype, u32}});
  EXPECT_FALSE(sunk(scan_of(h, {convert(h, bits, f32)})));
}

}  // namespace
}  // namespace neap::planner
