// Messages beside other steps keep to what plans keep to.
#include "planner/search/overlap.h"

#include <gtest/gtest.h>

#include <neap/neap.h>

#include "planner/search/make_plan.h"
#include "programs.h"

namespace neap::planner {
namespace {

Graph sums_and_totals() {
  return traced({{1 << 20}, {1 << 16, 16}}, [](const tracing::Arrays& in) {
    const auto f = [](const Array& x, const Array& w) {
      const Array all = psum(sin(x), "x");
      return sum(all * all) + sum(cumsum(w, 0));
    };
    return shard(f, {.mesh = Mesh::planned({{"x", 8}}), .in = {{}, {}}, .out = {{}}})(in[0], in[1]);
  });
}

size_t under_way(const PlanData& plan) {
  return static_cast<size_t>(std::ranges::count(plan.steps, PlanStep::Phase::begin, &PlanStep::phase));
}

TEST(Overlap, KeepsToTheMachinesMemoryWhateverTheBudget) {
  const Graph graph = sums_and_totals();
  PlanOptions options;
  const PlanData free = make_plan(graph, options);
  EXPECT_EQ(under_way(free), 0u);
  options.memory_budget = size_t{1} << 40;
  const PlanData budgeted = make_plan(graph, options);
  EXPECT_EQ(under_way(budgeted), 1u);
  EXPECT_GT(budgeted.peak_bytes, free.peak_bytes);
  options.machine_memory = budgeted.peak_bytes - 1;
  const PlanData bounded = make_plan(graph, options);
  EXPECT_EQ(under_way(bounded), 0u);
  EXPECT_EQ(bounded.peak_bytes, free.peak_bytes);
}

TEST(Overlap, IsLeftOutWhereNobodyAsksForIt) {
  PlanOptions options;
  options.memory_budget = size_t{1} << 40;
  options.overlap = Overlap::none;
  EXPECT_EQ(under_way(make_plan(sums_and_totals(), options)), 0u);
  options.overlap = Overlap::all;
  options.target.gpu = true;
  EXPECT_EQ(under_way(make_plan(sums_and_totals(), options)), 0u);
}

}  // namespace
}  // namespace neap::planner
