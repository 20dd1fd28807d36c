// Shapes and dtypes that each family of ops infers, and what it refuses.
#include "trace/graph/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/message.h"
#include "tests/trace/samples.h"

namespace neap::tracing {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<Aval> infer_all(Op op, std::vector<Aval> operands, Attrs attrs = {}) {
  return infer(op, operands, attrs, std::source_location::current());
}
Aval one(Op op, std::vector<Aval> operands, Attrs attrs = {}) {
  return infer_all(op, std::move(operands), std::move(attrs)).at(0);
}

const Attrs kClipFirst{{Attr::axes, Ints{0}}, {Attr::mode, static_cast<int64_t>(IndexMode::clip)}};
const Attrs kClipAll{{Attr::axes, Ints{0, 1, 2}}, {Attr::mode, static_cast<int64_t>(IndexMode::clip)}};

TEST(Infer, ElementwiseIsStrict) {
  EXPECT_EQ(one(Op::add, {{{2, 3}, f32}, {{2, 3}, f32}}), (Aval{{2, 3}, f32}));
  EXPECT_EQ(one(Op::less, {{{2}, i8}, {{2}, i8}}), (Aval{{2}, bool_}));
  EXPECT_EQ(one(Op::select, {{{2}, bool_}, {{2}, u8}, {{2}, u8}}), (Aval{{2}, u8}));
  EXPECT_THAT(message_of<ShapeError>([] { one(Op::add, {{{2, 3}, f32}, {{3}, f32}}); }),
              AllOf(HasSubstr("add: f32[2,3] and f32[3]; expected equal shapes; broadcast"), HasSubstr("infer_test")));
  EXPECT_THAT(
      message_of<DTypeError>([] { one(Op::add, {{{2}, f32}, {{2}, bf16}}); }),
      HasSubstr("f32[2] and bf16[2]; expected equal dtypes; convert one of them, for example with astype(f32)"));
  EXPECT_THAT(message_of<DTypeError>([] { one(Op::sin, {{{2}, i32}}); }),
              HasSubstr("sin: i32[2]; expected a floating dtype"));
  EXPECT_THAT(message_of<DTypeError>([] { one(Op::bitwise_and, {{{2}, f32}, {{2}, f32}}); }), HasSubstr("integer"));
  EXPECT_THAT(message_of<DTypeError>([] { one(Op::add, {{{2}, bool_}, {{2}, bool_}}); }), HasSubstr("astype(i32)"));
  EXPECT_THAT(message_of<DTypeError>([] { one(Op::select, {{{2}, i32}, {{2}, u8}, {{2}, u8}}); }),
              HasSubstr("the condition is i32[2]; expected bool"));
  EXPECT_THROW(one(Op::add, {{{2}, f32}}), InternalError);
}

TEST(Infer, Leaves) {
  EXPECT_THROW(one(Op::iota, {}, {{Attr::dtype, bool_}, {Attr::shape, Ints{2}}, {Attr::axis, 0}}), DTypeError);
  EXPECT_THROW(one(Op::iota, {}, {{Attr::dtype, i32}, {Attr::shape, Ints{2}}, {Attr::axis, 1}}), IndexError);
  EXPECT_THROW(one(Op::constant, {}, {{Attr::dtype, f32}, {Attr::shape, Ints{-1}}, {Attr::value, 0.0}}), ShapeError);
  EXPECT_THROW(one(Op::constant, {}, {{Attr::dtype, f32}, {Attr::shape, Ints{1LL << 32, 1LL << 32}}, {Attr::value, 0}}),
               ShapeError);
}

TEST(Infer, Conversions) {
  EXPECT_EQ(one(Op::convert, {{{2}, f32}}, {{Attr::dtype, bool_}}), (Aval{{2}, bool_}));
  EXPECT_EQ(one(Op::bitcast, {{{2}, bf16}}, {{Attr::dtype, u16}}), (Aval{{2}, u16}));
  EXPECT_THAT(message_of<DTypeError>([] { one(Op::bitcast, {{{2}, f32}}, {{Attr::dtype, u16}}); }),
              HasSubstr("f32[2] to u16; expected dtypes of equal width"));
  EXPECT_THROW(one(Op::bitcast, {{{2}, u8}}, {{Attr::dtype, bool_}}), DTypeError);
}

TEST(Infer, Layout) {
  const auto broadcast = [](Shape from, Ints to, Ints axes) {
    return one(Op::broadcast_in_dim, {{from, f32}}, {{Attr::shape, to}, {Attr::axes, axes}});
  };
  EXPECT_EQ(broadcast({3, 1}, {2, 3, 4}, {1, 2}).shape, (Shape{2, 3, 4}));
  EXPECT_THROW(broadcast({3}, {2, 4}, {1}), ShapeError);
  EXPECT_THROW(broadcast({2, 3}, {3, 2}, {1, 0}), IndexError);
  EXPECT_THROW(one(Op::reshape, {{{2, 3}, f32}}, {{Attr::shape, Ints{4}}}), ShapeError);
  EXPECT_EQ(one(Op::transpose, {{{2, 3, 4}, f32}}, {{Attr::permutation, Ints{2, 0, 1}}}).shape, (Shape{4, 2, 3}));
  EXPECT_THROW(one(Op::transpose, {{{2, 3}, f32}}, {{Attr::permutation, Ints{0, 0}}}), IndexError);
  EXPECT_THROW(one(Op::transpose, {{{2, 3}, f32}}, {{Attr::permutation, Ints{0}}}), ShapeError);

  const auto slice = [](int64_t start, int64_t limit, int64_t stride) {
    return one(Op::slice, {{{7}, f32}},
               {{Attr::start, Ints{start}}, {Attr::limit, Ints{limit}}, {Attr::stride, Ints{stride}}});
  };
  EXPECT_EQ(slice(1, 7, 2).shape, (Shape{3}));
  EXPECT_EQ(slice(1, 6, 2).shape, (Shape{3}));
  EXPECT_EQ(slice(3, 3, 1).shape, (Shape{0}));
  EXPECT_THROW(slice(0, 8, 1), IndexError);
  EXPECT_THROW(slice(4, 3, 1), IndexError);
  EXPECT_THROW(slice(0, 3, 0), IndexError);

  const auto pad = [](int64_t extent, int64_t low, int64_t high, int64_t interior) {
    return one(Op::pad, {{{extent}, f32}, {{}, f32}},
               {{Attr::low, Ints{low}}, {Attr::high, Ints{high}}, {Attr::interior, Ints{interior}}});
  };
  EXPECT_EQ(pad(3, 1, 2, 2).shape, (Shape{10}));
  EXPECT_EQ(pad(3, -1, 0, 0).shape, (Shape{2}));
  EXPECT_EQ(pad(0, 1, 1, 5).shape, (Shape{2}));
  EXPECT_THROW(pad(3, -2, -2, 0), ShapeError);
  EXPECT_THROW(pad(3, 0, 0, -1), ShapeError);

  EXPECT_EQ(one(Op::concatenate, {{{2, 3}, f32}, {{2, 1}, f32}, {{2, 2}, f32}}, {{Attr::axis, 1}}).shape,
            (Shape{2, 6}));
  EXPECT_THROW(one(Op::concatenate, {{{2, 3}, f32}, {{1, 3}, f32}}, {{Attr::axis, 1}}), ShapeError);
  EXPECT_THROW(one(Op::concatenate, {{{2, 3}, f32}, {{3}, f32}}, {{Attr::axis, 1}}), ShapeError);
  EXPECT_THROW(one(Op::concatenate, {}, {{Attr::axis, 0}}), ShapeError);

  EXPECT_EQ(one(Op::dynamic_slice, {{{4, 5}, f32}, {{2}, i64}}, {{Attr::shape, Ints{2, 5}}}).shape, (Shape{2, 5}));
  EXPECT_THROW(one(Op::dynamic_slice, {{{4, 5}, f32}, {{2}, i64}}, {{Attr::shape, Ints{2, 6}}}), ShapeError);
  EXPECT_THROW(one(Op::dynamic_slice, {{{4, 5}, f32}, {{2}, i32}}, {{Attr::shape, Ints{2, 5}}}), DTypeError);
  EXPECT_THROW(one(Op::dynamic_slice, {{{4, 5}, f32}, {{1}, i64}}, {{Attr::shape, Ints{2, 5}}}), ShapeError);
  EXPECT_THROW(one(Op::dynamic_update_slice, {{{4}, f32}, {{2}, f16}, {{1}, i64}}), DTypeError);
}

TEST(Infer, Reductions) {
  EXPECT_EQ(one(Op::reduce_sum, {{{2, 3, 4}, f16}}, {{Attr::axes, Ints{2, 0}}}), (Aval{{3}, f16}));
  EXPECT_EQ(one(Op::argmax, {{{2, 3}, bool_}}, {{Attr::axis, 0}}), (Aval{{3}, i32}));
  EXPECT_THROW(one(Op::reduce_sum, {{{2}, bool_}}, {{Attr::axes, Ints{0}}}), DTypeError);
  EXPECT_THROW(one(Op::reduce_any, {{{2}, f32}}, {{Attr::axes, Ints{0}}}), DTypeError);
  EXPECT_THROW(one(Op::reduce_xor, {{{2}, f32}}, {{Attr::axes, Ints{0}}}), DTypeError);
  EXPECT_THROW(one(Op::reduce_xor, {{{2}, bool_}}, {{Attr::axes, Ints{0}}}), DTypeError);
  EXPECT_THROW(one(Op::reduce_sum, {{{2}, f32}}, {{Attr::axes, Ints{0, 0}}}), IndexError);
  EXPECT_THAT(message_of<IndexError>([] { one(Op::reduce_max, {{{2, 3}, f32}}, {{Attr::axes, Ints{2}}}); }),
              HasSubstr("axis 2 of an operand of 2 dimensions; expected 0 to 1"));
  EXPECT_THROW(one(Op::argmax, {{{2, 0}, f32}}, {{Attr::axis, 1}}), ShapeError);
}

TEST(Infer, DotGeneral) {
  const auto dot = [](Aval lhs, Aval rhs, Ints lb, Ints rb, Ints lc, Ints rc) {
    return one(Op::dot_general, {lhs, rhs},
               {{Attr::lhs_batch, lb}, {Attr::rhs_batch, rb}, {Attr::lhs_contract, lc}, {Attr::rhs_contract, rc}});
  };
  EXPECT_EQ(dot({{5, 2, 3}, f32}, {{3, 5, 4}, f32}, {0}, {1}, {2}, {0}), (Aval{{5, 2, 4}, f32}));
  EXPECT_EQ(dot({{2}, i32}, {{3}, i32}, {}, {}, {}, {}), (Aval{{2, 3}, i32}));
  EXPECT_THAT(message_of<ShapeError>([&] { dot({{2, 3}, f32}, {{4, 5}, f32}, {}, {}, {1}, {0}); }),
              HasSubstr("contracted axis 1 of lhs has 3 elements, axis 0 of rhs 4"));
  EXPECT_THROW(dot({{2, 3}, f32}, {{3, 5}, f64}, {}, {}, {1}, {0}), DTypeError);
  EXPECT_THROW(dot({{2, 2}, f32}, {{2, 2}, f32}, {0}, {0}, {0}, {1}), IndexError);
  EXPECT_THROW(dot({{2, 2}, f32}, {{2, 2}, f32}, {}, {0}, {0}, {1}), ShapeError);
}

TEST(Infer, GatherAndScatter) {
  EXPECT_EQ(one(Op::gather, {{{128, 128, 128}, f32}, {{7, 3}, i16}}, kClipAll), (Aval{{7}, f32}));
  EXPECT_EQ(one(Op::gather, {{{4, 3}, bf16}, {{5, 6, 1}, u8}}, kClipFirst), (Aval{{5, 6, 3}, bf16}));
  EXPECT_THAT(message_of<ShapeError>([] { one(Op::gather, {{{128, 128, 128}, f32}, {{7, 2}, i32}}, kClipAll); }),
              HasSubstr("gather: index has 2 columns, operand has 3 dimensions (f32[128,128,128]); "
                        "pass one column per dimension  [infer_test.cpp:"));
  EXPECT_THROW(one(Op::gather, {{{4}, f32}, {{7, 1}, f32}}, kClipFirst), DTypeError);
  EXPECT_THROW(one(Op::gather, {{{4}, f32}, {{}, i32}}, kClipFirst), ShapeError);
  EXPECT_THROW(one(Op::gather, {{{0, 2}, f32}, {{7, 1}, i32}}, kClipFirst), IndexError);
  EXPECT_EQ(one(Op::gather, {{{0, 2}, f32}, {{0, 1}, i32}}, kClipFirst), (Aval{{0, 2}, f32}));
  EXPECT_EQ(one(Op::scatter_add, {{{4, 3}, f32}, {{2, 1}, i32}, {{2, 3}, f32}}, kClipFirst), (Aval{{4, 3}, f32}));
  EXPECT_THAT(
      message_of<ShapeError>([] { one(Op::scatter_add, {{{4, 3}, f32}, {{2, 1}, i32}, {{2}, f32}}, kClipFirst); }),
      HasSubstr("updates f32[2] for f32[4,3] at index i32[2,1]; expected shape [2,3]"));
  EXPECT_THROW(one(Op::scatter_add, {{{4}, f32}, {{2, 1}, i32}, {{2}, f16}}, kClipFirst), DTypeError);
  EXPECT_THROW(one(Op::scatter_max, {{{4}, bool_}, {{2, 1}, i32}, {{2}, bool_}}, kClipFirst), DTypeError);
}

TEST(Infer, Random) {
  const Attrs bits{{Attr::shape, Ints{4}}, {Attr::dtype, u8}};
  EXPECT_EQ(one(Op::random_bits, {{{3, 2}, u32}}, bits), (Aval{{3, 4}, u8}));
  EXPECT_THROW(one(Op::random_bits, {{{3}, u32}}, bits), ShapeError);
  EXPECT_THROW(one(Op::random_bits, {{{2}, i32}}, bits), DTypeError);
  EXPECT_THROW(one(Op::random_bits, {{{2}, u32}, {{1}, i64}}, bits), InternalError);
  EXPECT_THROW(one(Op::random_bits, {{{2}, u32}}, {{Attr::shape, Ints{4}}, {Attr::dtype, f32}}), DTypeError);
  EXPECT_EQ(one(Op::random_split, {{{3, 2}, u32}}, {{Attr::shape, Ints{4, 5}}}), (Aval{{3, 4, 5, 2}, u32}));
  EXPECT_EQ(one(Op::random_fold_in, {{{3, 2}, u32}, {{3}, u32}}), (Aval{{3, 2}, u32}));
  EXPECT_THROW(one(Op::random_fold_in, {{{3, 2}, u32}, {{}, u32}}), ShapeError);
}

TEST(Infer, ScanChecksItsBody) {
  const Graph graph = scan_sample();
  const Node& node = graph.nodes[0];
  EXPECT_EQ(graph.aval(node.outputs[0]), (Aval{{}, f32}));
  EXPECT_EQ(graph.aval(node.outputs[1]), (Aval{{3}, f32}));
  EXPECT_THAT(message_of<ShapeError>([&] { infer_all(Op::scan, {{{}, f32}, {{}, f32}, {{4}, f32}}, node.attrs); }),
              HasSubstr("stacked input 0 is f32[4]; expected f32[3], as the body takes it"));
  EXPECT_THAT(message_of<ShapeError>([&] { infer_all(Op::scan, {{{}, f32}, {{}, f64}, {{3}, f32}}, node.attrs); }),
              HasSubstr("carry 0 is f64[]"));
  EXPECT_THROW(infer_all(Op::scan, {{{}, f32}, {{}, f32}}, node.attrs), InternalError);

  Graph body = *node.attrs.graph(Attr::body);
  body.outputs[0] = body.add(Op::convert, {body.outputs[0]}, {{Attr::dtype, f16}});
  Attrs attrs = node.attrs;
  attrs.set(Attr::body, std::make_shared<const Graph>(body));
  EXPECT_THAT(message_of<DTypeError>([&] { infer_all(Op::scan, {{{}, f32}, {{}, f32}, {{3}, f32}}, attrs); }),
              HasSubstr("carry 0 enters as f32[] and leaves as f16[]"));
}

TEST(Infer, BranchesAgree) {
  const Graph graph = cond_sample();
  const Node& node = graph.nodes[0];
  const Aval flag{{}, bool_}, v{{3}, f32};
  EXPECT_EQ(infer_all(Op::cond, {flag, v, v}, node.attrs), std::vector{v});
  EXPECT_THROW(infer_all(Op::cond, {{{}, i32}, v, v}, node.attrs), InternalError);
  EXPECT_THROW(infer_all(Op::cond, {flag, v}, node.attrs), InternalError);
  Graph other = *node.attrs.graph(Attr::otherwise);
  other.outputs = {other.add(Op::reduce_sum, {other.outputs[0]}, {{Attr::axes, Ints{0}}})};
  Attrs attrs = node.attrs;
  attrs.set(Attr::otherwise, std::make_shared<const Graph>(other));
  EXPECT_THROW(infer_all(Op::cond, {flag, v, v}, attrs), InternalError);
}

TEST(Infer, WhileHasACondition) {
  const Graph graph = while_sample();
  const Node& node = graph.nodes.back();
  const Aval scalar{{}, f32}, flag{{}, bool_}, count{{}, i32};
  EXPECT_EQ(infer_all(Op::while_loop, {scalar, flag, scalar, count}, node.attrs),
            (std::vector<Aval>{flag, scalar, count}));
  EXPECT_THROW(infer_all(Op::while_loop, {scalar, flag, scalar}, node.attrs), InternalError);
  Attrs attrs = node.attrs;
  attrs.set(Attr::num_consts, 2);
  attrs.set(Attr::num_carry, 2);
  EXPECT_THROW(infer_all(Op::while_loop, {scalar, flag, scalar, count}, attrs), InternalError);
}

TEST(Infer, RefusesAttributesThatAnOpDoesNotHave) {
  EXPECT_THROW(one(Op::exp, {{{2}, f32}}, {{Attr::axis, 0}}), InternalError);
  EXPECT_THROW(one(Op::reduce_sum, {{{2}, f32}}, {{Attr::axes, 0}}), InternalError);
  EXPECT_NO_THROW(one(Op::exp, {{{2}, f32}}, {{Attr::marks, int64_t{3}}}));
}

}  // namespace
}  // namespace neap::tracing
