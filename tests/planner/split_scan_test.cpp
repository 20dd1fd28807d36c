// Loops on slices of a batch: what of a loop is sliced and how, what follows from totals, and what has no slices. That
// they compute the same bits is checked by tests/jit/scan_slices_test.cpp.
#include "planner/slice/split_scan.h"

#include <gtest/gtest.h>

#include "graphs.h"
#include "planner/fuse/fuse.h"
#include "planner/rewrite/simplify.h"
#include "planner/slice/chunk.h"

namespace neap::planner {
namespace {

using tracing::Node;
using tracing::NodeId;

constexpr int64_t kBatch = 96, kLength = 5;

struct Loop {
  Graph body;
  int64_t consts = 0, carries = 0;
};

NodeId add_loop(Graph& g, const Loop& loop, std::vector<ValueId> operands) {
  return g.add_node(Op::scan, std::move(operands),
                    {{Attr::body, std::make_shared<const Graph>(loop.body)},
                     {Attr::length, kLength},
                     {Attr::num_consts, loop.consts},
                     {Attr::num_carry, loop.carries},
                     {Attr::reverse, int64_t{0}}},
                    std::source_location::current());
}

// A graph of the loop alone; its operands are the graph's inputs.
Graph alone(const Loop& loop) {
  Graph g;
  std::vector<ValueId> operands;
  for (size_t i = 0; i < loop.body.inputs.size(); ++i) {
    Aval aval = loop.body.aval(loop.body.inputs[i]);
    if (static_cast<int64_t>(i) >= loop.consts + loop.carries) aval.shape.insert(aval.shape.begin(), kLength);
    operands.push_back(g.add_input(aval));
  }
  g.outputs = g.nodes[add_loop(g, loop, operands)].outputs;
  return g;
}

std::optional<ScanCut> cut_by_output(const Loop& loop, size_t output, Cut cut) {
  const Graph g = alone(loop);
  const Node& node = g.nodes[0];
  std::vector<Cut> inputs(node.inputs.size(), kUnused), outputs(node.outputs.size(), kUnused);
  outputs[output] = cut;
  return cut_scan(node, inputs, outputs, kBatch);
}

const Cut kRows{0};

// s = tanh(s w + x), with a counter beside it; y = the sum of each row of s.
Loop rollout() {
  Loop loop{.consts = 1, .carries = 2};
  Graph& b = loop.body;
  const ValueId w = b.add_input({{8, 8}, DType::f32}), s = b.add_input({{kBatch, 8}, DType::f32});
  const ValueId n = b.add_input({{}, DType::i32}), x = b.add_input({{kBatch, 8}, DType::f32});
  const ValueId canonical = reshape(b,
                                    b.add(Op::dot_general, {reshape(b, s, {1, kBatch, 8}), reshape(b, w, {1, 8, 8})},
                                          {{Attr::lhs_batch, Ints{0}},
                                           {Attr::rhs_batch, Ints{0}},
                                           {Attr::lhs_contract, Ints{2}},
                                           {Attr::rhs_contract, Ints{1}}}),
                                    {kBatch, 8});
  const ValueId next = b.add(Op::tanh, {b.add(Op::add, {canonical, x})});
  b.outputs = {next, b.add(Op::add, {n, splat(b, 1, DType::i32, {})}), reduce_sum(b, next, {1})};
  return loop;
}

TEST(SplitScan, EverythingOfTheBatchIsSlicedAndNothingElse) {
  const auto cut = cut_by_output(rollout(), 2, kRows);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->inputs, (std::vector<Cut>{kWhole, kRows, kUnused, kRows})) << "the counter is not needed";
  EXPECT_EQ(cut->outputs, (std::vector<Cut>{kRows, kUnused, kRows}));
  EXPECT_TRUE(cut->sums.empty());
  // The same from what goes in.
  const Graph g = alone(rollout());
  const auto from_x = cut_scan(g.nodes[0], {kUnused, kUnused, kUnused, kRows}, {kUnused, kUnused, kUnused}, kBatch);
  ASSERT_TRUE(from_x);
  EXPECT_EQ(from_x->inputs, cut->inputs);
  EXPECT_EQ(from_x->outputs, cut->outputs);
  EXPECT_FALSE(cut_by_output(rollout(), 0, {1})) << "the product reads whole rows";
}

TEST(SplitScan, MeansOfTheBatchThatComeBackMixIt) {
  Loop loop{.carries = 1};
  Graph& b = loop.body;
  const ValueId s = b.add_input({{kBatch, 8}, DType::f32});
  const ValueId sums = broadcast(b, reduce_sum(b, s, {0}), {kBatch, 8}, {1});
  b.outputs = {b.add(Op::subtract, {s, sums})};
  EXPECT_FALSE(cut_by_output(loop, 0, kRows));
}

TEST(SplitScan, WhatFollowsFromSumsComesAfterAllSlices) {
  Loop loop{.consts = 1, .carries = 3};
  Graph& b = loop.body;
  const ValueId rate = b.add_input({{}, DType::f32}), s = b.add_input({{kBatch}, DType::f32});
  const ValueId smooth = b.add_input({{}, DType::f32}), n = b.add_input({{}, DType::f32});
  const ValueId total = reduce_sum(b, s, {0});
  const ValueId later = b.add(Op::add, {b.add(Op::multiply, {smooth, rate}), b.add(Op::multiply, {total, n})});
  b.outputs = {b.add(Op::sin, {s}), later, b.add(Op::add, {n, rate}), b.add(Op::exp, {total})};
  const auto cut = cut_by_output(loop, 0, kRows);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->outputs, (std::vector<Cut>{kRows, kAfter, kUnused, kAfter}));
  EXPECT_EQ(cut->inputs, (std::vector<Cut>{kUnused, kRows, kUnused, kUnused}));
  EXPECT_EQ(cut->sums, std::vector<ValueId>{total});
  for (const ValueId v : {rate, smooth, n}) EXPECT_TRUE(cut->after[v]);
  EXPECT_FALSE(cut->after[s]);
  // What reads the sum and the elements themselves has no slices.
  Loop mixed = loop;
  mixed.body.outputs[3] =
      mixed.body.add(Op::multiply, {broadcast(mixed.body, total, {kBatch}, {}), mixed.body.outputs[0]});
  EXPECT_FALSE(cut_by_output(mixed, 0, kRows));
}

