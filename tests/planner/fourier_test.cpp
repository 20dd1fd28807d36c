// Fourier transforms are one step each on a CPU, in place where they can be, with their scratch in the plan; a GPU has
// products. Slices keep their bits.
#include "planner/kernels/fourier.h"

#include <gtest/gtest.h>
#include <neap/neap.h>

#include <array>

#include "graphs.h"
#include "planner/plan/plan.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"
#include "planner/slice/split_axis.h"
#include "trace/tracing/tracing.h"

namespace neap::planner {
namespace {

using namespace tracing;

PlanData plan_of(const Aval& aval, Array (*f)(const Array&), bool gpu = false) {
  PlanOptions options;
  options.target.gpu = gpu;
  return make_plan(trace_closed(std::array{aval}, [&](const Arrays& in) { return Arrays{f(in[0])}; }), options);
}

TEST(Fourier, OneStepOfPairsWhereTheyLie) {
  const PlanData plan = plan_of({{1 << 16}, DType::c64}, [](const Array& x) { return fft::fft(x); });
  ASSERT_EQ(plan.steps.size(), 1u) << to_text(plan);
  EXPECT_EQ(plan.steps[0].kind, PlanStep::Kind::fourier);
  const FourierForm form = fourier_form(plan.steps[0].group, plan.steps[0].group.nodes[0]);
  EXPECT_EQ(form, (FourierForm{DType::f32, FourierKind::pairs, 1, 1 << 16}));
  EXPECT_LE(plan.peak_bytes, 2 * (size_t{8} << 16) + fourier_layout(form).scratch_bytes() + 64);
}

TEST(Fourier, OverWhatDies) {
  const PlanData plan = plan_of({{256, 256}, DType::c64}, [](const Array& x) { return fft::fft2(x); });
  ASSERT_EQ(plan.steps.size(), 2u) << to_text(plan);
  EXPECT_EQ(plan.root(plan.steps[1].writes[0]), plan.root(plan.steps[1].reads[0]));
}

TEST(Fourier, OfRealsIsHalfOfAll) {
  const PlanData plan = plan_of({{100, 1000}, DType::f32}, [](const Array& x) { return fft::rfft(x); });
  ASSERT_EQ(plan.steps.size(), 1u) << to_text(plan);
  EXPECT_EQ(fourier_form(plan.steps[0].group, plan.steps[0].group.nodes[0]).points(), 500);
}

TEST(Fourier, AGpuMultiplies) {
  for (const PlanStep& step : plan_of({{4096}, DType::c64}, [](const Array& x) { return fft::fft(x); }, true).steps) {
    EXPECT_NE(step.kind, PlanStep::Kind::fourier);
  }
}

TEST(Fourier, SlicesOfTheOtherAxes) {
  const auto cut = [](const Shape& shape, int64_t axis, int64_t of) {
    Graph g;
    g.outputs = {g.add(Op::fft_pairs, {g.add_input({shape, DType::f32})}, {{Attr::axis, axis}, {Attr::reverse, 0}})};
    return std::pair(operand_cut(g, g.nodes[0], {of, 1}, 0).kind == Cut::Kind::slices,
                     slice_unit(g, g.nodes[0], {of, 1}));
  };
  EXPECT_EQ(cut({4, 6, 8, 2}, 1, 0), std::pair(true, int64_t{1}));
  EXPECT_EQ(cut({4, 6, 8, 2}, 1, 1).first, false) << "the transform's own";
  EXPECT_EQ(cut({4, 6, 8, 2}, 1, 3).first, false) << "in a pair";
  EXPECT_EQ(cut({4, 6, 8, 2}, 1, 2), std::pair(true, int64_t{1}));
  EXPECT_EQ(cut({4, 6, 7, 2}, 1, 2).first, true);
  EXPECT_EQ(cut({6, 7, 3, 2}, 0, 1), std::pair(true, int64_t{1}));
}

TEST(Fourier, SlicesHaveTheBitsOfTheWhole) {
  for (const int64_t axis : {0, 1}) {
    const auto f = [=](const Array& x) {
      return sum(square(abs(fft::fft(complex(sin(x), cos(x)), {.axis = axis}))), {1 - axis});
    };
    const Array x = random::normal(random::key(3), {512, 512}, f32);
    const auto whole = jit(f);
    const Array expected = whole(x);
    const size_t peak = whole.last_plan().peak_bytes(), budget = x.bytes() + (peak - x.bytes()) / 3;
    const auto tight = jit(f, {.memory_budget = budget});
    EXPECT_EQ(tight(x).to_vector<float>(), expected.to_vector<float>()) << axis;
    EXPECT_LE(tight.last_plan().peak_bytes(), budget);
  }
}

}  // namespace
}  // namespace neap::planner
