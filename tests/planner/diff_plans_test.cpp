// What a comparison of two plans says, and when it calls the second one worse.
#include "planner/report/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "planner/search/make_plan.h"
#include "programs.h"

namespace neap::planner {
namespace {

using testing::HasSubstr;
using testing::Not;

PlanData plan_of(const Graph& g, bool naive = false) {
  PlanOptions options;
  options.name = "f";
  options.naive = naive;
  return make_plan(g, options);
}

TEST(DiffPlans, APlanIsNotWorseThanItself) {
  const PlanData plan = plan_of(products(5));
  const PlanDiff diff = diff_plans(plan, plan);
  EXPECT_FALSE(diff.worse);
  EXPECT_THAT(diff.text, HasSubstr("neither better nor worse"));
  EXPECT_THAT(diff.text, Not(HasSubstr("buffers")));
  EXPECT_THAT(diff.text, Not(HasSubstr("decisions:")));
}

TEST(DiffPlans, AHigherPeakIsWorseAndSaysWhy) {
  const PlanData small = plan_of(products(5)), large = plan_of(products(8, 128));
  const PlanDiff diff = diff_plans(small, large);
  EXPECT_TRUE(diff.worse);
  EXPECT_THAT(diff.text, HasSubstr("worse: a higher peak"));
  EXPECT_THAT(diff.text, HasSubstr("new buffers:"));
  EXPECT_THAT(diff.text, HasSubstr("steps by strategy:"));
  EXPECT_THAT(diff.text, HasSubstr("graphs.h:"));
  EXPECT_FALSE(diff_plans(large, small).worse);
  EXPECT_THAT(diff_plans(large, small).text, HasSubstr("buffers that are gone:"));
  std::istringstream lines(diff.text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(DiffPlans, NamesBuffersThatGrewAndThatLiveLonger) {
  const PlanData plan = plan_of(products(5));
  PlanData later = plan;
  int changed = 0;
  for (PlanBuffer& buffer : later.buffers) {
    if (buffer.alias_of >= 0 || buffer.storage != Storage::intermediate) continue;
    if (changed++ == 0) buffer.bytes += 4096;
    buffer.last += 3;
  }
  ASSERT_GT(changed, 1);
  const std::string text = diff_plans(plan, later).text;
  EXPECT_THAT(text, HasSubstr("buffers that grew:\n   +4.00 KiB"));
  EXPECT_THAT(text, HasSubstr("buffers that live longer:"));
}

TEST(DiffPlans, CountsTheStepsOfTheLongestLife) {
  const PlanData plan = plan_of(products(5));
  PlanData later = plan;
  for (PlanBuffer& buffer : later.buffers) {
    buffer.first = std::numeric_limits<int>::min();
    buffer.last = std::numeric_limits<int>::max();
  }
  EXPECT_THAT(diff_plans(plan, later).text, HasSubstr(" -> 4294967296 steps"));
}

TEST(DiffPlans, AtTheSamePeakTimeDecides) {
  const PlanData plan = plan_of(products(5));
  PlanData slow = plan;
  slow.predicted_seconds *= 1.5;
  EXPECT_TRUE(diff_plans(plan, slow).worse);
  EXPECT_THAT(diff_plans(plan, slow).text, HasSubstr("worse: slower"));
  EXPECT_FALSE(diff_plans(slow, plan).worse);
  slow.peak_bytes -= 64;
  EXPECT_FALSE(diff_plans(plan, slow).worse);
}

TEST(DiffPlans, NamesDecisionsThatChanged) {
  PlanData plan = plan_of(products(2)), later = plan;
  plan.decisions = {{"random_bits at a.cpp:1", "fused", "cheap", {}}, {"x at a.cpp:2", "keep", "", {}}};
  later.decisions = {{"random_bits at a.cpp:1", "naive", "read twice", {}}, {"y at a.cpp:3", "keep", "", {}}};
  const std::string text = diff_plans(plan, later).text;
  EXPECT_THAT(text, HasSubstr("random_bits at a.cpp:1: fused -> naive\n    read twice\n"));
  EXPECT_THAT(text, HasSubstr("y at a.cpp:3: keep, new"));
  EXPECT_THAT(text, HasSubstr("x at a.cpp:2: keep, gone"));
}

}  // namespace
}  // namespace neap::planner
