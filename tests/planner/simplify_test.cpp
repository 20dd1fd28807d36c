// What simplification makes of small graphs; that it changes no bit is checked by tests/conformance.
#include "planner/rewrite/simplify.h"

#include <gtest/gtest.h>

#include <limits>

#include "graphs.h"
#include "planner/plan/graph_edit.h"

namespace neap::planner {
namespace {

class Simplify : public testing::Test {
 protected:
  Graph g;
  ValueId x = g.add_input({{4, 6}, DType::f32});
  ValueId i = g.add_input({{4, 6}, DType::i32});

  ValueId add(Op op, std::vector<ValueId> inputs, Attrs attrs = {}) {
    return g.add(op, std::move(inputs), std::move(attrs));
  }
  ValueId transpose(ValueId v, Ints p) { return add(Op::transpose, {v}, {{Attr::permutation, std::move(p)}}); }
  ValueId slice(ValueId v, Ints start, Ints limit) {
    Ints stride(start.size(), 1);
    return add(Op::slice, {v}, {{Attr::start, start}, {Attr::limit, limit}, {Attr::stride, stride}});
  }
  ValueId concatenate(std::vector<ValueId> v, int64_t axis) {
    return add(Op::concatenate, std::move(v), {{Attr::axis, axis}});
  }

