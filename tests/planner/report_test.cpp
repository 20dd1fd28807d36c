// The three forms of the report: what text, JSON and pages hold and mark.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <source_location>
#include <sstream>

#include "graphs.h"
#include "planner/plan/plan.h"
#include "planner/report/report.h"
#include "planner/report/source_lines.h"
#include "planner/search/make_plan.h"
#include "programs.h"

namespace neap::planner {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Lines of a file that the test writes.
// clang-format off
#line 2 "neap-lines.cpp"
constexpr std::source_location kSecondLine = std::source_location::current();
#line 29 "report_test.cpp"
// clang-format on

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

// The data of a page, as its script reads it.
json data_of(const std::string& page) {
  const size_t begin = page.find("const D=") + 8;
  return json::parse(page.substr(begin, page.find(";\n", begin) - begin));
}

size_t count_steps(const json& plan) {
  size_t count = 0;
  for (const json& step : plan["steps"]) count += 1 + (step.contains("d") ? count_steps(step["d"]) : 0);
  return count;
}

size_t count_steps(const PlanData& plan) {
  size_t count = 0;
  for (const PlanStep& step : plan.steps) count += 1 + (step.body ? count_steps(*step.body) : 0);
  return count;
}

TEST(Report, HtmlHasEveryStepOfLoops) {
  const PlanData plan = make_plan(loop_of_products(), {.name = "steps"});
  const json planned = data_of(to_html(plan))["plans"][0];
  EXPECT_EQ(count_steps(planned), count_steps(plan));
  EXPECT_GT(count_steps(planned), planned["steps"].size()) << "the program has a loop";
}

TEST(Report, HtmlFoldsOutOperandsOperationsKernelAndLines) {
  const PlanData plan = gradient();
  const auto kernels = [](const PlanStep& step) { return "kernel of " + step.op; };
  const json data = data_of(to_html(plan, kernels)), planned = data["plans"][0], naive = data["plans"][1];
  ASSERT_EQ(planned["steps"].size(), plan.steps.size());
  ASSERT_EQ(planned["buffers"].size(), plan.buffers.size());
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const json& step = planned["steps"][s];
    EXPECT_EQ(step["r"].get<std::vector<int>>(), plan.steps[s].reads);
    EXPECT_EQ(step["w"].get<std::vector<int>>(), plan.steps[s].writes);
    EXPECT_EQ(step["k"], "kernel of " + plan.steps[s].op);
    EXPECT_THAT(step["g"].get<std::string>(), HasSubstr("scatter_add"));
    ASSERT_FALSE(step["c"].empty());
    EXPECT_THAT(step["c"][0][0].get<std::string>(), HasSubstr("graphs.h:"));
  }
  EXPECT_EQ(naive["peak"], plan.naive_peak_bytes);
  EXPECT_FALSE(naive["steps"][0].contains("k")) << "the naive plan is drawn, and not listed";
}

TEST(Report, HtmlShowsTheTextOfLinesThatAreThere) {
  const std::string folder = testing::TempDir(), path = folder + "neap-lines.cpp";
  std::ofstream(path) << "one\n  two; \n";
  SourceLines sources;
  // A source_location of another file is what a line marker makes. Where it has no folder, a file of that name here may
  // be another one.
  EXPECT_EQ(sources.text(kSecondLine), "");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  EXPECT_EQ(SourceLines().text(kSecondLine), "");
  EXPECT_EQ(sources.file(path), (std::vector<std::string>{"one", "two;", ""}));
  std::filesystem::current_path(before);
  std::filesystem::remove(path);
}

TEST(Report, HtmlNamesTheLinesOfAPlanThatWasRead) {
  PlanData plan = gradient();
  plan.steps[0].group.nodes.clear();
  plan.steps[0].source = {};
  plan.steps[0].origin = "model.cpp:41";
  EXPECT_EQ(data_of(to_html(plan))["plans"][0]["steps"][0]["c"], json::parse(R"([["model.cpp:41",""]])"));
}

TEST(Report, HtmlTellsTheBudget) {
  PlanData plan = gradient();
  EXPECT_TRUE(data_of(to_html(plan))["budget"].is_null());
  plan.budget = plan.peak_bytes + 1;
  const std::string page = to_html(plan);
  EXPECT_EQ(data_of(page)["budget"], plan.peak_bytes + 1);
  EXPECT_THAT(page, HasSubstr("\"budget \"+size(D.budget)"));
  EXPECT_THAT(page, HasSubstr("\"peak \"+size(p.peak)"));
}

TEST(Report, NamesMayBeAnyBytes) {
  PlanData plan = gradient();
  plan.name = "<!--<script>\xff";
  EXPECT_THAT(to_html(plan), Not(HasSubstr("<!--")));
  EXPECT_NO_THROW(std::ignore = json::parse(to_json(plan)));
}

}  // namespace
}  // namespace neap::planner
