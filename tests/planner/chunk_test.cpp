// Slicing: which axis of an operand a slice of the result needs, and graphs in slices that mean the same. That they
// compute the same bits is checked by tests/jit.
#include "planner/slice/chunk.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graphs.h"
#include "planner/fuse/fuse.h"
#include "planner/rewrite/simplify.h"
#include "planner/slice/partial_sums.h"
#include "planner/slice/split_axis.h"

namespace neap::planner {
namespace {

Cut cut_of(const Graph& g, ValueId v, int64_t axis, size_t operand = 0) {
  return operand_cut(g, *g.def(v), {axis}, operand);
}

TEST(SplitAxis, FollowsElementsThroughViews) {
  Graph g;
  const ValueId x = g.add_input({{4, 1, 6}, DType::f32});
  EXPECT_EQ(cut_of(g, g.add(Op::sin, {x}), 2), Cut{2});
  EXPECT_EQ(cut_of(g, g.add(Op::transpose, {x}, {{Attr::permutation, Ints{2, 0, 1}}}), 0), Cut{2});
  EXPECT_EQ(cut_of(g, reshape(g, x, {4, 6}), 1), Cut{2});
  EXPECT_EQ(operand_cut(g, *g.def(reshape(g, x, {24})), {0, 6}, 0), Cut{0}) << "merged: blocks of 6";
  EXPECT_EQ(cut_of(g, reshape(g, x, {24}), 0), kImpossible);
  EXPECT_EQ(result_cut(g, *g.def(reshape(g, x, {24})), 0, {0}), (Cut{0, 6}));
  EXPECT_EQ(result_cut(g, *g.def(reshape(g, x, {24})), 0, {2}), kImpossible) << "strided";
  EXPECT_EQ(result_cut(g, *g.def(reshape(g, x, {2, 2, 6})), 0, {0}), kImpossible) << "torn apart";
  EXPECT_EQ(cut_of(g, reshape(g, x, {4, 2, 3}), 0), Cut{0});
  const ValueId wide = broadcast(g, x, {4, 5, 6, 7}, {0, 1, 2});
  EXPECT_EQ(cut_of(g, wide, 0), Cut{0});
  EXPECT_EQ(cut_of(g, wide, 1), kWhole) << "stretched";
  EXPECT_EQ(cut_of(g, wide, 3), kWhole) << "new";
  EXPECT_EQ(cut_of(g, reduce_sum(g, x, {0}), 1), Cut{2});
  EXPECT_TRUE(reduces_over(g, *g.def(reduce_sum(g, x, {0})), 0, 0));
  EXPECT_EQ(cut_of(g, g.add(Op::reverse, {x}, {{Attr::axes, Ints{0}}}), 0), kImpossible);
}

TEST(SplitAxis, ProductsGathersAndRandomBits) {
  Graph g;
  const ValueId a = g.add_input({{1, 7, 5}, DType::f32}), b = g.add_input({{1, 5, 3}, DType::f32});
  const ValueId y = g.add(Op::dot_general, {a, b},
                          {{Attr::lhs_batch, Ints{0}},
                           {Attr::rhs_batch, Ints{0}},
                           {Attr::lhs_contract, Ints{2}},
                           {Attr::rhs_contract, Ints{1}}});
  EXPECT_EQ(cut_of(g, y, 1, 0), Cut{1});
  EXPECT_EQ(cut_of(g, y, 1, 1), kWhole);
  EXPECT_EQ(cut_of(g, y, 2, 1), Cut{2});
  EXPECT_EQ(result_cut(g, *g.def(y), 1, {2}), Cut{2});
  EXPECT_TRUE(reduces_over(g, *g.def(y), 0, 2));
  const ValueId table = g.add_input({{9, 4, 8}, DType::f32}), idx = g.add_input({{6, 1}, DType::i32});
  const ValueId rows = g.add(Op::gather, {table, idx}, {{Attr::axes, Ints{1}}, {Attr::mode, int64_t{0}}});  // [6, 9, 8]
  EXPECT_EQ(cut_of(g, rows, 0, 1), Cut{0});
  EXPECT_EQ(cut_of(g, rows, 0, 0), kWhole);
  EXPECT_EQ(cut_of(g, rows, 2, 0), Cut{2});
  const ValueId keys = g.add_input({{3, 2}, DType::u32});
  const ValueId bits = g.add(Op::random_bits, {keys}, {{Attr::shape, Shape{5}}, {Attr::dtype, DType::u32}});
  EXPECT_EQ(cut_of(g, bits, 0), Cut{0});
  EXPECT_EQ(cut_of(g, bits, 1), kWhole);
}

// As vmap makes them: the first column of the indices is the number of the example.
TEST(SplitAxis, BatchesOfTables) {
  Graph g;
  const ValueId table = g.add_input({{6, 9, 8}, DType::f32}), idx = g.add_input({{6, 5, 1}, DType::i32});
  const ValueId number =
      g.add(Op::iota, {}, {{Attr::dtype, DType::i32}, {Attr::shape, Shape{6, 5, 1}}, {Attr::axis, int64_t{0}}});
  const ValueId indices = g.add(Op::concatenate, {number, idx}, {{Attr::axis, int64_t{2}}});
  const Attrs attrs{{Attr::axes, Ints{0, 1}}, {Attr::mode, int64_t{0}}};
  const ValueId rows = g.add(Op::gather, {table, indices}, attrs);  // [6, 5, 8]
  EXPECT_EQ(cut_of(g, rows, 0, 0), Cut{0});
  EXPECT_EQ(cut_of(g, rows, 0, 1), Cut{0});
  EXPECT_EQ(cut_of(g, rows, 1, 0), kWhole) << "an axis that is only looked up";
  EXPECT_EQ(cut_of(g, rows, 2, 0), Cut{2});
  EXPECT_EQ(counting_column(g, *g.def(rows), {0}), 0);
  EXPECT_EQ(counting_column(g, *g.def(rows), {1}), -1);
  const ValueId sums = g.add(Op::scatter_add, {table, indices, rows}, attrs);
  for (const size_t operand : {0, 1, 2}) EXPECT_EQ(cut_of(g, sums, 0, operand), Cut{0}) << operand;
  EXPECT_EQ(cut_of(g, sums, 1, 0), Cut{1});
  EXPECT_EQ(cut_of(g, sums, 1, 2), kImpossible) << "rows of any slice";
  EXPECT_EQ(cut_of(g, sums, 2, 1), kWhole);
  EXPECT_EQ(cut_of(g, sums, 2, 2), Cut{2});
}

TEST(SplitAxis, OfNoElements) {
  Graph g;
  const ValueId x = g.add_input({{4096, 0}, DType::f32});
  const ValueId sum = reduce_sum(g, x, {0, 1}), view = reshape(g, x, {0, 4096});
  EXPECT_EQ(partial_sum_of(g, *g.def(sum), {0}).block, 1) << "nothing is added up";
  EXPECT_EQ(operand_cut(g, *g.def(view), {0}, 0), kImpossible);
  EXPECT_EQ(result_cut(g, *g.def(view), 0, {1}), kImpossible);
}

TEST(Chunk, ARegionIsAScanThatDrawsAtAnOffset) {
  Graph g;
  const ValueId key = g.add_input({{2}, DType::u32}), w = g.add_input({{64, 8}, DType::f32});
  g.outputs = {matmul(g, normal(g, key, {1000, 64}, DType::f32), w)};
  const Graph simple = simplify(g);
  const std::vector<bool> stored = fuse(simple).stored;
  ValueId samples = tracing::no_value;
  for (size_t v = 0; v < simple.values.size(); ++v) {
    if (stored[v] && simple.values[v].aval.shape == Shape{1000, 64}) samples = static_cast<ValueId>(v);
  }
  ASSERT_NE(samples, tracing::no_value);
  const auto region = RegionFinder(simple, stored).find({samples}, {0});
  ASSERT_TRUE(region);
  EXPECT_EQ(region->extent, 1000);
  EXPECT_EQ(region->unit, 1);
  EXPECT_EQ(slice_length(*region, 3), 334);
  const auto sliced = chunk(simple, {*region}, 3);
  ASSERT_TRUE(sliced);
  verify(*sliced);
  EXPECT_EQ(sliced->aval(sliced->outputs[0]), g.aval(g.outputs[0]));
  int scans = 0;
  for (const tracing::Node& node : sliced->nodes) {
    if (node.op != Op::scan) continue;
    ++scans;
    EXPECT_EQ(node.attrs.integer(Attr::length), 2);
    for (const tracing::Node& inner : node.attrs.graph(Attr::body)->nodes) {
      if (inner.op == Op::random_bits) EXPECT_EQ(inner.attrs.ints(Attr::full_shape), (Ints{1000, 64}));
    }
  }
  EXPECT_EQ(scans, 1);
  // Along the contracted axis products are summed up.
  const auto summed = RegionFinder(simple, stored).find({samples}, {1});
  ASSERT_TRUE(summed);
  EXPECT_EQ(summed->summed.size(), 1u);
  verify(*chunk(simple, {*summed}, 4));
}

// Softmax along the sliced axis: the maximum, then the sum, then the rest, each in slices of its own.
TEST(Chunk, WhatComesBackStartsAnotherStage) {
  Graph g;
  const ValueId q = g.add_input({{64, 64}, DType::f32}), k = g.add_input({{64, 64}, DType::f32});
  const ValueId v = g.add_input({{64, 64}, DType::f32});
  const ValueId scores = matmul(g, q, k);
  const ValueId most = g.add(Op::reduce_max, {scores}, {{Attr::axes, Ints{1}}});
  const ValueId e = g.add(Op::exp, {g.add(Op::subtract, {scores, broadcast(g, most, {64, 64}, {0})})});
  g.outputs = {matmul(g, g.add(Op::divide, {e, broadcast(g, reduce_sum(g, e, {1}), {64, 64}, {0})}), v)};
  const Graph simple = simplify(g);
  const std::vector<bool> stored = fuse(simple).stored;
  const RegionFinder finder(simple, stored);
  for (size_t i = 0; i < simple.values.size(); ++i) {
    const auto dot = static_cast<ValueId>(i);
    if (!simple.is(dot, Op::dot_general) || std::ranges::find(simple.outputs, dot) != simple.outputs.end()) continue;
    const auto region = finder.find({dot}, {2});  // along the keys
    if (!region) continue;                        // the last product
    const auto stages = stages_of(simple, *region);
    EXPECT_GE(stages.size(), 2u);
    EXPECT_FALSE(chunk(simple, {*region}, 4));
    const auto sliced = chunk(simple, stages, 4);
    ASSERT_TRUE(sliced);
    verify(*sliced);
    return;
  }
  ADD_FAILURE() << "no region";
}

TEST(Chunk, WhatNeedsAllSlicesIsOutside) {
  Graph g;  // softmax along the sliced axis: the sum is needed before the quotient
  const ValueId x = g.add_input({{64, 64}, DType::f32});
  const ValueId e = g.add(Op::exp, {matmul(g, x, x)});
  g.outputs = {matmul(g, g.add(Op::divide, {e, broadcast(g, reduce_sum(g, e, {0}), {64, 64}, {1})}), x)};
  const Graph simple = simplify(g);
  const std::vector<bool> stored = fuse(simple).stored;
  for (size_t v = 0; v < simple.values.size(); ++v) {
    if (!stored[v] || !simple.def(static_cast<ValueId>(v))) continue;
    for (int64_t axis = 0; axis < simple.values[v].aval.ndim(); ++axis) {
      const auto region = RegionFinder(simple, stored).find({static_cast<ValueId>(v)}, {axis});
      if (!region) continue;
      if (const auto sliced = chunk(simple, {*region}, 4)) verify(*sliced);
    }
  }
}

}  // namespace
}  // namespace neap::planner