  // The graph with these outputs, simplified.
  Graph run(std::vector<ValueId> outputs) {
    g.outputs = std::move(outputs);
    Graph result = simplify(g);
    verify(result);
    for (size_t k = 0; k < g.outputs.size(); ++k) EXPECT_EQ(result.aval(result.outputs[k]), g.aval(g.outputs[k]));
    EXPECT_EQ(simplify(result), result);
    return result;
  }
  // Whether the output becomes the first input itself.
  bool becomes_input(ValueId v, int input = 0) {
    const Graph result = run({v});
    return result.outputs[0] == result.inputs[input];
  }
};

TEST_F(Simplify, IdentitiesThatKeepEveryBit) {
  const auto c = [&](double value) { return splat(g, value, DType::f32, {4, 6}); };
  const auto k = [&](double value) { return splat(g, value, DType::i32, {4, 6}); };
  EXPECT_TRUE(becomes_input(add(Op::multiply, {x, c(1)})));
  EXPECT_TRUE(becomes_input(add(Op::divide, {x, c(1)})));
  EXPECT_TRUE(becomes_input(add(Op::subtract, {x, c(0)})));
  EXPECT_TRUE(becomes_input(add(Op::add, {x, c(-0.0)})));
  EXPECT_FALSE(becomes_input(add(Op::add, {x, c(0)}))) << "-0 + 0 is 0";
  EXPECT_TRUE(becomes_input(add(Op::add, {k(0), i}), 1));
  EXPECT_TRUE(becomes_input(add(Op::negative, {add(Op::negative, {x})})));
  EXPECT_TRUE(becomes_input(add(Op::select, {splat(g, 1, DType::bool_, {4, 6}), x, c(3)})));
  EXPECT_TRUE(becomes_input(add(Op::maximum, {x, x})));
}

TEST_F(Simplify, ConversionsThatLoseNothingCancel) {
  EXPECT_TRUE(becomes_input(convert(g, convert(g, x, DType::f64), DType::f32)));
  EXPECT_FALSE(becomes_input(convert(g, convert(g, x, DType::bf16), DType::f32)));
  EXPECT_TRUE(becomes_input(convert(g, convert(g, i, DType::f64), DType::i32), 1));
  EXPECT_FALSE(becomes_input(convert(g, convert(g, i, DType::f32), DType::i32), 1)) << "24 bits";
  // Through a float an integer saturates, directly it wraps.
  EXPECT_EQ(run({convert(g, convert(g, i, DType::f64), DType::i8)}).nodes.size(), 2u);
}

TEST_F(Simplify, ViewsCompose) {
  EXPECT_TRUE(becomes_input(transpose(transpose(x, {1, 0}), {1, 0})));
  EXPECT_TRUE(becomes_input(reshape(g, reshape(g, x, {24}), {4, 6})));
  EXPECT_TRUE(becomes_input(slice(x, {0, 0}, {4, 6})));
  EXPECT_TRUE(becomes_input(slice(concatenate({x, x}, 0), {4, 0}, {8, 6})));
  EXPECT_EQ(run({slice(slice(x, {1, 1}, {4, 5}), {1, 0}, {3, 2})}).nodes.size(), 1u);
  EXPECT_EQ(run({broadcast(g, broadcast(g, x, {4, 6, 2}, {0, 1}), {3, 4, 6, 2}, {1, 2, 3})}).nodes.size(), 1u);
  const Graph moved = run({transpose(reshape(g, x, {4, 1, 6}), {1, 0, 2})});
  ASSERT_EQ(moved.nodes.size(), 1u);
  EXPECT_EQ(moved.nodes[0].op, Op::reshape);
}

TEST_F(Simplify, ConstantsFold) {
  const ValueId c =
      broadcast(g, add(Op::multiply, {splat(g, 3, DType::f32, {}), splat(g, 4, DType::f32, {})}), {4, 6}, {});
  const Graph result = run({add(Op::add, {x, transpose(reshape(g, c, {6, 4}), {1, 0})})});
  ASSERT_EQ(result.nodes.size(), 2u) << print(result);
  EXPECT_EQ(result.nodes[0].attrs.real(Attr::value), 12);
}

TEST_F(Simplify, CommonSubexpressionsAndDeadCode) {
  add(Op::exp, {x});  // dead
  const ValueId a = add(Op::sin, {x}), b = add(Op::sin, {x});
  EXPECT_EQ(run({add(Op::multiply, {a, b})}).nodes.size(), 2u);
}

TEST_F(Simplify, DeadCodeInBodiesGoes) {
  for (const bool dead : {false, true}) {
    Graph body;
    const ValueId carry = body.add_input({{4, 6}, DType::f32});
    if (dead) body.add(Op::exp, {carry});
    body.outputs = {body.add(Op::sin, {carry})};
    Graph outer;
    const ValueId in = outer.add_input({{4, 6}, DType::f32});
    outer.outputs = {add_scan(outer, {in}, body, 5, 0, 1).outputs[0]};
    EXPECT_EQ(is_all_live(outer), !dead);
    const tracing::GraphPtr before = outer.nodes[0].attrs.graph(Attr::body);
    const tracing::GraphPtr after = drop_dead_code(outer).nodes[0].attrs.graph(Attr::body);
    EXPECT_EQ(after->nodes.size(), 1u);
    EXPECT_EQ(after == before, !dead);  // what has nothing dead is not copied
  }
}

TEST_F(Simplify, SplitAndJoinedAgainIsTheArray) {
  EXPECT_TRUE(becomes_input(concatenate({slice(x, {0, 0}, {4, 2}), slice(x, {0, 2}, {4, 6})}, 1)));
  // Columns of [n, 3], as [n, 1] arrays of indices stacked anew: the tuple form of gather.
  const ValueId idx = g.add_input({{10, 3}, DType::i16});
  std::vector<ValueId> columns;
  for (int64_t c = 0; c < 3; ++c) {
    const ValueId wide = convert(g, slice(idx, {0, c}, {10, c + 1}), DType::i32);
    columns.push_back(broadcast(g, wide, {10, 1, 1}, {0, 2}));
  }
  const ValueId table = g.add_input({{5, 6, 7}, DType::f32});
  const ValueId picked =
      add(Op::gather, {table, concatenate(columns, 2)}, {{Attr::axes, Ints{0, 1, 2}}, {Attr::mode, int64_t{0}}});
  const Graph result = run({reshape(g, picked, {10})});
  for (const tracing::Node& node : result.nodes) {
    EXPECT_TRUE(node.op == Op::gather || node.op == Op::reshape) << print(result);
    if (node.op == Op::gather) EXPECT_EQ(result.aval(node.inputs[1]).dtype, DType::i16);
  }
}

TEST_F(Simplify, ARowUpdateIsAScatter) {
  const ValueId big = g.add_input({{100, 6}, DType::f32}), start = g.add_input({{2}, DType::i64});
  const ValueId row = g.add_input({{1, 6}, DType::f32}), column = g.add_input({{100, 1}, DType::f32});
  const Graph rows = run({add(Op::dynamic_update_slice, {big, row, start})});
  EXPECT_EQ(rows.nodes.back().op, Op::scatter_set) << print(rows);
  const Graph columns = run({add(Op::dynamic_update_slice, {big, column, start})});
  EXPECT_EQ(columns.nodes.back().op, Op::dynamic_update_slice);
}

TEST_F(Simplify, AnElementOfEachRowIsASelection) {
  const ValueId labels = g.add_input({{4, 1}, DType::u8}), update = g.add_input({{4}, DType::f32});
  const auto indices = [&](int64_t rows) {
    const ValueId count =
        add(Op::iota, {}, {{Attr::dtype, DType::i32}, {Attr::shape, Shape{rows}}, {Attr::axis, int64_t{0}}});
    return concatenate({reshape(g, count, {rows, 1}), convert(g, labels, DType::i32)}, 1);
  };
  const auto scatter = [&](ValueId operand) {
    return add(Op::scatter_add, {operand, indices(4), update}, {{Attr::axes, Ints{0, 1}}, {Attr::mode, int64_t{0}}});
  };
  const auto scatters = [](const Graph& graph) {
    return std::ranges::count_if(graph.nodes, [](const tracing::Node& n) { return n.op == Op::scatter_add; });
  };
  EXPECT_EQ(scatters(run({scatter(splat(g, 0, DType::f32, {4, 6}))})), 0);
  EXPECT_EQ(scatters(run({scatter(x)})), 1) << "in place it touches four elements only";
  EXPECT_EQ(scatters(run({scatter(splat(g, 0, DType::f32, {5, 6}))})), 1) << "a row without an update";
}

TEST_F(Simplify, ReductionsOfOneElementAreViews) {
  const ValueId column = reshape(g, x, {4, 1, 6});
  const Graph largest = run({g.add(Op::reduce_max, {column}, {{Attr::axes, tracing::Ints{1}}})});
  EXPECT_TRUE(largest.nodes.empty() || largest.nodes[0].op == Op::reshape) << print(largest);
  const Graph sum = run({reduce_sum(g, column, {1})});  // plus 0, which makes -0 0
  EXPECT_EQ(std::ranges::count(sum.nodes, Op::reduce_sum, &tracing::Node::op), 0) << print(sum);
  EXPECT_EQ(std::ranges::count(sum.nodes, Op::add, &tracing::Node::op), 1) << print(sum);
}

TEST_F(Simplify, ScansLoseWhatNobodyReads) {
  Graph body;
  const ValueId k = body.add_input({{}, DType::f32});      // const, unused in what remains
  const ValueId sum = body.add_input({{}, DType::f32});    // carry, read
  const ValueId fixed = body.add_input({{}, DType::f32});  // carry that never changes
  const ValueId own = body.add_input({{}, DType::f32});    // carry that feeds only itself
  const ValueId slice = body.add_input({{}, DType::f32});
  body.outputs = {body.add(Op::add, {sum, body.add(Op::multiply, {fixed, slice})}), fixed, body.add(Op::exp, {own}),
                  body.add(Op::multiply, {k, slice})};
  const ValueId zero = splat(g, 0, DType::f32, {});
  const ValueId start = g.add_input({{}, DType::f32}), xs = g.add_input({{9}, DType::f32});
  const tracing::Node& scan = add_scan(g, {start, zero, start, start, xs}, body, 9, 1, 3);
  const Graph result = run({scan.outputs[0], scan.outputs[1]});
  ASSERT_EQ(result.nodes.size(), 2u) << print(result);
  EXPECT_EQ(result.nodes[1].attrs.integer(Attr::num_carry), 1);
  EXPECT_EQ(result.nodes[1].outputs.size(), 1u);
  EXPECT_EQ(result.outputs[1], result.inputs[2]);
}

TEST_F(Simplify, HugeStridesDoNotOverflow) {
  const ValueId v = g.add_input({{10}, DType::f32});
  const auto strided = [&](ValueId from, int64_t start, int64_t limit, int64_t stride) {
    return add(Op::slice, {from},
               {{Attr::start, Ints{start}}, {Attr::limit, Ints{limit}}, {Attr::stride, Ints{stride}}});
  };
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  for (const int64_t first : {int64_t{3}, int64_t{1} << 40, kHuge / 2, kHuge}) {
    for (const int64_t second : {int64_t{1}, int64_t{3}, int64_t{1} << 40, kHuge}) {
      const ValueId one = strided(v, 2, 3, first), none = strided(v, 4, 4, first);
      const Graph result = run({strided(one, 0, 1, second), strided(one, 1, 1, second), strided(none, 0, 0, second)});
      ASSERT_TRUE(result.is(result.outputs[0], Op::slice)) << print(result);
      EXPECT_EQ(result.def(result.outputs[0])->attrs.ints(Attr::start), Ints{2});
    }
  }
}

TEST_F(Simplify, JoinedConstantsKeepTheSignOfZero) {
  const ValueId zero = splat(g, 0.0, DType::f32, {2}), negative = splat(g, -0.0, DType::f32, {2});
  const Graph apart = run({concatenate({zero, negative}, 0)});
  EXPECT_TRUE(apart.is(apart.outputs[0], Op::concatenate)) << print(apart);
  const Graph alike = run({concatenate({negative, negative}, 0)});
  EXPECT_TRUE(alike.is(alike.outputs[0], Op::constant)) << print(alike);
}

TEST_F(Simplify, CarriesThatOnlyFeedEachOtherGo) {
  Graph body;  // (a, b, c) -> (b + 1, a, c + 1)
  const ValueId a = body.add_input({{}, DType::f32}), b = body.add_input({{}, DType::f32});
  const ValueId c = body.add_input({{}, DType::f32}), one = splat(body, 1, DType::f32, {});
  body.outputs = {body.add(Op::add, {b, one}), a, body.add(Op::add, {c, one})};
  const ValueId start = g.add_input({{}, DType::f32});
  const tracing::Node& scan = add_scan(g, {start, start, start}, body, 9, 0, 3);
  const Graph result = run({scan.outputs[2]});
  ASSERT_EQ(result.nodes.size(), 1u) << print(result);
  EXPECT_EQ(result.nodes[0].attrs.integer(Attr::num_carry), 1);
}

TEST_F(Simplify, AChainOfJoinsStaysSmall) {
  ValueId y = add(Op::iota, {}, {{Attr::dtype, DType::i32}, {Attr::shape, Shape{2}}, {Attr::axis, int64_t{0}}});
  for (int k = 0; k < 2000; ++k) y = concatenate({y, splat(g, k, DType::i32, {1})}, 0);
  size_t pieces = 0;
  for (const tracing::Node& node : run({y}).nodes) pieces += node.op == Op::concatenate ? node.inputs.size() : 0;
  EXPECT_LT(pieces, 2200u);
}

TEST(HoldsExactly, FollowsTheFormats) {
  EXPECT_TRUE(holds_exactly(DType::f32, DType::bf16));
  EXPECT_FALSE(holds_exactly(DType::bf16, DType::f16));
  EXPECT_FALSE(holds_exactly(DType::f16, DType::bf16));
  EXPECT_TRUE(holds_exactly(DType::f64, DType::u32));
  EXPECT_FALSE(holds_exactly(DType::f64, DType::i64));
  EXPECT_FALSE(holds_exactly(DType::u64, DType::i8));
  EXPECT_TRUE(holds_exactly(DType::i64, DType::u32));
  EXPECT_FALSE(holds_exactly(DType::f32, DType::i32));
}

}  // namespace
}  // namespace neap::planner
