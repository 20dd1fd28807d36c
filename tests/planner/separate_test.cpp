// Steps at the peak that are taken apart where the whole plan would hold more than the naive pipeline's. Each program
// is one that once fell back as a whole.
#include "planner/search/separate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/fuse/fuse.h"
#include "planner/fuse/steps.h"
#include "planner/rewrite/simplify.h"
#include "planner/search/make_plan.h"
#include "tests/planner/programs.h"

namespace neap::planner {
namespace {

using testing::Contains;

// The rows of a sorted array with one element of it added to a column of it.
Graph scattered() {
  Graph g;
  const ValueId x = g.add_input({{300, 500}, f32}), index = g.add_input({{1}, i32});
  const ValueId sorted = g.add(Op::sort, {x}, {{Attr::axis, int64_t{1}}, {Attr::descending, int64_t{0}}});
  const ValueId mixed = g.add(Op::subtract, {sorted, x});
  const ValueId one =
      g.add(Op::slice, {mixed}, {{Attr::start, Ints{7, 9}}, {Attr::limit, Ints{8, 10}}, {Attr::stride, Ints{1, 1}}});
  const ValueId updates = broadcast(g, reshape(g, one, {}), {300}, {});
  g.outputs = {g.add(Op::scatter_add, {mixed, index, updates}, {{Attr::axes, Ints{1}}, {Attr::mode, int64_t{0}}})};
  return g;
}

// A sum that reads one element of what the sort before it has read: the whole would wait for that.
Graph reads_one_element() {
  Graph g;
  const ValueId x = g.add_input({{500, 300}, f32});
  const ValueId a = g.add(Op::asinh, {x}), b = g.add(Op::divide, {a, x});
  const ValueId sorted = g.add(Op::sort, {b}, {{Attr::axis, int64_t{1}}, {Attr::descending, int64_t{0}}});
  const ValueId c = convert(g, g.add(Op::abs, {a}), DType::u32);
  const ValueId one = g.add(Op::slice, {convert(g, b, DType::u32)},
                            {{Attr::start, Ints{7, 9}}, {Attr::limit, Ints{8, 10}}, {Attr::stride, Ints{1, 1}}});
  const ValueId both = g.add(Op::add, {c, broadcast(g, reshape(g, one, {}), {500, 300}, {})});
  g.outputs = {c, both, sorted};
  return g;
}

struct Plans {
  Planned fused;
  Price naive;
};

Plans plan_both(const Graph& graph) {
  return {plan_simplified(simplify(graph), {}, {}), price_of(make_plan(graph, {.naive = true}))};
}

TEST(Separate, StoresWhatFreesMoreThanItTakes) {
  const auto [fused, naive] = plan_both(transposed_sum());
  ASSERT_TRUE(exceeds_naive(price_of(fused.plan), naive));
  const auto separated = separate_peaks(fused, naive, {});
  ASSERT_TRUE(separated);
  EXPECT_LE(separated->plan.peak_bytes, naive.peak_bytes);
  EXPECT_EQ(separated->plan.steps.size(), fused.plan.steps.size() + 1);
}

TEST(Separate, WritesAComputedOperandOfAScatterInPlace) {
  const auto [fused, naive] = plan_both(scattered());
  ASSERT_TRUE(exceeds_naive(price_of(fused.plan), naive));
  const auto separated = separate_peaks(fused, naive, {});
  ASSERT_TRUE(separated);
  EXPECT_LE(separated->plan.peak_bytes, naive.peak_bytes);
  const auto in_place = [](const PlanStep& step) {
    return step.kind == PlanStep::Kind::scatter && step.operand_in_place;
  };
  EXPECT_TRUE(std::ranges::any_of(separated->plan.steps, in_place));
}

TEST(Separate, StoresASmallValueInPlaceOfTheLargeOneThatItIsOf) {
  const auto [fused, naive] = plan_both(reads_one_element());
  ASSERT_TRUE(exceeds_naive(price_of(fused.plan), naive));
  const auto separated = separate_peaks(fused, naive, {});
  ASSERT_TRUE(separated);
  EXPECT_FALSE(exceeds_naive(price_of(separated->plan), naive));
}

TEST(Separate, APlanSaysSo) {
  for (const Graph& graph : {transposed_sum(), scattered(), reads_one_element()}) {
    const PlanData plan = make_plan(graph, {});
    EXPECT_FALSE(plan.naive);
    EXPECT_THAT(plan.decisions, Contains(testing::Field(&Decision::chosen, "separated")));
  }
}

TEST(Separate, NothingIsFoundWhereNothingIsTooHigh) {
  const auto [fused, naive] = plan_both(transposed_sum());
  EXPECT_FALSE(separate_peaks(fused, {2 * fused.plan.peak_bytes, naive.seconds}, {}));
}

}  // namespace
}  // namespace neap::planner
