// Decisions are values: recorded, with alternatives, and they flip when they should.
#include <neap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs.h"
#include "planner/plan/plan.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"
#include "planner/search/pins.h"

namespace neap::planner {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

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
  options.strategy = Strategy::naive;
  const PlanData plan = make_plan(g, options);
  EXPECT_EQ(find(plan, "scatter_add")->chosen, "naive");
  bool stored = false;
  for (const PlanBuffer& b : plan.buffers) stored |= b.aval == Aval{{1 << 24}, DType::f32};
  EXPECT_TRUE(stored);
}

TEST(Choices, SubkeysAreOneFusedStep) {
  for (const int64_t chunks : {1, 4, 17, 64}) {
    PlanOptions options;
    options.strategy = Strategy::subkey;
    options.chunks = chunks;
    const PlanData plan = make_plan(samples(), options);
    EXPECT_EQ(find(plan, "random_bits")->chosen, "subkey");
    EXPECT_THAT(plan.strategies, testing::Contains("subkey"));
    EXPECT_LE(plan.peak_bytes, size_t{4099} * 4099 * 2 + 4096) << to_text(plan);
  }
}

TEST(Choices, UnknownStrategiesAndChunksAreRefused) {
  EXPECT_THAT([] { pinned_strategy("magic"); },
              ThrowsMessage<OptionError>(HasSubstr("got \"magic\"; expected one of")));
  EXPECT_THAT([] { pinned_strategy("opaque"); }, ThrowsMessage<OptionError>(HasSubstr("got \"opaque\"")));
  PlanOptions options;
  options.strategy = Strategy::chunked;
  options.chunks = 0;
  EXPECT_THROW(make_plan(samples(), options), OptionError);
}

// x + 1 where x is needed no longer, because it is given away.
TEST(Choices, PinnedInPlaceIsInPlace) {
  Graph g;
  const ValueId x = g.add_input({{1024}, DType::f32});
  g.outputs = {g.add(Op::sin, {x})};
  PlanOptions options;
  options.strategy = Strategy::inplace;
  EXPECT_THAT([&] { make_plan(g, options); },
              ThrowsMessage<OptionError>(AllOf(HasSubstr("strategy: got \"inplace\""), HasSubstr("donate an argument"),
                                               HasSubstr("choices_test.cpp:"))));
  options.donated = {true};
  const PlanData plan = make_plan(g, options);
  EXPECT_THAT(plan.strategies, testing::Contains("inplace"));
  EXPECT_EQ(plan.peak_bytes, size_t{4096});
}

// Where the usual plan stores the updates, the pinned one computes them where they are added.
TEST(Choices, PinnedGatherGradientsStoreNoUpdates) {
  PlanOptions options;
  options.strategy = Strategy::nocopy_gather_grad;
  const Graph gradient = gather_case(1 << 20, DType::i32, true);
  EXPECT_EQ(find(make_plan(gradient, options), "scatter_add")->chosen, "nocopy-gather-grad");

  enum class Other : uint8_t { nothing, product, result };
  const auto scattered = [](Other other) {
    Graph g;
    const ValueId table = g.add_input({{64}, DType::f32}), rows = g.add_input({{4096, 1}, DType::i32});
    ValueId sines = g.add_input({{4096}, DType::f32});
    for (int i = 0; i < 4; ++i) sines = g.add(Op::sin, {sines});
    g.outputs = {g.add(Op::scatter_add, {table, rows, sines}, {{Attr::axes, Ints{0}}, {Attr::mode, int64_t{0}}})};
    const ValueId row = reshape(g, sines, {1, 4096});
    if (other == Other::product) g.outputs.push_back(matmul(g, row, reshape(g, sines, {4096, 1})));
    if (other == Other::result) g.outputs.push_back(sines);
    return g;
  };
  EXPECT_EQ(find(make_plan(scattered(Other::nothing), options), "scatter_add")->chosen, "nocopy-gather-grad");
  const Graph stored = scattered(Other::result), multiplied = scattered(Other::product);
  EXPECT_THAT(make_plan(multiplied, {}).strategies, testing::Not(testing::Contains("nocopy-gather-grad")));
  EXPECT_THAT(make_plan(multiplied, options).strategies, testing::Contains("nocopy-gather-grad"))
      << "the sines are computed again where they are added";
  EXPECT_THAT([&] { make_plan(stored, options); },
              ThrowsMessage<OptionError>(AllOf(HasSubstr("expected a function that adds to elements by index"),
                                               HasSubstr("choices_test.cpp:"))));
  EXPECT_THAT([&] { make_plan(samples(), options); },
              ThrowsMessage<OptionError>(HasSubstr("expected a function that adds to elements by index")));
}

TEST(Choices, EveryPinIsInThePlanOrRefused) {
  Graph product;  // nothing to choose
  product.outputs = {matmul(product, product.add_input({{8, 8}, DType::f32}), product.add_input({{8, 8}, DType::f32}))};
  Graph shared;  // sines that two products read
  const ValueId x = shared.add_input({{64, 64}, DType::f32});
  const ValueId sines = shared.add(Op::sin, {x});
  shared.outputs = {shared.add(Op::exp, {sines}), reduce_sum(shared, sines, {0})};
  const Graph random = samples(), gradient = gather_case(1 << 20, DType::i32, true);
  for (const Strategy strategy : {Strategy::naive, Strategy::fused, Strategy::chunked, Strategy::subkey,
                                  Strategy::nocopy_gather_grad, Strategy::recompute, Strategy::inplace}) {
    const std::string called(name(strategy));
    EXPECT_EQ(pinned_strategy(called), strategy);
    const bool always = strategy == Strategy::naive || strategy == Strategy::fused;
    bool refused = false, made = false;
    for (const Graph* g : {&std::as_const(product), &std::as_const(shared), &random, &gradient}) {
      PlanOptions options;
      options.strategy = strategy;
      options.donated.assign(g->inputs.size(), true);
      try {
        const PlanData plan = make_plan(*g, options);
        made = true;
        if (strategy != Strategy::fused) {
          EXPECT_THAT(plan.strategies, testing::Contains(called)) << to_text(plan);
        } else {
          EXPECT_FALSE(shows(plan, Strategy::chunked) || shows(plan, Strategy::naive));
        }
      } catch (const OptionError& error) {
        refused = true;
        EXPECT_THAT(error.what(), HasSubstr(called));
      }
    }
    EXPECT_TRUE(made) << called;
    EXPECT_EQ(refused, !always) << called;
  }
}

TEST(Choices, PinsThatCannotHoldAreRefused) {
  PlanOptions options;
  options.naive = true;
  options.strategy = Strategy::chunked;
  EXPECT_THROW(make_plan(samples(), options), OptionError);
  options.strategy = Strategy::naive;
  EXPECT_TRUE(make_plan(samples(), options).naive);
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
