// Decisions are values: recorded, with alternatives, and they flip when they should.
#include <neap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs.h"
#include "planner/plan.h"

namespace neap::planner {
namespace {

const Decision* find(const PlanData& plan, const std::string& what) {
  for (const Decision& d : plan.decisions) {
    if (d.what.find(what) != std::string::npos) return &d;
  }
  return nullptr;
}

Graph samples() {
  Graph g;
  g.outputs = {normal(g, g.add_input({{2}, DType::u32}), {4099, 4099}, DType::bf16)};
  return g;
}

TEST(Choices, AlternativesHaveTheirPeaks) {
  const PlanData plan = make_plan(samples(), {});
  const Decision* d = find(plan, "random_bits at graphs.h:");
  ASSERT_TRUE(d);
  EXPECT_EQ(d->chosen, "fused");
  ASSERT_EQ(d->alternatives.size(), 2u);
  EXPECT_EQ(d->alternatives[0].peak_bytes, plan.peak_bytes);
  EXPECT_EQ(d->alternatives[1].name, "naive");
  EXPECT_EQ(d->alternatives[1].peak_bytes, plan.naive_peak_bytes);
  EXPECT_GT(plan.naive_peak_bytes, 2.99 * static_cast<double>(plan.peak_bytes));
  EXPECT_GT(d->alternatives[1].cost, d->alternatives[0].cost);
  ASSERT_TRUE(plan.naive_plan);
  EXPECT_TRUE(plan.naive_plan->naive);
}

TEST(Choices, NothingElseIsPlannedForARun) {
  PlanOptions options;
  options.want_alternatives = false;
  const PlanData plan = make_plan(samples(), options);
  EXPECT_EQ(plan.naive_peak_bytes, 0u);
  EXPECT_FALSE(plan.naive_plan);
  EXPECT_EQ(find(plan, "random_bits")->chosen, "fused");
}

TEST(Choices, PinnedNaiveStoresTheCotangent) {
  const Graph g = gather_case(1 << 24, DType::i32, true);
  PlanOptions options;
  EXPECT_EQ(find(make_plan(g, options), "scatter_add")->chosen, "nocopy-gather-grad");
  options.strategy = "naive";
  const PlanData plan = make_plan(g, options);
  EXPECT_EQ(find(plan, "scatter_add")->chosen, "naive");
  bool stored = false;
  for (const PlanBuffer& b : plan.buffers) stored |= b.aval == Aval{{1 << 24}, DType::f32};
  EXPECT_TRUE(stored);
}

TEST(Choices, SubkeysAreOneFusedStep) {
  for (const int64_t chunks : {1, 4, 17, 64}) {
    PlanOptions options;
    options.strategy = "subkey";
    options.chunks = chunks;
    const PlanData plan = make_plan(samples(), options);
    EXPECT_EQ(find(plan, "random_bits")->chosen, "subkey");
    EXPECT_THAT(plan.strategies, testing::Contains("subkey"));
    EXPECT_LE(plan.peak_bytes, size_t{4099} * 4099 * 2 + 4096) << to_text(plan);
  }
}

TEST(Choices, UnknownStrategiesAndChunksAreRefused) {
  PlanOptions options;
  options.strategy = "magic";
  EXPECT_THROW(make_plan(samples(), options), OptionError);
  options.strategy = "chunked";
  options.chunks = 0;
  EXPECT_THROW(make_plan(samples(), options), OptionError);
}

TEST(Choices, DropoutMasksAreDrawnAgainInTheBackwardPass) {
  Graph g;  // h = mask(x w), y = h v; dw = x^T (mask(dy v^T))
  const ValueId key = g.add_input({{2}, DType::u32});
  const ValueId x = g.add_input({{1024, 256}, DType::f32}), w = g.add_input({{256, 256}, DType::f32});
  const Shape shape{1024, 256};
  const ValueId keep = g.add(Op::less, {uniform(g, key, shape), splat(g, 0.9, DType::f32, shape)});
  const ValueId zero = splat(g, 0, DType::f32, shape);
  const ValueId h = g.add(Op::select, {keep, matmul(g, x, w), zero});
  const ValueId y = matmul(g, h, w);
  const ValueId dh = g.add(Op::select, {keep, matmul(g, y, w), zero});
  g.outputs = {matmul(g, dh, w)};
  const PlanData plan = make_plan(g, {});
  for (const PlanBuffer& b : plan.buffers) EXPECT_NE(b.aval.dtype, DType::bool_) << to_text(plan);
  const Decision* d = find(plan, "random_bits");
  ASSERT_TRUE(d) << to_text(plan);
  EXPECT_EQ(d->chosen, "recompute");
  EXPECT_THAT(plan.strategies, testing::Contains("recompute"));
  bool keep_is_larger = false;
  for (const Alternative& other : d->alternatives)
    keep_is_larger |= other.name == "keep" && other.peak_bytes >= plan.peak_bytes;
  EXPECT_TRUE(keep_is_larger);
}

}  // namespace
}  // namespace neap::planner
