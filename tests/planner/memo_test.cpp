// What a search remembers: the orders and bodies that it would find again, and no others.
#include "planner/pipeline/memo.h"

#include <gtest/gtest.h>

#include "order_naive.h"
#include "planner/pipeline/pipeline.h"
#include "planner/report/report.h"
#include "planner/rewrite/simplify.h"
#include "programs.h"

namespace neap::planner {
namespace {

TEST(PlanMemo, FindsTheOrderOfTheSameProblemAlone) {
  Random random(5);
  PlanMemo memo;
  const OrderProblem problem = program_of(random, layered(random, 3, 4), true);
  EXPECT_FALSE(memo.order(problem));
  memo.remember(problem, order_steps(problem));
  ASSERT_TRUE(memo.order(problem));
  EXPECT_EQ(*memo.order(problem), order_steps(problem));

  const auto is_another = [&](auto change) {
    OrderProblem other = problem;
    change(other);
    return !memo.order(other);
  };
  EXPECT_TRUE(is_another([](OrderProblem& p) { p.values[1].bytes += 64; }));
  EXPECT_TRUE(is_another([](OrderProblem& p) { p.values[1].kept = !p.values[1].kept; }));
  EXPECT_TRUE(is_another([](OrderProblem& p) { p.scratch[2] += 64; }));
  EXPECT_TRUE(is_another([](OrderProblem& p) { p.reuses.push_back({0, 0, 1}); }));
  EXPECT_TRUE(is_another([](OrderProblem& p) { p.before.emplace_back(0, 1); }));
}

TEST(PlanMemo, FindsTheBodyOfTheSameLoopAlone) {
  const Graph loop = simplify(loop_of_products());
  const auto node = std::ranges::find(loop.nodes, Op::scan, &tracing::Node::op);
  ASSERT_NE(node, loop.nodes.end());
  const tracing::GraphPtr body = node->attrs.graph(Attr::body);
  PlanMemo memo;
  const PlanMemo::Body one{.graph = body, .length = 7};
  const auto plan = std::make_shared<const PlanData>();
  memo.remember(one, plan);
  const auto found = [&](auto change) {
    PlanMemo::Body other = one;
    change(other);
    return memo.plan(other) == plan;
  };
  EXPECT_TRUE(found([](PlanMemo::Body& b) { b.graph = std::make_shared<const Graph>(*b.graph); }));
  EXPECT_FALSE(found([](PlanMemo::Body& b) { b.length = 8; }));
  EXPECT_FALSE(found([](PlanMemo::Body& b) { b.carries = 1; }));
  EXPECT_FALSE(found([](PlanMemo::Body& b) { b.fuse = kStoreShared; }));
  EXPECT_FALSE(found([](PlanMemo::Body& b) { b.naive = true; }));
  EXPECT_FALSE(found([](PlanMemo::Body& b) {  // as another line of the program
    Graph copy = *b.graph;
    copy.nodes[0].loc = std::source_location::current();
    b.graph = std::make_shared<const Graph>(std::move(copy));
  }));
}

// A plan that finds all of it is the plan that was made without.
TEST(PlanMemo, ChangesNoPlan) {
  for (const Graph& graph : {loop_of_products(), products(5), batch_of_tangents(), transposed_sum()}) {
    const Graph simple = simplify(graph);
    PlanOptions options;
    const std::string alone = to_json(plan_simplified(simple, options, {}).plan);
    options.memo = std::make_shared<PlanMemo>();
    EXPECT_EQ(to_json(plan_simplified(simple, options, {}).plan), alone);
    EXPECT_EQ(to_json(plan_simplified(simple, options, {}).plan), alone) << "from what it remembers";
  }
}

}  // namespace
}  // namespace neap::planner