TEST(SplitScan, LoopsInLoops) {
  Loop loop{.consts = 1, .carries = 1};
  Graph& b = loop.body;
  const ValueId w = b.add_input({{8, 8}, DType::f32}), s = b.add_input({{kBatch, 8}, DType::f32});
  const ValueId zero = splat(b, 0, DType::i32, {}), xs = splat(b, 1, DType::f32, {kLength, kBatch, 8});
  const std::vector<ValueId> results = b.nodes[add_loop(b, rollout(), {w, s, zero, xs})].outputs;
  b.outputs = {results[0], results[2]};
  const auto cut = cut_by_output(loop, 0, kRows);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->inputs, (std::vector<Cut>{kWhole, kRows}));
  EXPECT_EQ(cut->outputs, (std::vector<Cut>{kRows, {1}}));
  EXPECT_EQ(cut->scans.size(), 1u);
}

// What is found out of a loop inside is not found out again whenever the loop around it asks.
TEST(SplitScan, NestsAreLookedAtInTimeOfTheirDepth) {
  Loop nest = rollout();
  size_t visits_per_depth = 0;
  constexpr size_t kDepth = 24;
  for (size_t depth = 1; depth <= kDepth; ++depth) {
    const auto cut = cut_by_output(nest, 0, kRows);
    ASSERT_TRUE(cut);
    if (depth == 2) visits_per_depth = cut->visits;
    if (depth >= 2) EXPECT_LE(cut->visits, depth * visits_per_depth) << depth;
    Loop outer{.consts = 1, .carries = 2};
    Graph& b = outer.body;
    const ValueId w = b.add_input({{8, 8}, DType::f32}), s = b.add_input({{kBatch, 8}, DType::f32});
    const ValueId n = b.add_input({{}, DType::i32}), x = b.add_input({{kBatch, 8}, DType::f32});
    const ValueId xs = broadcast(b, x, {kLength, kBatch, 8}, {1, 2});
    const std::vector<ValueId> inner = b.nodes[add_loop(b, nest, {w, s, n, xs})].outputs;
    b.outputs = {inner[0], inner[1], reduce_sum(b, inner[0], {1})};
    nest = std::move(outer);
  }
}

// A region around stacked results: the loop that makes them, and the one that reads them in the other direction.
TEST(SplitScan, ARegionHoldsLoops) {
  Graph g;
  const ValueId w = g.add_input({{8, 8}, DType::f32}), s = g.add_input({{kBatch, 8}, DType::f32});
  const ValueId xs = g.add_input({{kLength, kBatch, 8}, DType::f32});
  const std::vector<ValueId> states = g.nodes[add_loop(g, rollout(), {w, s, splat(g, 0, DType::i32, {}), xs})].outputs;
  Loop back{.carries = 1};
  {
    Graph& b = back.body;
    const ValueId c = b.add_input({{kBatch}, DType::f32}), y = b.add_input({{kBatch}, DType::f32});
    b.outputs = {b.add(Op::add, {b.add(Op::sin, {c}), y})};
  }
  const NodeId reader = add_loop(g, back, {splat(g, 0, DType::f32, {kBatch}), states[2]});
  g.outputs = {reduce_sum(g, g.nodes[reader].outputs[0], {0}), states[1]};
  const Graph simple = simplify(g);
  const std::vector<bool> stored = fuse(simple).stored;
  ValueId stack = tracing::no_value;
  for (size_t v = 0; v < simple.values.size(); ++v) {
    if (simple.is(static_cast<ValueId>(v), Op::scan) && simple.values[v].aval.shape == Shape{kLength, kBatch}) {
      stack = static_cast<ValueId>(v);
    }
  }
  ASSERT_NE(stack, tracing::no_value);
  const auto region = RegionFinder(simple, stored).find({stack}, {1});
  ASSERT_TRUE(region);
  EXPECT_EQ(region->scans.size(), 2u);
  EXPECT_EQ(region->unit, 1) << "products have the same bits in slices of any size";
  EXPECT_FALSE(RegionFinder(simple, stored).find({stack}, {0})) << "iterations come one after the other";
  for (const int64_t chunks : {2, 4, 5}) {
    const auto sliced = chunk(simple, {*region}, chunks);
    ASSERT_TRUE(sliced);
    tracing::verify(*sliced);
    for (size_t o = 0; o < g.outputs.size(); ++o) {
      EXPECT_EQ(sliced->aval(sliced->outputs[o]), g.aval(g.outputs[o]));
    }
    const Graph simple_slices = simplify(*sliced);
    for (const tracing::Value& value : simple_slices.values) {
      EXPECT_FALSE(value.def != tracing::no_node && value.aval.shape == Shape({kLength, kBatch})) << "never whole";
    }
  }
}

}  // namespace
}  // namespace neap::planner
