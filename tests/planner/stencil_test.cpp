// Stencils in bands: the same values, one table in place of two.
#include "planner/slice/stencil.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/neap.h>

#include <functional>
#include <vector>

#include "graphs.h"
#include "planner/report/report.h"
#include "planner/rewrite/simplify.h"
#include "planner/search/candidates.h"
#include "planner/search/make_plan.h"
#include "same_values.h"
#include "trace/tracing/tracing.h"

namespace neap::planner {
namespace {

using Step = std::function<Array(const Array&)>;

Array around(const Array& u) { return roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1); }
Array heat(const Array& u) { return u + 0.1f * (around(u) - 4 * u); }

Graph traced(const Step& step, const Shape& shape, int64_t steps = 3) {
  const std::vector<Aval> avals{{shape, f32}};
  return simplify(tracing::trace_closed(avals, [&](const tracing::Arrays& in) {
    return tracing::Arrays{fori_loop(0, steps, [&](const Array&, const Array& u) { return step(u); }, in[0])};
  }));
}

TEST(Stencil, KeepsTheValues) {
  const std::vector<Step> steps{heat, [](const Array& u) { return roll(u, 3, 0) * 2 - roll(u, -1, 0); },
                                [](const Array& u) { return tanh(roll(heat(u), -2, 0)); },
                                [](const Array& u) { return where(iota(u.shape(), 0, f32) < 10, heat(u), u); },
                                [](const Array& u) { return heat(u) + arange(u.shape(1)).astype(f32) / 1000; }};
  for (const int64_t rows : {64, 50, 61, 17}) {
    for (size_t i = 0; i < steps.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "step " << i << " of " << rows << " rows");
      const Graph g = traced(steps[i], {rows, 11}, 3);
      const std::optional<Graph> result = update_in_bands(g, 0);
      ASSERT_TRUE(result) << print(g);
      verify(*result);
      expect_same_values(g, *result);
    }
  }
}

TEST(Stencil, OneTableIsInMemory) {
  const Graph g = traced(heat, {4096, 4096}, 100);
  const size_t table = size_t{4096} * 4096 * 4;
  PlanOptions options;
  options.donated = {true};
  options.memory_budget = table + table / 10;
  const PlanData plan = make_plan(g, options);
  EXPECT_LE(plan.peak_bytes, table + table / 10) << to_text(plan);
}

}  // namespace
}  // namespace neap::planner
