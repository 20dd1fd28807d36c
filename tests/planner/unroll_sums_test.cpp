// Sums of a few terms as additions: the same values, and nothing of them in memory.
#include "planner/rewrite/unroll_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/neap.h>

#include <random>
#include <vector>

#include "planner/rewrite/simplify.h"
#include "planner/search/make_plan.h"
#include "programs.h"
#include "same_values.h"
#include "tests/count.h"

namespace neap::planner {
namespace {

template <class F>
Graph simplified(const std::vector<Shape>& shapes, const F& f, DType dtype = f32) {
  return simplify(traced(shapes, f, dtype));
}

Array distances(const Array& x, const Array& y) { return sum(square(expand_dims(x, 1) - expand_dims(y, 0)), {2}); }

// Of both signs and many magnitudes, so that the order of a sum shows.
void expect_same(const Graph& a, const Graph& b) {
  expect_same_values(a, b, [](std::mt19937& random) {
    const float x = static_cast<float>(random());
    return x * (random() % 2 == 0 ? 1e-20f : -1e-9f);
  });
}

TEST(UnrollSums, KeepsTheValues) {
  for (const int64_t terms : {1, 2, 3, 4}) {
    const Graph g = simplified({{300, terms}, {250, terms}},
                               [](const tracing::Arrays& in) { return exp(-distances(in[0], in[1])); });
    const std::optional<Graph> unrolled = unroll_sums(g);
    if (terms == 1) continue;  // no sum is left of it
    ASSERT_TRUE(unrolled);
    verify(*unrolled);
    EXPECT_EQ(count(*unrolled, Op::reduce_sum), 0);
    expect_same(g, *unrolled);
    const Graph simple = simplify(*unrolled);
    verify(simple);
    expect_same(g, simple);
  }
}

TEST(UnrollSums, OfBodiesToo) {
  const Graph g = simplified({{300, 3}, {250, 3}}, [](const tracing::Arrays& in) {
    return fori_loop(
        0, 3, [&](const Array&, const Array& c) { return sum(exp(-distances(c, in[1])), {1}, true) + c; }, in[0]);
  });
  const std::optional<Graph> unrolled = unroll_sums(g);
  ASSERT_TRUE(unrolled);
  verify(*unrolled);
  expect_same(g, *unrolled);
}

TEST(UnrollSums, OthersStay) {
  const auto stays = [](const Shape& shape, DType dtype = f32) {
    return !unroll_sums(
        simplified({shape}, [](const tracing::Arrays& in) { return sum(in[0] * in[0], {1}) * 2; }, dtype));
  };
  EXPECT_FALSE(stays({70'000, 3}));
  EXPECT_TRUE(stays({70'000, 5})) << "too many terms";
  EXPECT_TRUE(stays({60'000, 3})) << "little memory";
  EXPECT_TRUE(stays({70'000, 3}, f64)) << "whose order shows";
  EXPECT_TRUE(stays({70'000, 3}, i32)) << "no floats";
}

TEST(UnrollSums, DistancesTakeNoMemory) {
  const Graph g = simplified(
      {{2000, 3}}, [](const tracing::Arrays& in) { return sum(1 / sqrt(distances(in[0], in[0]) + 0.1f), {1}); });
  const PlanData plan = make_plan(g, {});
  EXPECT_LT(plan.peak_bytes, 100'000u) << "16 MB of distances";
}

TEST(UnrollSums, KeepsTheBits) {
  const auto f = [](const Array& x) { return sum(1 / sqrt(distances(x, x) + 0.1f), {1}); };
  const Array x = random::normal(random::key(1), {1000, 3});
  const Array planned = jit(f)(x), naive = jit(f, {.pipeline = Pipeline::naive})(x);
  EXPECT_EQ(planned.to_vector<float>(), naive.to_vector<float>());
}

}  // namespace
}  // namespace neap::planner
