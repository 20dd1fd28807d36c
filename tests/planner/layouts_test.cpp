// Transposes pass through elementwise ops and products, and no bit changes.
#include "planner/rewrite/layouts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "planner/rewrite/simplify.h"
#include "planner/search/candidates.h"
#include "programs.h"
#include "tests/count.h"
#include "trace/reference/reference.h"

namespace neap::planner {
namespace {

using tracing::HostValue;

TEST(Layouts, ABatchOfTangentsStaysAsProductsGiveIt) {
  const Graph g = batch_of_tangents();
  const auto laid_out = lay_out(g);
  ASSERT_TRUE(laid_out);
  verify(*laid_out);
  EXPECT_EQ(laid_out->aval(laid_out->outputs[0]), g.aval(g.outputs[0]));
  // What is left is to make the weights' tangents ready for their product.
  const Graph before = simplify(g), after = simplify(*laid_out);
  EXPECT_LT(count(after, Op::transpose), count(before, Op::transpose));
  const Planned usual = plan_simplified(before, {}, {});
  const Program program(g);
  Search search = begin_search(program, {});
  ASSERT_TRUE(consider("laid out", search));
  EXPECT_LT(search.planned.plan.peak_bytes, usual.plan.peak_bytes);
  EXPECT_EQ(count(search.planned.graph, Op::transpose), count(after, Op::transpose));
}

TEST(Layouts, WhatHasNoTransposesStays) {
  Graph g;
  const ValueId a = g.add_input({{7, 5}, DType::f32}), b = g.add_input({{5, 7}, DType::f32});
  g.outputs = {g.add(Op::tanh, {matmul(g, a, b)})};
  EXPECT_FALSE(lay_out(g));
  g.outputs.push_back(transpose(g, a, {1, 0}));
  EXPECT_FALSE(lay_out(g)) << "nothing computes with it";
}

// Random programs of what layouts pass through and of what they do not.
class RandomLayouts : public testing::TestWithParam<uint64_t> {
 protected:
  std::mt19937_64 random{GetParam()};
  Graph g;

  size_t pick(size_t n) { return random() % n; }
  ValueId any() {
    return static_cast<ValueId>(pick(2) ? g.values.size() - 1 - pick(std::min<size_t>(4, g.values.size()))
                                        : pick(g.values.size()));
  }
  Ints some_permutation(size_t rank) {
    Ints permutation(rank);
    for (size_t i = 0; i < rank; ++i) permutation[i] = static_cast<int64_t>(i);
    std::ranges::shuffle(permutation, random);
    return permutation;
  }
  // Of this shape: something that is there, moved if it must be, or spread from what is smaller.
  ValueId like(const Shape& shape) {
    for (int tries = 0; tries < 20; ++tries) {
      const ValueId v = any();
      const Shape& own = g.aval(v).shape;
      if (own == shape) return v;
      if (own.size() == shape.size()) {
        const Ints permutation = some_permutation(shape.size());
        Shape moved;
        for (const int64_t axis : permutation) moved.push_back(own[axis]);
        if (moved == shape) return transpose(g, v, permutation);
      } else if (own.size() < shape.size()) {
        Ints axes;
        for (size_t i = 0, j = 0; j < shape.size() && i < own.size(); ++j) {
          if (own[i] == shape[j]) axes.push_back(static_cast<int64_t>(j)), ++i;
        }
        if (axes.size() == own.size()) return broadcast(g, v, shape, axes);
      }
    }
    return splat(g, 0.5, DType::f32, shape);
  }
  void step() {
    const ValueId v = any();
    const Shape shape = g.aval(v).shape;
    const size_t rank = shape.size();
    switch (pick(8)) {
      case 0:
      case 1: transpose(g, v, some_permutation(rank)); return;
      case 2:
      case 3: g.add(pick(2) ? Op::add : Op::multiply, {v, like(shape)}); return;
      case 4: g.add(Op::negative, {v}); return;
      case 5: {
        Shape other;
        for (const int64_t extent : shape) {
          if (extent != 1) other.push_back(extent);
          if (pick(4) == 0) other.push_back(1);
        }
        if (other.size() < 5) reshape(g, v, other);
        return;
      }
      case 6:
        if (rank > 2) reduce_sum(g, v, {static_cast<int64_t>(pick(rank))});
        return;
      default: {
        const ValueId w = any();
        const Shape& wide = g.aval(w).shape;
        if (rank < 2 || wide.size() < 2 || rank + wide.size() > 6) return;
        const auto i = static_cast<int64_t>(pick(rank)), j = static_cast<int64_t>(pick(wide.size()));
        const int64_t k = (i + 1) % static_cast<int64_t>(rank), l = (j + 1) % static_cast<int64_t>(wide.size());
        if (shape[i] != wide[j]) return;
        if (shape[k] == wide[l] && pick(2))
          dot(g, v, w, {i}, {j}, {k}, {l});
        else if (shape[k] == wide[l] && pick(2))
          dot(g, v, w, {i, k}, {j, l});
        else
          dot(g, v, w, {i}, {j});
      }
    }
  }
};

TEST_P(RandomLayouts, GiveTheSameBits) {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{3, 2}, Shape{4, 3}, Shape{3, 3, 2}, Shape{1, 4, 3}})
    g.add_input({shape, DType::f32});
  for (int i = 0; i < 40; ++i) step();
  for (int i = 0; i < 6; ++i) g.outputs.push_back(any());
  const auto laid_out = lay_out(g);
  if (!laid_out) return;
  verify(*laid_out);
  std::vector<HostValue> inputs;
  std::uniform_int_distribution<int> quarters(-8, 8);  // sums are exact
  for (const ValueId v : g.inputs) {
    HostValue& x = inputs.emplace_back(HostValue{g.aval(v), allocate(g.aval(v).bytes(), "test")});
    for (int64_t i = 0; i < x.aval.size(); ++i) x.data->as<float>()[i] = static_cast<float>(quarters(random)) / 4;
  }
  const auto want = evaluate_reference(g, inputs), got = evaluate_reference(*laid_out, inputs);
  const auto simple = evaluate_reference(simplify(*laid_out), inputs);
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].aval, want[i].aval);
    EXPECT_EQ(std::memcmp(got[i].data->data(), want[i].data->data(), want[i].aval.bytes()), 0) << "output " << i;
    for (int64_t k = 0; k < want[i].aval.size(); ++k)
      EXPECT_FLOAT_EQ(simple[i].data->as<float>()[k], want[i].data->as<float>()[k]) << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLayouts, testing::Range<uint64_t>(0, 400));

}  // namespace
}  // namespace neap::planner
