// The passes of the pipeline: in their order, each with what it left.
#include "planner/pipeline/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/rewrite/simplify.h"
#include "programs.h"

namespace neap::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const PlanData& plan) {
  std::vector<std::string> names;
  for (const PassRecord& record : plan.passes) names.push_back(record.name);
  return names;
}

TEST(Pipeline, KeepsWhatEachPassLeft) {
  PlanOptions options;
  const Graph simple = simplify(loop_of_products());
  EXPECT_TRUE(plan_simplified(simple, options, {}).plan.passes.empty());
  options.keep_passes = true;
  const PlanData plan = plan_simplified(simple, options, {}).plan;
  const auto all = ElementsAre("simplified", "narrow-products", "select-ranks", "insert-copies", "fuse", "steps",
                               "order", "in-place", "place");
  EXPECT_THAT(names_of(plan), all);
  EXPECT_EQ(tracing::parse(plan.passes[0].text), simple);
  EXPECT_NO_THROW(tracing::parse(plan.passes[4].text)) << "what fuse chose follows the graph as comments";
  EXPECT_THAT(plan.passes[4].text, HasSubstr("// step 0, "));
  EXPECT_THAT(plan.passes[8].text, HasSubstr(" at 0"));
  bool has_body = false;
  for (const PlanStep& step : plan.steps) {
    if (!step.body) continue;
    has_body = true;
    EXPECT_THAT(names_of(*step.body), all);
  }
  EXPECT_TRUE(has_body);
}

TEST(Pipeline, TheNaiveOneHasTheSamePasses) {
  PlanOptions options;
  options.naive = options.keep_passes = true;
  const PlanData plan = plan_simplified(simplify(products(3), Builder::Level::light), options, {}).plan;
  EXPECT_EQ(plan.passes.size(), 9u);
  EXPECT_EQ(plan.passes[5].text, plan.passes[6].text) << "its order is the program's";
}

}  // namespace
}  // namespace neap::planner
