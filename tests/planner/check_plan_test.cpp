// Every kind of plan passes; a plan that breaks a promise does not.
#include "planner/report/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "planner/report/report.h"
#include "planner/search/make_plan.h"
#include "programs.h"

namespace neap::planner {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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

// Two products, written where the vector that they are joined to has them; the second begins at no multiple of 64.
Graph joined_products() {
  Graph g;
  const ValueId x = g.add_input({{24, 8}, DType::f32}), y = g.add_input({{8, 43}, DType::f32});
  const ValueId z = g.add_input({{4, 8}, DType::f32}), w = g.add_input({{8, 257}, DType::f32});
  g.outputs = {g.add(Op::concatenate, {reshape(g, matmul(g, x, y), {1032}), reshape(g, matmul(g, z, w), {1028})},
                     {{Attr::axis, int64_t{0}}})};
  return g;
}

TEST(CheckPlan, PiecesOfAJoinLieApartInTheWhole) {
  const PlanData plan = make_plan(joined_products(), {});
  const auto last = std::ranges::find(plan.buffers, 1032 * 4, &PlanBuffer::alias_offset) - plan.buffers.begin();
  ASSERT_LT(last, std::ssize(plan.buffers));
  ASSERT_GT(plan.buffers[last].alias_offset + plan.buffers[last].bytes,
            plan.buffers[plan.buffers[last].alias_of].bytes);
  EXPECT_THAT(check_plan(plan), IsEmpty());
  PlanData wrong = plan;
  wrong.buffers[last].alias_offset += 4;
  EXPECT_THAT(check_plan(wrong), Contains(HasSubstr("4112 bytes at 4132 leave buffer")));
  wrong.buffers[last].alias_offset -= 8;
  EXPECT_THAT(check_plan(wrong), Contains(HasSubstr("overwrote with buffer")));
}

TEST(CheckPlan, TakesNoNumbersThatLeaveInt64) {
  PlanData plan = make_plan(joined_products(), {});
  for (PlanBuffer& buffer : plan.buffers) {
    if (buffer.alias_of < 0) continue;
    plan.buffers[buffer.alias_of].offset = std::numeric_limits<int64_t>::max();
    buffer.offset = std::numeric_limits<int64_t>::max();
  }
  EXPECT_THAT(check_plan(plan), Contains(HasSubstr("is not where")));
  for (PlanBuffer& buffer : plan.buffers) {
    if (buffer.alias_of >= 0) buffer.alias_offset = std::numeric_limits<int64_t>::max();
  }
  EXPECT_THAT(check_plan(plan), Contains(HasSubstr("bytes at 9223372036854775807 leave")));
  plan.buffers[0].aval.shape = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_THAT(check_plan(plan), Contains(HasSubstr("its shape leaves int64")));
}

TEST(CheckPlan, BytesAreThoseOfTheShape) {
  EXPECT_THAT(faults([](PlanData& p) { p.buffers[0].aval.shape[0] *= 2; }), Contains(HasSubstr("its shape needs")));
  EXPECT_THAT(faults([](PlanData& p) { p.buffers[0].aval.shape[0] -= 1; }), Contains(HasSubstr("its shape needs")));
}

// a is made, then b from it and in its place, then c.
PlanData in_place_plan() {
  PlanData plan;
  for (const char* label : {"a", "b", "c"}) {
    PlanBuffer buffer;
    buffer.aval = {{64}, DType::u8};
    buffer.bytes = 64;
    buffer.label = label;
    buffer.last = 2;
    plan.buffers.push_back(buffer);
  }
  plan.buffers[0].offset = plan.buffers[1].offset = 0;
  plan.buffers[1].alias_of = 0;
  plan.buffers[2].storage = Storage::output;
  plan.buffers[2].first = 2;
  plan.outputs = {2};
  plan.steps.resize(3);
  plan.steps[0].writes = {0};
  plan.steps[1].reads = {0};
  plan.steps[1].writes = {1};
  plan.steps[2].reads = {1};
  plan.steps[2].writes = {2};
  for (PlanStep& step : plan.steps) step.bytes_live = 128;
  plan.steps[0].bytes_added = plan.steps[2].bytes_added = plan.arena_bytes = 64;
  plan.peak_bytes = plan.lower_bound_bytes = 128;
  return plan;
}

TEST(CheckPlan, NothingIsReadThatWasOverwritten) {
  PlanData plan = in_place_plan();
  EXPECT_THAT(check_plan(plan), IsEmpty());
  plan.steps[2].reads = {0, 1};
  const std::string fault = "step 2 needs buffer 0 a, which step 1 overwrote with buffer 1 b";
  EXPECT_THAT(check_plan(plan), ElementsAre(fault));
  plan.steps[1].reads = {1};
  EXPECT_THAT(check_plan(plan), ElementsAre(fault));
  plan.steps[1].writes = {1, 0};  // both at once
  EXPECT_THAT(check_plan(plan), SizeIs(2));
  plan = in_place_plan();
  plan.outputs = {2, 0};
  EXPECT_THAT(check_plan(plan), ElementsAre("the caller needs buffer 0 a, which step 1 overwrote with buffer 1 b"));
  plan.steps[2].writes = {2, 0};  // a is made anew
  EXPECT_THAT(check_plan(plan), IsEmpty());
}

TEST(CheckPlan, ADonatedArgumentIsNotReadAfterItWasOverwritten) {
  Graph g;
  const ValueId x = g.add_input({{64, 64}, DType::f32});
  g.outputs = {g.add(Op::tanh, {x})};
  PlanOptions options;
  options.donated = {true};
  PlanData plan = make_plan(g, options);
  ASSERT_EQ(plan.buffers[plan.outputs[0]].alias_of, plan.inputs[0]);
  EXPECT_THAT(check_plan(plan), IsEmpty());
  plan.outputs.push_back(plan.inputs[0]);
  EXPECT_THAT(check_plan(plan), Contains(HasSubstr("the caller needs buffer 0 argument 0")));
}

}  // namespace
}  // namespace neap::planner
