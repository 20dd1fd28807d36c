// Steps that were merged for what they share, where that is stored in the end: programs whose fused plans would hold
// more than the naive pipeline stay fused, and hold no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/neap.h>

#include "planner/plan/plan.h"
#include "planner/search/better.h"

namespace neap::planner {
namespace {

// A convolution written as nine products, of images with their channels last.
Array conv_nhwc(const Array& x, const Array& w) {
  const Array padded = pad(x, {0, 1, 1, 0}, {0, 1, 1, 0});
  const int64_t rows = x.shape(1), columns = x.shape(2);
  Array total;
  for (int64_t tap = 0; tap < 9; ++tap) {
    const int64_t row = tap / 3, column = tap % 3;
    const Array read = padded[{slice(), slice(row, row + rows), slice(column, column + columns)}];
    const Array product = matmul(read, transpose(w[{slice(), slice(), row, column}]));
    total = tap == 0 ? product : total + product;
  }
  return total;
}

Array residual(const Array& x, const Array& w1, const Array& w2) {
  return x + conv_nhwc(maximum(conv_nhwc(x, w1), 0.f), w2);
}

// Scaled to a mean of 0 and a variance of 1, as BatchNorm does.
Array normalized(const Array& x) { return (x - mean(x, {0, 1, 2})) * rsqrt(var(x, {0, 1, 2}) + 1e-5f); }

Array image() { return spec({4, 24, 24, 64}, f32); }
Array kernel() { return spec({64, 64, 3, 3}, f32); }

void expect_fused_and_no_more_than_naive(const Plan& plan) {
  const PlanData& data = plan.data();
  EXPECT_FALSE(data.naive);
  ASSERT_TRUE(data.naive_plan);
  EXPECT_FALSE(exceeds_naive(price_of(data), price_of(*data.naive_plan)));
  EXPECT_LT(data.predicted_seconds, data.naive_plan->predicted_seconds);
}

TEST(PartSteps, TapsOfAConvolutionAreNotAliveAtOnce) {
  const Plan plan = jit(residual).plan(image(), kernel(), kernel());
  expect_fused_and_no_more_than_naive(plan);
  EXPECT_LE(plan.peak_bytes(), 7 * image().bytes());  // nine taps alone are 9
  EXPECT_EQ(plan.decision("steps"), "parted");
}

TEST(PartSteps, NorAreThoseOfItsGradient) {
  const auto loss = [](const Array& x, const Array& w1, const Array& w2) { return sum(square(residual(x, w1, w2))); };
  expect_fused_and_no_more_than_naive(jit(grad<0, 1, 2>(loss)).plan(image(), kernel(), kernel()));
}

TEST(PartSteps, NorThoseUnderBatchNorm) {
  const auto loss = [](const Array& x, const Array& w1, const Array& w2) {
    const Array h = maximum(normalized(conv_nhwc(x, w1)), 0.f);
    return mean(square(maximum(normalized(conv_nhwc(h, w2)), 0.f) + x));
  };
  expect_fused_and_no_more_than_naive(jit(grad<1, 2>(loss)).plan(image(), kernel(), kernel()));
}

TEST(PartSteps, ScansInParallelStayFused) {
  const auto recurrence = [](const Array& a, const Array& b) {
    using Pair = std::pair<Array, Array>;
    const auto combine = [](const Pair& l, const Pair& r) {
      return Pair{l.first * r.first, r.first * l.second + r.second};
    };
    return associative_scan(combine, Pair{a, b});
  };
  const Array x = spec({2048, 512}, f32);
  expect_fused_and_no_more_than_naive(jit(recurrence).plan(x, x));
}

TEST(PartSteps, KeepsTheBits) {
  const Array x = random::normal(random::key(1), {2, 12, 12, 8}), w = random::normal(random::key(2), {8, 8, 3, 3});
  const Array planned = jit(residual)(x, w, w), naive = jit(residual, {.pipeline = Pipeline::naive})(x, w, w);
  EXPECT_EQ(planned.to_vector<float>(), naive.to_vector<float>());
}

}  // namespace
}  // namespace neap::planner
