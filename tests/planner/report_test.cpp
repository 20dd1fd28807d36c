// The three forms of the report: what text, JSON and pages hold and mark.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "graphs.h"
#include "planner/plan/plan.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"

namespace neap::planner {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

PlanData gradient() {
  PlanOptions options;
  options.name = "loss</script>";
  return make_plan(gather_case(int64_t{1} << 33, DType::i32, true), options);
}

TEST(Report, JsonHoldsStepsBuffersAndThePeak) {
  const PlanData plan = gradient();
  const json data = json::parse(to_json(plan));
  EXPECT_EQ(data["version"], 1);
  EXPECT_EQ(data["peak_bytes"], plan.peak_bytes);
  EXPECT_EQ(data["lower_bound_bytes"], plan.lower_bound_bytes);
  ASSERT_EQ(data["steps"].size(), plan.steps.size());
  size_t widest = 0;
  for (const json& step : data["steps"]) {
    for (const char* key : {"op", "strategy", "reason", "bytes_added", "bytes_live", "offset", "source"}) {
      EXPECT_TRUE(step.contains(key)) << key;
    }
    widest = std::max(widest, step["bytes_live"].get<size_t>());
  }
  EXPECT_EQ(widest, plan.peak_bytes);
  EXPECT_EQ(data["buffers"].size(), plan.buffers.size());
  for (const json& decision : data["decisions"]) {
    EXPECT_TRUE(decision.contains("what") && decision.contains("chosen"));
    for (const json& other : decision["alternatives"]) {
      EXPECT_TRUE(other.contains("name") && other.contains("peak_bytes") && other.contains("cost"));
    }
  }
}

TEST(Report, TextMarksTheWidestMomentAndNamesWhatIsAlive) {
  const PlanData plan = gradient();
  const std::string text = to_text(plan);
  EXPECT_THAT(text, HasSubstr("> nocopy-gather-grad"));
  EXPECT_THAT(text, HasSubstr("graphs.h:"));
  EXPECT_THAT(text, HasSubstr("argument     i32[8589934592,3]"));
  EXPECT_THAT(text, HasSubstr("decisions:"));
}

TEST(Report, TextFitsEightyColumns) {
  std::istringstream lines(to_text(gradient()));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(Report, HtmlIsOneFileThatShowsNaiveBesidePlanned) {
  const std::string page = to_html(gradient());
  EXPECT_THAT(page, HasSubstr("\"planned\""));
  EXPECT_THAT(page, HasSubstr("\"naive\""));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, HasSubstr("loss\\u003c/script>"));
  EXPECT_THAT(page, Not(HasSubstr("/*DATA*/")));
}

TEST(Report, NamesMayBeAnyBytes) {
  PlanData plan = gradient();
  plan.name = "<!--<script>\xff";
  EXPECT_THAT(to_html(plan), Not(HasSubstr("<!--")));
  EXPECT_NO_THROW(std::ignore = json::parse(to_json(plan)));
}

}  // namespace
}  // namespace neap::planner
