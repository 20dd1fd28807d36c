// The founding cases, planned at full size.
#include "planner/plan/plan.h"

#include <gtest/gtest.h>

#include "core/buffer.h"
#include "graphs.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"

namespace neap::planner {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

Graph random_normal(DType dtype) {
  Graph g;
  const ValueId key = g.add_input({{2}, DType::u32});
  g.outputs = {normal(g, key, {46341, 46341}, dtype)};
  return g;
}

TEST(Plan, RandomNormalHoldsItsOutputOnly) {
  const PlanData plan = make_plan(random_normal(DType::bf16), {});
  ASSERT_EQ(plan.steps.size(), 1u) << to_text(plan);
  EXPECT_EQ(plan.peak_bytes, round_up_64(4294976562) + 64);
  EXPECT_EQ(plan.steps[0].strategy, Strategy::fused);
  EXPECT_EQ(plan.arena_bytes, 0u);
  EXPECT_EQ(most_live(plan), plan.peak_bytes);
}

TEST(Plan, NaiveRandomNormalIsThreeTimesItsOutput) {
  const PlanData plan = make_plan(random_normal(DType::bf16), {.naive = true});
  const size_t output = 4294976562;
  EXPECT_EQ(plan.peak_bytes, round_up_64(2 * output) + round_up_64(output) + 64) << to_text(plan);
  EXPECT_EQ(most_live(plan), plan.peak_bytes);
  for (const PlanStep& step : plan.steps) EXPECT_EQ(step.strategy, Strategy::naive);
}

TEST(Plan, GatherGradientReadsIndicesInPlace) {
  for (const auto [index, limit, forward_limit] : {std::tuple{DType::i32, 96.05, 96.02}, {DType::i16, 48.05, 48.02}}) {
    const PlanData gradient = make_plan(gather_case(int64_t{1} << 33, index, true), {});
    ASSERT_EQ(gradient.steps.size(), 1u) << to_text(gradient);
    EXPECT_EQ(gradient.steps[0].strategy, Strategy::nocopy_gather_grad);
    EXPECT_EQ(gradient.steps[0].form, ScatterForm::counts);
    EXPECT_EQ(gradient.steps[0].partials, 4);
    EXPECT_LE(static_cast<double>(gradient.peak_bytes) / kGiB, limit);
    EXPECT_EQ(most_live(gradient), gradient.peak_bytes);
    const PlanData forward = make_plan(gather_case(int64_t{1} << 33, index, false), {});
    ASSERT_EQ(forward.steps.size(), 1u) << to_text(forward);
    EXPECT_LE(static_cast<double>(forward.peak_bytes) / kGiB, forward_limit);
    EXPECT_EQ(most_live(forward), forward.peak_bytes);
  }
}

TEST(Plan, NaiveGatherGradientStoresTheCotangent) {
  const PlanData plan = make_plan(gather_case(int64_t{1} << 33, DType::i32, true), {.naive = true});
  EXPECT_GE(static_cast<double>(plan.peak_bytes) / kGiB, 128) << to_text(plan);
  EXPECT_EQ(most_live(plan), plan.peak_bytes);
}

}  // namespace
}  // namespace neap::planner
