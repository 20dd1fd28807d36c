// Every kind of plan passes; a plan that breaks a promise does not.
#include "planner/check_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "programs.h"

namespace neap::planner {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CheckPlan, PlansKeepTheirPromises) {
  for (const PlanData& plan : sample_plans()) {
    EXPECT_THAT(check_plan(plan), IsEmpty()) << to_text(plan);
    EXPECT_THAT(check_plan(parse_plan(to_json(plan), "x")), IsEmpty());
  }
}

std::vector<std::string> faults(const std::function<void(PlanData&)>& change) {
  PlanData plan = make_plan(products(6), {});
  change(plan);
  return check_plan(plan);
}

// A buffer of the arena that is alive together with an earlier one.
int second_in_arena(const PlanData& plan) {
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].alias_of < 0 && plan.buffers[b].offset > 0) return static_cast<int>(b);
  }
  throw std::runtime_error("nothing lies above 0");
}

TEST(CheckPlan, FindsWhatIsWrong) {
  EXPECT_THAT(faults([](PlanData&) {}), IsEmpty());
  EXPECT_THAT(faults([](PlanData& p) {
                for (PlanBuffer& buffer : p.buffers) buffer.offset = std::min<int64_t>(buffer.offset, 0);
              }),
              Contains(HasSubstr("overlap at time")));
  EXPECT_THAT(faults([](PlanData& p) { p.buffers[second_in_arena(p)].offset += 1 << 20; }),
              Contains(HasSubstr(", above ")));
  EXPECT_THAT(faults([](PlanData& p) { p.buffers[second_in_arena(p)].offset = -1; }),
              Contains(HasSubstr("has no offset in the arena")));
  EXPECT_THAT(faults([](PlanData& p) { p.peak_bytes -= 64; }), Contains(HasSubstr("peak_bytes says")));
  EXPECT_THAT(faults([](PlanData& p) { p.arena_bytes += 64; }), Contains(HasSubstr("peak_bytes says")));
  EXPECT_THAT(faults([](PlanData& p) { p.lower_bound_bytes = p.peak_bytes + 1; }),
              Contains(HasSubstr("is below the lower bound")));
  EXPECT_THAT(faults([](PlanData& p) { p.budget = p.peak_bytes - 1; }), Contains(HasSubstr("is above the budget")));
  EXPECT_THAT(faults([](PlanData& p) { p.steps[1].bytes_live += 1; }), Contains(HasSubstr("step 1: bytes_live says")));
  EXPECT_THAT(faults([](PlanData& p) { p.steps[0].bytes_added += 1; }),
              Contains(HasSubstr("step 0: bytes_added says")));
  EXPECT_THAT(faults([](PlanData& p) { p.buffers[p.steps[0].writes[0]].first = 1; }),
              Contains(HasSubstr("step 0 uses buffer")));
  EXPECT_THAT(faults([](PlanData& p) { p.buffers[0].bytes = size_t{1} << 63; }), Contains(HasSubstr("leave int64")));
}

TEST(CheckPlan, LooksIntoLoops) {
  PlanData plan = make_plan(loop_of_products(), {});
  for (PlanStep& step : plan.steps) {
    if (!step.body) continue;
    PlanData body = *step.body;
    for (PlanBuffer& buffer : body.buffers) buffer.offset = std::min<int64_t>(buffer.offset, 0);
    step.body = std::make_shared<const PlanData>(body);
  }
  EXPECT_THAT(check_plan(plan), Contains(HasSubstr("step 1: 'buffer ")));
}

}  // namespace
}  // namespace neap::planner
