// What becomes of while_loop and cond on their way to a plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs.h"
#include "planner/report/check.h"
#include "planner/report/report.h"
#include "planner/rewrite/simplify.h"
#include "planner/search/make_plan.h"
#include "tests/count.h"
#include "tests/trace/samples.h"

namespace neap::planner {
namespace {

using testing::HasSubstr;

// (flag, x) -> (sort or reverse, sum or maximum) of x.
Graph two_results(int64_t size) {
  Graph yes, no;
  const Ints first{0};
  for (Graph* branch : {&yes, &no}) {
    const ValueId x = branch->add_input({{size}, DType::f32});
    const bool sorts = branch == &yes;
    const ValueId moved = sorts ? branch->add(Op::sort, {x}, {{Attr::axis, 0}, {Attr::descending, 0}})
                                : branch->add(Op::reverse, {x}, {{Attr::axes, first}});
    branch->outputs = {moved, branch->add(sorts ? Op::reduce_sum : Op::reduce_max, {x}, {{Attr::axes, first}})};
  }
  Graph g;
  const ValueId flag = g.add_input({{}, DType::bool_}), x = g.add_input({{size}, DType::f32});
  const tracing::NodeId id = g.add_node(
      Op::cond, {flag, x},
      {{Attr::body, std::make_shared<const Graph>(yes)}, {Attr::otherwise, std::make_shared<const Graph>(no)}}, {});
  g.outputs = g.nodes[id].outputs;
  return g;
}

TEST(Branches, AreLoopsThatRunOnceAtMost) {
  const Graph simple = simplify(two_results(100));
  verify(simple);
  EXPECT_EQ(count(simple, Op::cond), 0);
  ASSERT_EQ(count(simple, Op::while_loop), 2);
  for (const tracing::Node& node : simple.nodes)
    if (node.op == Op::while_loop) {
      EXPECT_EQ(node.attrs.integer(Attr::length), 1);
    }
  EXPECT_EQ(simplify(simple), simple);
  EXPECT_EQ(tracing::parse(tracing::print(simple)), simple);
}

TEST(Branches, LoseWhatNobodyReads) {
  Graph g = two_results(100);
  g.outputs.pop_back();
  for (const tracing::Node& node : simplify(g).nodes)
    if (node.op == Op::while_loop) {
      EXPECT_EQ(node.outputs.size(), 2u);  // the condition and one result
      EXPECT_EQ(count(*node.attrs.graph(Attr::body), Op::reduce_sum), 0);
    }
}

TEST(Branches, OfAKnownPredicateAreInlined) {
  for (const bool taken : {true, false}) {
    Graph g = two_results(100);
    Graph known;
    const ValueId x = known.add_input({{100}, DType::f32});
    const ValueId flag = known.constant(taken, DType::bool_);
    const tracing::NodeId id = known.add_node(Op::cond, {flag, x}, g.nodes[0].attrs, {});
    known.outputs = known.nodes[id].outputs;
    const Graph simple = simplify(known);
    EXPECT_EQ(count(simple, Op::while_loop), 0);
    EXPECT_EQ(count(simple, taken ? Op::sort : Op::reverse), 1) << print(simple);
    EXPECT_EQ(simple.nodes.size(), 2u) << print(simple);
  }
}

TEST(Branches, ALoopThatNeverBeginsIsItsCarry) {
  Graph g = tracing::while_sample();
  Graph known;
  const ValueId most = known.add_input({{}, DType::f32}), start = known.add_input({{}, DType::f32});
  const ValueId never = known.constant(0, DType::bool_), zero = known.constant(0, DType::i32);
  const tracing::NodeId id = known.add_node(Op::while_loop, {most, never, start, zero}, g.nodes.back().attrs, {});
  known.outputs = {known.nodes[id].outputs[1]};
  EXPECT_EQ(simplify(known).outputs[0], start);
}

// The condition stays though nobody reads it, with what it is made of; the counter goes.
TEST(Branches, AConditionIsRead) {
  Graph g = tracing::while_sample();
  g.outputs = {g.nodes.back().outputs[1]};
  const Graph simple = simplify(g);
  const tracing::Node& loop = simple.nodes.back();
  ASSERT_EQ(loop.op, Op::while_loop);
  EXPECT_EQ(loop.attrs.integer(Attr::num_carry), 2);
  EXPECT_EQ(loop.inputs.size(), 3u);
}

TEST(Branches, OnePlansArenaServesBoth) {
  constexpr int64_t kSize = 1 << 16;
  for (const bool naive : {false, true}) {
    PlanOptions options;
    options.naive = naive;
    const PlanData plan = make_plan(two_results(kSize), options);
    EXPECT_THAT(check_plan(plan), testing::IsEmpty()) << to_text(plan);
    // x, the sorted or reversed one, and sorting's own scratch.
    EXPECT_LE(plan.peak_bytes, 4 * kSize * 4u + 4096) << to_text(plan);
    for (const PlanStep& step : plan.steps) {  // the branches alone write results
      if (step.kind == PlanStep::Kind::scan) continue;
      for (const int b : step.writes) EXPECT_LE(plan.buffers[b].bytes, 64u) << to_text(plan);
    }
    const std::string text = to_text(plan);
    EXPECT_THAT(text, HasSubstr("cond"));
    EXPECT_THAT(text, HasSubstr("where its predicate is true"));
    const PlanData again = parse_plan(to_json(plan), "plan");
    EXPECT_EQ(to_json(again), to_json(plan));
  }
}

TEST(Branches, ALoopUpdatesItsCarryInPlace) {
  Graph body;
  body.add_input({{}, DType::bool_});
  const ValueId c = body.add_input({{100000}, DType::f32});
  const ValueId next = body.add(Op::multiply, {c, splat(body, 0.5, DType::f32, {100000})});
  const ValueId largest = body.add(Op::reduce_max, {next}, {{Attr::axes, Ints{0}}});
  body.outputs = {body.add(Op::less, {body.constant(1, DType::f32), largest}), next};
  Graph g;
  const ValueId go = g.add_input({{}, DType::bool_}), x = g.add_input({{100000}, DType::f32});
  const tracing::NodeId id =
      g.add_node(Op::while_loop, {go, x},
                 {{Attr::body, std::make_shared<const Graph>(body)}, {Attr::num_consts, 0}, {Attr::num_carry, 2}}, {});
  g.outputs = {g.nodes[id].outputs[1]};
  const PlanData plan = make_plan(g, {});
  EXPECT_THAT(check_plan(plan), testing::IsEmpty());
  const PlanStep& step = plan.steps.back();
  ASSERT_EQ(step.op, "while_loop");
  EXPECT_EQ(step.strategy, Strategy::loop);
  EXPECT_EQ(step.body->buffers[step.body->outputs[1]].alias_of, step.body->inputs[1]);
  EXPECT_LE(plan.peak_bytes, 2 * 400000 + 1024u) << to_text(plan);
}

}  // namespace
}  // namespace neap::planner
