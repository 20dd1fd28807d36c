// A convolution is one step on a CPU, whatever its strides, and products on a GPU; its operands and results lie in any
// order of axes; it is cut along examples, features and what is added up, and gives the same bits.
#include "planner/kernels/convolution.h"

#include <gtest/gtest.h>
#include <neap/neap.h>

#include "planner/plan/plan.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"
#include "tests/count.h"
#include "tests/planner/programs.h"
#include "trace/graph/convolution.h"

namespace neap::planner {
namespace {

using namespace tracing;

Shape images(int64_t n, int64_t features, int64_t side) { return {n, features, side, side}; }

int steps_of(const PlanData& plan, PlanStep::Kind kind) {
  return static_cast<int>(std::ranges::count(plan.steps, kind, &PlanStep::kind));
}

PlanData planned(const Graph& g, bool gpu = false) {
  PlanOptions options;
  options.target.gpu = gpu;
  return make_plan(g, options);
}

TEST(Convolution, IsOneStep) {
  const auto f = [](const Arrays& in) { return conv_general(in[0], in[1], {.stride = {2, 2}, .same = true}); };
  const Graph g = traced({images(4, 8, 20), {16, 8, 3, 3}}, f);
  const PlanData plan = planned(g);
  ASSERT_EQ(plan.steps.size(), 1u) << to_text(plan);
  EXPECT_EQ(plan.steps[0].kind, PlanStep::Kind::convolution);
  EXPECT_EQ(plan.steps[0].op, "convolution");
  const PlanData on_gpu = planned(g, true);
  EXPECT_EQ(steps_of(on_gpu, PlanStep::Kind::convolution), 0);
  EXPECT_EQ(steps_of(on_gpu, PlanStep::Kind::dot), 9);
}

// The cotangent of a strided convolution has zeros between its elements: nothing multiplies them, and results whose
// windows have as many places are one step.
TEST(Convolution, ZerosBetweenElementsAreNoTerms) {
  const auto f = [](const Arrays& in) {
    return grad([&](const Array& x) { return sum(conv_general(x, in[1], {.stride = {2, 2}}) * in[2]); })(in[0]);
  };
  const Graph g = traced({images(2, 4, 21), {8, 4, 3, 3}, {2, 8, 10, 10}}, f);
  const PlanData plan = planned(g);
  double terms = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.kind != PlanStep::Kind::convolution) continue;
    const ConvolutionForm form = convolution_form(step.group, step.group.nodes[0]);
    terms += static_cast<double>(form.out * form.in * form.window_size() * form.count());
  }
  EXPECT_EQ(steps_of(plan, PlanStep::Kind::convolution), 4);
  EXPECT_LE(terms, 1.25 * 4 * 8 * 9 * 100) << "those of the convolution itself, and of half a step at its edges";
}

TEST(Convolution, ReadsAndWritesAnyOrderOfAxes) {
  const auto f = [](const Arrays& in) {
    const Array y = conv_general(transpose(in[0], Shape{0, 3, 1, 2}), in[1], {.same = true, .groups = 2});
    return transpose(y, Shape{0, 2, 3, 1});
  };
  const PlanData plan = planned(traced({{4, 20, 20, 8}, {16, 4, 3, 3}}, f));
  EXPECT_EQ(plan.steps.size(), 1u) << to_text(plan);
}

TEST(Convolution, IsCutWhereABudgetAsksForIt) {
  const auto f = [](const Arrays& in) {
    const auto loss = [&](const Array& w) {
      const Array y = relu(conv_general(in[0], w, {.same = true}));
      return sum(square(conv_general(y, in[2], {.same = true})));
    };
    return grad(loss)(in[1]);
  };
  const Graph g = traced({images(32, 8, 32), {32, 8, 3, 3}, {8, 32, 3, 3}}, f);
  const PlanData whole = planned(g);
  PlanOptions options;
  options.memory_budget = whole.peak_bytes * 2 / 5;
  EXPECT_LE(make_plan(g, options).peak_bytes, *options.memory_budget);
}

}  // namespace
}  // namespace neap::planner
