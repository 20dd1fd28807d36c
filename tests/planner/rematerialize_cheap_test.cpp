// What is cheap to make again does not wait.
#include "planner/search/rematerialize_cheap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/neap.h>

namespace neap::planner {
namespace {

constexpr int64_t kRows = 4096, kWidth = 64;

// Whether the plan holds much less than the one that keeps all it has, for little more predicted time.
template <class F, class... A>
void check_leaner(double most, const F& f, const A&... specs) {
  const PlanData keeping = jit(f, {.strategy = "fused"}).plan(specs...).data();
  const PlanData plan = jit(f).plan(specs...).data();
  EXPECT_LE(static_cast<double>(plan.peak_bytes), most * static_cast<double>(keeping.peak_bytes));
  EXPECT_LE(plan.predicted_seconds, 1.3 * keeping.predicted_seconds);
  EXPECT_THAT(plan.strategies, testing::Contains("recompute"));
}

TEST(RematerializeCheap, ActivationsBesideWhatTheyAreOf) {
  const auto loss = [](const Array& up, const Array& down, const Array& x) {
    Array h = x;
    for (int i = 0; i < 6; ++i) h = h + matmul(gelu(matmul(h, up)), down);
    return sum(h * h);
  };
  check_leaner(0.75, grad<0, 1>(loss), spec({kWidth, 4 * kWidth}, f32), spec({4 * kWidth, kWidth}, f32),
               spec({kRows, kWidth}, f32));
}

TEST(RematerializeCheap, GatheredRows) {
  const auto loss = [](const Array& w, const Array& nodes, const Array& index) {
    Array h = nodes;
    for (int i = 0; i < 4; ++i) h = h + sum(reshape(matmul(take(h, index), w), {kRows / 16, 16, kWidth}), 1);
    return sum(h * h);
  };
  check_leaner(0.75, grad(loss), spec({kWidth, kWidth}, f32), spec({kRows / 16, kWidth}, f32), spec({kRows}, i32));
}

TEST(RematerializeCheap, WindowsOfAnImage) {
  const auto loss = [](const Array& w, const Array& image) {
    Array x = image;
    for (int layer = 0; layer < 4; ++layer) {
      const Array padded = pad(tanh(x), {0, 1, 0}, {0, 1, 0});
      Array next = x;
      for (int i = 0; i < 3; ++i) next = next + matmul(padded[{slice(), slice(i, i + kRows)}], w[i]);
      x = next;
    }
    return sum(x * x);
  };
  check_leaner(0.75, grad(loss), spec({3, kWidth, kWidth}, f32), spec({1, kRows, kWidth}, f32));
}

// Products of few terms are not dear: the scores are made again from what they are of.
TEST(RematerializeCheap, ScoresOfAttention) {
  const auto loss = [](const Array& w, const Array& x) {
    Array h = x;
    for (int i = 0; i < 6; ++i) {
      const Array key = matmul(h, w);
      h = h + matmul(softmax(matmul(h, transpose(key))), key);
    }
    return sum(h * h);
  };
  check_leaner(0.58, grad(loss), spec({kWidth, kWidth}, f32), spec({512, kWidth}, f32));
}

// Products are dear: they wait.
TEST(RematerializeCheap, ProductsWait) {
  const auto loss = [](const Array& w, const Array& x) {
    Array h = x;
    for (int i = 0; i < 4; ++i) h = matmul(h, w);
    return sum(h * h);
  };
  const auto f = grad(loss);
  const Array w = spec({kWidth, kWidth}, f32), x = spec({kRows, kWidth}, f32);
  EXPECT_EQ(jit(f).plan(w, x).num_steps(), jit(f, {.strategy = "fused"}).plan(w, x).num_steps());
}

}  // namespace
}  // namespace neap::planner
