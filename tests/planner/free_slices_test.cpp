// Slices without a budget, where they cost nothing.
#include "planner/search/free_slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/neap.h>

#include <cstring>

namespace neap::planner {
namespace {

constexpr int64_t kHeads = 8, kLength = 1024, kWidth = 16;

Array attention(const Array& q, const Array& k, const Array& v) {
  return matmul(softmax(matmul(q, swapaxes(k, -1, -2)) * 0.25f), v);
}
Array energy(const Array& q, const Array& k, const Array& v) {
  const Array out = attention(q, k, v);
  return sum(out * out);
}

Array drawn(int seed) { return random::normal(random::key(seed), {kHeads, kLength, kWidth}); }
Array head() { return spec({kHeads, kLength, kWidth}, f32); }

void expect_same_bits(const Array& a, const Array& b) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_EQ(std::memcmp(a.data<float>(), b.data<float>(), static_cast<size_t>(a.size()) * sizeof(float)), 0);
}

TEST(FreeSlices, AttentionKeepsTheScoresOfAHead) {
  const auto free = jit(attention);
  const auto whole = jit(attention, {.strategy = "fused"});
  const PlanData plan = free.plan(head(), head(), head()).data();
  const PlanData other = whole.plan(head(), head(), head()).data();
  EXPECT_LE(plan.peak_bytes, other.peak_bytes / 3);
  EXPECT_LE(plan.predicted_seconds, 1.03 * other.predicted_seconds);
  EXPECT_THAT(plan.strategies, testing::Contains("chunked"));
  expect_same_bits(free(drawn(1), drawn(2), drawn(3)), whole(drawn(1), drawn(2), drawn(3)));
}

TEST(FreeSlices, SoDoesItsGradient) {
  const auto free = jit(grad(energy));
  const auto whole = jit(grad(energy), {.strategy = "fused"});
  EXPECT_LE(free.plan(head(), head(), head()).peak_bytes(), whole.plan(head(), head(), head()).peak_bytes() / 2);
  expect_same_bits(free(drawn(1), drawn(2), drawn(3)), whole(drawn(1), drawn(2), drawn(3)));
}

// A budget between: the plan without one fits it. One below: another search, whose plans begin where this one ends.
TEST(FreeSlices, BudgetsGoOnFromThem) {
  const size_t peak = jit(attention).plan(head(), head(), head()).peak_bytes();
  const auto planned = [&](size_t budget) {
    return jit(attention, {.memory_budget = budget}).plan(head(), head(), head()).peak_bytes();
  };
  EXPECT_EQ(planned(peak), peak);
  EXPECT_EQ(planned(2 * peak), peak);
  EXPECT_LT(planned(peak - 1), peak);
  const auto curve = jit(attention).tradeoff(head(), head(), head());
  ASSERT_GT(curve.size(), 1u);
  EXPECT_EQ(curve[0].peak_bytes, peak);
  EXPECT_LT(curve[1].peak_bytes, peak);
}

TEST(FreeSlices, SmallProgramsAreLeftAlone) {
  const Array small = spec({2, 64, 8}, f32);
  EXPECT_THAT(jit(attention).plan(small, small, small).data().strategies, testing::Not(testing::Contains("chunked")));
}

}  // namespace
}  // namespace neap::planner
