// Cumulative ops are one step each, in place where they can be, with their scratch in the plan.
#include "planner/kernels/cumulative.h"

#include <gtest/gtest.h>

#include "graphs.h"
#include "planner/plan/plan.h"
#include "planner/report/report.h"
#include "planner/rewrite/simplify.h"
#include "planner/search/make_plan.h"
#include "tests/count.h"

namespace neap::planner {
namespace {

ValueId cumulate(Graph& g, Op op, ValueId x, int64_t axis, int64_t reverse = 0) {
  return g.add(op, {x}, {{Attr::axis, axis}, {Attr::reverse, reverse}});
}

TEST(Cumulative, FormsOfAnyAxis) {
  Graph g;
  const ValueId x = g.add_input({{2, 3, 5, 7}, DType::f16});
  g.outputs = {cumulate(g, Op::cummin, x, 1, 1), cumulate(g, Op::cumsum, x, 3)};
  EXPECT_EQ(cumulative_form(g, g.nodes[0]), (CumulativeForm{2, 3, 35, DType::f16, Cumulation::min, true}));
  EXPECT_EQ(cumulative_form(g, g.nodes[1]), (CumulativeForm{30, 7, 1, DType::f16, Cumulation::sum, false}));
}

TEST(Cumulative, OfOneElementThereIsNone) {
  Graph g;
  g.outputs = {cumulate(g, Op::cumsum, g.add_input({{4, 1}, DType::f32}), 1)};
  EXPECT_EQ(simplify(g).outputs[0], g.inputs[0]);
}

TEST(Cumulative, OverWhatDiesWithItsTotalsInThePlan) {
  for (const bool gpu : {false, true}) {
    Graph g;
    const int64_t n = 1 << 20;
    const ValueId x = g.add_input({{n}, DType::f32});
    g.outputs = {
        g.add(Op::reduce_max, {cumulate(g, Op::cumsum, g.add(Op::sin, {x}), 0)}, {{Attr::axes, tracing::Ints{0}}})};
    PlanOptions options;
    options.target.gpu = gpu;
    const PlanData plan = make_plan(g, options);
    ASSERT_EQ(plan.steps.size(), 3u) << to_text(plan);
    EXPECT_EQ(plan.steps[1].kind, PlanStep::Kind::cumulative);
    EXPECT_EQ(plan.steps[1].scratch.size(), 1u);
    EXPECT_GE(plan.peak_bytes, 8u * n);
    EXPECT_LE(plan.peak_bytes, 8u * n + 16384);
  }
}

TEST(Cumulative, BlocksFollowFromTheShape) {
  EXPECT_EQ(cumulative_layout({1, 1 << 24, 1}).blocks, 1024);
  EXPECT_EQ(cumulative_layout({1, 1000, 1}).blocks, 1);
  EXPECT_EQ(cumulative_layout({4096, 1 << 20, 1}).blocks, 1) << "rows enough";
  const CumulativeLayout wide = cumulative_layout({1, 1 << 20, 8});
  EXPECT_GT(wide.blocks, 1);
  EXPECT_EQ(wide.scratch_bytes, static_cast<size_t>(wide.blocks) * 8 * 8);
  EXPECT_EQ(cumulative_layout({1, 0, 8}).scratch_bytes, 0u);
  EXPECT_EQ(cumulative_block({7, 5000, 3}), cumulative_block({1, 5000, 1})) << "of the length alone";
  CumulativeForm product{1, 1 << 20, 1};
  product.kind = Cumulation::prod;
  EXPECT_EQ(cumulative_layout(product).blocks, 1);
  product.dtype = DType::i32;
  EXPECT_GT(cumulative_layout(product).blocks, 1);
}

}  // namespace
}  // namespace neap::planner
