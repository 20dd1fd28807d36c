// Factorizations are one opaque step each, with their work space in the plan.
#include "planner/kernels/factor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/buffer.h"
#include "planner/plan/plan.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"

namespace neap::planner {
namespace {

using namespace tracing;
using testing::HasSubstr;

ValueId cholesky(Graph& g, ValueId a) { return g.add(Op::cholesky, {a}); }

TEST(FactorPlan, ScratchIsInThePlan) {
  for (const int64_t batch : {1, 5}) {
    Graph g;
    const Aval a{{batch, 300, 200}, DType::f64};
    g.outputs = {g.add(Op::svd, {g.add_input(a)}, {{Attr::full, int64_t{0}}, {Attr::vectors, int64_t{1}}})};
    const PlanData plan = make_plan(g, {});
    ASSERT_EQ(plan.steps.size(), 1u);
    EXPECT_EQ(plan.steps[0].kind, PlanStep::Kind::factor);
    EXPECT_EQ(plan.steps[0].strategy, Strategy::opaque);
    const factor::Form form = factor_form(plan.steps[0].group, plan.steps[0].group.nodes[0]);
    EXPECT_EQ(form, (factor::Form{.kind = factor::Kind::svd, .dtype = DType::f64, .batch = batch, .m = 300, .n = 200}));
    const size_t scratch = factor::layout(form).bytes();
    EXPECT_GT(scratch, size_t{300 * 200 * 8});
    EXPECT_EQ(plan.peak_bytes, a.bytes() + round_up_64(g.aval(g.outputs[0]).bytes()) + round_up_64(scratch));
  }
}

TEST(FactorPlan, OverADyingOperand) {
  Graph g;
  const Aval a{{256, 256}, DType::f32};
  const ValueId x = g.add_input(a), b = g.add_input({{256, 64}, DType::f32});
  const ValueId l = cholesky(g, g.add(Op::add, {x, x}));
  g.outputs = {g.add(Op::triangular_solve, {l, g.add(Op::add, {b, b})},
                     {{Attr::lower, 1}, {Attr::transposed, 0}, {Attr::unit, 0}})};
  const PlanData plan = make_plan(g, {});
  int in_place = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.kind != PlanStep::Kind::factor) continue;
    const auto root = [&](int buffer) {
      return plan.buffers[buffer].alias_of < 0 ? buffer : plan.buffers[buffer].alias_of;
    };
    in_place += root(step.writes[0]) == root(step.reads.back());
  }
  EXPECT_EQ(in_place, 2) << to_text(plan);
}

constexpr int64_t kSide = 2000;  // work space is little beside a matrix
constexpr size_t kMatrix = kSide * kSide * 4, kHalf = kMatrix / 2;

// The cotangent of a factor, which is made of `w` by what `make` adds.
PlanData plan_of_cotangent(const Aval& of_w, bool factor_is_needed,
                           const std::function<ValueId(Graph&, ValueId)>& make) {
  Graph g;
  const ValueId a = g.add_input({{kSide, kSide}, DType::f32}), w = g.add_input(of_w);
  const ValueId l = cholesky(g, g.add(Op::add, {a, a}));
  g.outputs = {g.add(Op::cholesky_cotangent, {l, make(g, w)}, {{Attr::packed, 0}})};
  if (factor_is_needed) g.outputs.push_back(l);
  return make_plan(g, {});
}

size_t beside_arguments(const PlanData& plan) {
  size_t arguments = 0;
  for (const int b : plan.inputs) arguments += plan.buffers[b].bytes;
  return plan.peak_bytes - arguments;
}

TEST(FactorPlan, ACotangentIsPackedBesideItsFactor) {
  const auto outer = [](Graph& g, ValueId w) {
    const Attrs whole{{Attr::shape, Ints{kSide, kSide}}, {Attr::axes, Ints{0}}},
        rows{{Attr::shape, Ints{kSide, kSide}}, {Attr::axes, Ints{1}}};
    return g.add(Op::multiply, {g.add(Op::broadcast_in_dim, {w}, whole), g.add(Op::broadcast_in_dim, {w}, rows)});
  };
  const PlanData one = plan_of_cotangent({{kSide}, DType::f32}, false, outer);
  EXPECT_LT(beside_arguments(one), kMatrix + kHalf) << to_text(one);
  EXPECT_LT(beside_arguments(plan_of_cotangent({{kSide}, DType::f32}, true, outer)), 2 * kMatrix + kHalf);
}

