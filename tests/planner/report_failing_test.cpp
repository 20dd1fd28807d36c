// The reports where allocations fail: std::bad_alloc, and nothing else.
#include "planner/report/index.h"
#include "planner/report/page.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"
#include "programs.h"
#include "tests/failing_new.h"

namespace neap::planner {
namespace {

TEST(Report, SurvivesFailingAllocations) {
  if (!kNewCanFail) GTEST_SKIP() << "a sanitizer has an operator new of its own";
  PlanOptions options;
  options.name = "a function with a name of some length";
  PlanData plan = make_plan(loop_of_products(), options);
  ASSERT_TRUE(plan.naive_plan);
  plan.tradeoff.push_back({1, 2, "slices of a long description of how"});
  const ProgramIndex index{{indexed(plan, "0000-a-stem-of-some-length", "cpu")}, {{0, 1, 2, 3}}, 0};
  const std::string json = to_json(plan), html = to_html(plan), whole = to_json(index), text = to_text(plan);
  EXPECT_GT(fail_each_allocation([&] { EXPECT_EQ(to_json(plan), json); }, [] {}), 10u);
  EXPECT_GT(fail_each_allocation([&] { EXPECT_EQ(to_html(plan), html); }, [] {}), 10u);
  EXPECT_GT(fail_each_allocation([&] { EXPECT_EQ(to_text(plan), text); }, [] {}), 10u);
  EXPECT_GT(fail_each_allocation([&] { EXPECT_EQ(to_json(index), whole); }, [] {}), 3u);
  EXPECT_GT(fail_each_allocation([&] { EXPECT_EQ(to_json(parse_plan(json, "plan.json")), json); }, [] {}), 50u);
}

}  // namespace
}  // namespace neap::planner
