// Updates go into the array that they end in, and sums are the same but for rounding.
#include "planner/scatter_into.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graphs.h"
#include "planner/plan.h"
#include "planner/simplify.h"
#include "tests/trace/host.h"

namespace neap::planner {
namespace {

using trace::HostValue;

constexpr int64_t kRows = 40, kWidth = 11;
const Attrs kByRow{{Attr::axes, Ints{0}}, {Attr::mode, int64_t{1}}};

// Small whole numbers, whose sums are exact in any order.
HostValue numbers(const Aval& aval) {
  std::vector<float> elements(static_cast<size_t>(aval.size()));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(1 + i * 5 % 13);
  return trace::host(aval.shape, elements);
}

class ScatterInto : public testing::Test {
 protected:
  Graph g;
  ValueId table = g.add_input({{kRows, kWidth}, DType::f32});
  ValueId rows = g.add_input({{5, 1}, DType::i32});
  ValueId updates = g.add_input({{5, kWidth}, DType::f32});
  ValueId rate = g.add_input({{}, DType::f32});

  ValueId scatter(ValueId u) {
    return g.add(Op::scatter_add, {splat(g, 0, DType::f32, {kRows, kWidth}), rows, u}, kByRow);
  }
  ValueId scaled(ValueId v) { return g.add(Op::multiply, {v, broadcast(g, rate, {kRows, kWidth}, {})}); }

  // How many values as large as the table are made for the outputs, constants aside; their elements are checked.
  int64_t large_values(std::vector<ValueId> outputs) {
    g.outputs = std::move(outputs);
    const Graph simple = simplify(g);
    verify(simple);
    const std::vector<HostValue> inputs{numbers(g.aval(table)), trace::host<int32_t>({5, 1}, {3, 3, 39, 0, 50}),
                                        numbers(g.aval(updates)), trace::host<float>({}, {2})};
    const auto want = evaluate_reference(g, inputs), got = evaluate_reference(simple, inputs);
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(trace::elements_of<float>(got[i]), trace::elements_of<float>(want[i]));
    }
    return std::ranges::count_if(simple.nodes, [&](const trace::Node& node) {
      return node.op != Op::constant && simple.aval(node.out()).size() == kRows * kWidth;
    });
  }
};

TEST_F(ScatterInto, AStepOfDescentTouchesTheRowsThatWereRead) {
  EXPECT_EQ(large_values({g.add(Op::subtract, {table, scaled(g.add(Op::negative, {scatter(updates)}))})}), 1);
  EXPECT_EQ(large_values({g.add(Op::subtract, {table, scaled(scatter(updates))})}), 1);
}

TEST_F(ScatterInto, SumsOfSeveralUpdatesToo) {
  const ValueId twice = g.add(Op::add, {updates, updates});
  const ValueId sum = g.add(Op::subtract, {scatter(updates), scatter(twice)});
  EXPECT_EQ(large_values({g.add(Op::add, {scaled(sum), table})}), 2);
  EXPECT_EQ(large_values({sum}), 2);
}

TEST_F(ScatterInto, WhatIsReadElsewhereStays) {
  const ValueId gradient = scatter(updates);
  EXPECT_EQ(large_values({g.add(Op::add, {table, gradient}), g.add(Op::negative, {gradient})}), 3);
}

// A half float's sum swallows small terms, of which many may go to one row.
TEST_F(ScatterInto, NotOfHalfFloats) {
  Graph halves;
  const ValueId p = halves.add_input({{kRows, kWidth}, DType::bf16}), i = halves.add_input({{5, 1}, DType::i32});
  const ValueId u = halves.add_input({{5, kWidth}, DType::bf16});
  const ValueId zero = splat(halves, 0, DType::bf16, {kRows, kWidth});
  halves.outputs = {halves.add(Op::add, {p, halves.add(Op::scatter_add, {zero, i, u}, kByRow)})};
  const Graph simple = simplify(halves);
  EXPECT_TRUE(simple.is(simple.outputs[0], Op::add));
}

// 1 + 3e-8 is 1 in f32, but 1 + 5 * 3e-8 is not.
TEST_F(ScatterInto, SmallUpdatesAreNotLost) {
  Graph few;
  const ValueId q = few.add_input({{kRows, kWidth}, DType::f32}), j = few.add_input({{5, 1}, DType::i32});
  const ValueId w = few.add_input({{5, kWidth}, DType::f32});
  const ValueId zero = splat(few, 0, DType::f32, {kRows, kWidth});
  few.outputs = {few.add(Op::add, {q, few.add(Op::scatter_add, {zero, j, w}, kByRow)})};
  const Graph simple = simplify(few);
  EXPECT_TRUE(simple.is(simple.outputs[0], Op::scatter_add));
  const std::vector<HostValue> inputs{trace::host({kRows, kWidth}, std::vector<float>(kRows * kWidth, 1.0f)),
                                      trace::host<int32_t>({5, 1}, {2, 2, 2, 2, -38}),
                                      trace::host({5, kWidth}, std::vector<float>(5 * kWidth, 3e-8f))};
  const auto got = trace::elements_of<float>(evaluate_reference(simple, inputs)[0]);
  EXPECT_EQ(got[2 * kWidth], 1.0f + 1.5e-7f);
  EXPECT_EQ(got, trace::elements_of<float>(evaluate_reference(few, inputs)[0]));
}

TEST_F(ScatterInto, IntoTheDonatedTable) {
  g.outputs = {g.add(Op::subtract, {table, scaled(scatter(updates))})};
  PlanOptions options;
  options.donated = {true, false, false, false};
  const PlanData plan = make_plan(g, options);
  EXPECT_LE(plan.arena_bytes, 640u) << to_text(plan);  // no array like the table
}

}  // namespace
}  // namespace neap::planner