// What is stored in any case is not stored twice.
TEST(FactorPlan, ACotangentThatIsAMatrixIsTakenAsItIs) {
  const auto twice = [](Graph& g, ValueId w) { return g.add(Op::add, {w, w}); };
  for (const bool needed : {false, true}) {
    const PlanData plan = plan_of_cotangent({{kSide, kSide}, DType::f32}, needed, twice);
    EXPECT_LT(beside_arguments(plan), 2 * kMatrix + kHalf) << to_text(plan);
    const auto step = std::ranges::find(plan.steps, "cholesky_cotangent", &PlanStep::op);
    ASSERT_NE(step, plan.steps.end());
    EXPECT_EQ(step->group.nodes[0].attrs.integer(Attr::packed), 0);
  }
}

TEST(FactorPlan, NotWhereTheTriangleIsTheRightSide) {
  Graph g;
  const ValueId x = g.add_input({{64, 64}, DType::f32}), y = g.add(Op::add, {x, x});
  g.outputs = {g.add(Op::triangular_solve, {y, y}, {{Attr::lower, 1}, {Attr::transposed, 0}, {Attr::unit, 0}})};
  const PlanData plan = make_plan(g, {});
  const PlanStep& step = plan.steps.back();
  EXPECT_NE(plan.buffers[step.reads.back()].alias_of, step.writes[0]);
  EXPECT_NE(plan.buffers[step.writes[0]].alias_of, step.reads.back());
}

TEST(FactorPlan, ByTheHostOfAGpu) {
  Graph g;
  const ValueId a = g.add_input({{3, 8, 8}, DType::f32}), b = g.add_input({{3, 8, 5}, DType::f32});
  const Attrs lower{{Attr::lower, 1}, {Attr::transposed, 0}, {Attr::unit, 0}};
  g.outputs = {g.add(Op::triangular_solve, {cholesky(g, a), b}, lower)};
  PlanOptions options;
  options.target.gpu = true;
  const PlanData in_place = make_plan(g, options);
  // As on a CPU, by all that counts.
  EXPECT_EQ(in_place.peak_bytes, make_plan(g, {}).peak_bytes);
  EXPECT_EQ(host_bytes(in_place), 0u);
  for (const PlanStep& step : in_place.steps) {
    EXPECT_EQ(step.strategy, Strategy::host);
    EXPECT_THAT(step.reason, HasSubstr("by the host, in place"));
  }
  options.target.host_memory = false;
  const PlanData copied = make_plan(g, options);
  ASSERT_EQ(copied.steps.size(), 2u);
  const auto work = [&](int step) {
    const PlanStep& s = copied.steps[step];
    return round_up_64(factor::layout(factor_form(s.group, s.group.nodes[0])).bytes());
  };
  ASSERT_TRUE(copied.steps[0].host && copied.steps[1].host);
  EXPECT_EQ(copied.steps[0].host->sent, size_t{3 * 8 * 8 * 4});
  EXPECT_EQ(copied.steps[0].host->returned, size_t{3 * 8 * 8 * 4});
  EXPECT_EQ(copied.steps[0].host->held, 2 * size_t{3 * 8 * 8 * 4} + work(0));
  EXPECT_EQ(copied.steps[1].host->sent, size_t{3 * 8 * 8 * 4 + 3 * 8 * 5 * 4});
  EXPECT_EQ(copied.steps[1].host->returned, size_t{3 * 8 * 5 * 4});
  EXPECT_EQ(host_bytes(copied), std::max(copied.steps[0].host->held, copied.steps[1].host->held));
  for (const PlanBuffer& buffer : copied.buffers) EXPECT_NE(buffer.storage, Storage::scratch);
  const std::string text = to_text(copied);
  EXPECT_THAT(text, HasSubstr("3 of 8 x 8, by the host: 768 B there, 768 B back"));
  EXPECT_THAT(text, HasSubstr("on the host"));
  const PlanData read = parse_plan(to_json(copied), "plan.json");
  EXPECT_EQ(host_bytes(read), host_bytes(copied));
  EXPECT_EQ(to_json(read), to_json(copied));
}

}  // namespace
}  // namespace neap::planner
