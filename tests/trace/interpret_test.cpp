// The walk that transforms share, with values that are no arrays, and with arrays in a trace.
#include "trace/tracing/interpret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/ops.h>

#include <algorithm>

namespace neap::tracing {
namespace {

// (x * y) + x, and its first step.
Graph sample() {
  Graph g;
  const ValueId x = g.add_input({{3}, f32}), y = g.add_input({{3}, f32});
  const ValueId product = g.add(Op::multiply, {x, y});
  g.outputs = {g.add(Op::add, {product, x}), product};
  return g;
}

TEST(Interpret, GivesEachValueWhatTheRuleMakesOfItsOperands) {
  const Graph g = sample();
  std::vector<Op> seen;
  const auto depths = interpret(g, std::vector<int>{0, 5}, [&](const Node& node, const std::vector<int>& operands) {
    seen.push_back(node.op);
    return std::vector<int>{1 + *std::ranges::max_element(operands)};
  });
  EXPECT_THAT(seen, testing::ElementsAre(Op::multiply, Op::add));
  EXPECT_THAT(depths, testing::ElementsAre(0, 5, 6, 7));
  EXPECT_THAT(pick(depths, g.outputs), testing::ElementsAre(7, 6));
}

TEST(Interpret, RetracesAGraph) {
  const Graph g = sample();
  const Graph again = trace_closed(g.avals(g.inputs), [&](const Arrays& inputs) {
    const auto values = interpret(
        g, inputs, [](const Node& node, const Arrays& in) { return apply_many(node.op, in, node.attrs, node.loc); });
    return pick(values, g.outputs);
  });
  EXPECT_EQ(print(again), print(g));
}

TEST(Interpret, ChecksHowManyValuesThereAre) {
  const Graph g = sample();
  const auto nothing = [](const Node&, const std::vector<int>&) { return std::vector<int>(); };
  EXPECT_THROW(interpret(g, std::vector<int>{1}, nothing), InternalError);
  EXPECT_THROW(interpret(g, std::vector<int>{1, 2}, nothing), InternalError);
}

}  // namespace
}  // namespace neap::tracing
