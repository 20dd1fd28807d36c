// What the naive plan holds at least is never more than what it holds.
#include "planner/kernels/naive_bound.h"

#include <gtest/gtest.h>

#include "planner/rewrite/simplify.h"
#include "planner/search/make_plan.h"
#include "programs.h"

namespace neap::planner {
namespace {

size_t naive_peak(const Graph& g, std::vector<bool> donated = {}) {
  return make_plan(g, {.naive = true, .donated = std::move(donated)}).peak_bytes;
}

size_t bound(const Graph& g) { return naive_peak_at_least(simplify(g, Builder::Level::light), {}); }

TEST(NaiveBound, IsThePeakWhereNothingIsWrittenOver) {
  for (const Graph& g : {products(1), products(10), gather_case(1000, DType::i16, false)}) {
    EXPECT_LE(bound(g), naive_peak(g));
    EXPECT_GE(bound(g), naive_peak(g) * 9 / 10);
  }
}

TEST(NaiveBound, OfLoopsLeavesTheirBodiesOut) {
  const Graph g = loop_of_products();
  EXPECT_LE(bound(g), naive_peak(g));
  EXPECT_GE(bound(g), naive_peak(g) / 2);
}

TEST(NaiveBound, WithoutWhatIsConstant) {  // the order of one element
  Graph g;
  const ValueId x = g.add_input({{64, 1}, DType::f32});
  const ValueId order = g.add(Op::argsort, {x}, {{Attr::axis, int64_t{1}}, {Attr::descending, int64_t{0}}});
  g.outputs = {g.add(Op::add, {order, order})};
  EXPECT_LE(bound(g), naive_peak(g));
}

TEST(NaiveBound, OfABroadcastToNoElements) {  // it is stored, and what it is of is not held for it
  Graph g;
  const ValueId x = g.add_input({{}, DType::f32}), y = g.add(Op::sin, {x});
  g.outputs = {g.add(Op::broadcast_in_dim, {y}, {{Attr::shape, Shape{0}}, {Attr::axes, Ints{}}}),
               g.add(Op::convert, {g.add(Op::cos, {y})}, {{Attr::dtype, DType::f64}})};
  EXPECT_LE(bound(g), naive_peak(g));
}

TEST(NaiveBound, CountsDonatedArguments) {
  Graph g;
  const ValueId x = g.add_input({{1 << 16}, DType::f32});
  g.outputs = {g.add(Op::tanh, {x})};
  EXPECT_EQ(bound(g), naive_peak(g, {true}));
}

}  // namespace
}  // namespace neap::planner
