// A plan's JSON read back: written again it is the same to the byte; what is not a plan is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/error.h>

#include <nlohmann/json.hpp>

#include "planner/plan/queries.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"
#include "programs.h"

namespace neap::planner {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(ParsePlan, WritesWhatItRead) {
  for (const PlanData& plan : sample_plans()) {
    const std::string written = to_json(plan);
    const PlanData read = parse_plan(written, "plan.json");
    EXPECT_EQ(to_json(read), written);
    EXPECT_EQ(read.peak_bytes, plan.peak_bytes);
    EXPECT_EQ(read.steps.size(), plan.steps.size());
  }
}

// The data of a page without what the JSON does not hold: the operations in steps, and all their lines but the first.
json of_page(const std::string& page) {
  const auto reduce = [](const auto& self, json& plan) -> void {
    for (json& step : plan["steps"]) {
      step.erase("g");
      if (step.contains("c")) step["c"] = step["c"].empty() ? json() : step["c"][0][0];
      if (step.contains("d")) self(self, step["d"]);
    }
  };
  const size_t begin = page.find("const D=") + 8;
  json data = json::parse(page.substr(begin, page.find(";\n", begin) - begin));
  for (json& plan : data["plans"]) reduce(reduce, plan);
  return data;
}

TEST(ParsePlan, TheReportsAreThoseOfThePlan) {
  PlanOptions options;
  options.name = "f";
  options.want_alternatives = false;
  for (const Graph& g : {products(5), loop_of_products()}) {
    const PlanData plan = make_plan(g, options);
    const PlanData read = parse_plan(to_json(plan), "plan.json");
    EXPECT_EQ(to_text(read), to_text(plan));
    EXPECT_EQ(of_page(to_html(read)), of_page(to_html(plan)));
    EXPECT_EQ(where(read.steps[0]), where(plan.steps[0]));
  }
}

std::string refusal(const std::function<void(json&)>& change) {
  json data = json::parse(to_json(make_plan(products(3), {})));
  change(data);
  try {
    parse_plan(data.dump(), "plan.json");
  } catch (const UserError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(ParsePlan, RefusesWhatIsNoPlan) {
  EXPECT_THROW(parse_plan("", "x"), UserError);
  EXPECT_THROW(parse_plan("[1,2", "x"), UserError);
  EXPECT_THROW(parse_plan("[1,2]", "x"), UserError);
  EXPECT_THROW(parse_plan(std::string(100'000, '['), "x"), UserError);
  EXPECT_EQ(refusal([](json&) {}), "accepted");
  EXPECT_EQ(refusal([](json& d) { d.erase("peak_bytes"); }), "plan.json: plan: no 'peak_bytes'");
  EXPECT_THAT(refusal([](json& d) { d["version"] = 2; }), HasSubstr("version: this reads version 1"));
  EXPECT_THAT(refusal([](json& d) { d["peak_bytes"] = -1; }), HasSubstr("peak_bytes: expected a whole number from 0"));
  EXPECT_THAT(refusal([](json& d) { d["peak_bytes"] = 1e30; }), HasSubstr("peak_bytes: expected a whole number"));
  EXPECT_THAT(refusal([](json& d) { d["arena_bytes"] = ~uint64_t{0}; }), HasSubstr("arena_bytes: expected a whole"));
  EXPECT_THAT(refusal([](json& d) { d["steps"][1]["writes"][0] = 1000; }), HasSubstr("steps[1].writes[0]: expected"));
  EXPECT_THAT(refusal([](json& d) { d["buffers"][2]["alias_of"] = "x"; }), HasSubstr("buffers[2].alias_of"));
  EXPECT_THAT(refusal([](json& d) { d["buffers"][2]["id"] = 7; }), HasSubstr("buffers[2].id: expected 2"));
  EXPECT_THAT(refusal([](json& d) { d["buffers"][0]["dtype"] = "f31"; }), HasSubstr("buffers[0].dtype: unknown dtype"));
  EXPECT_THAT(refusal([](json& d) { d["buffers"][0]["storage"] = "attic"; }), HasSubstr("unknown storage 'attic'"));
  EXPECT_THAT(refusal([](json& d) { d["steps"] = 3; }), HasSubstr("steps: expected a list"));
  EXPECT_THAT(refusal([](json& d) { d["pipeline"] = "plan"; }), HasSubstr("pipeline: expected 'naive' or 'planned'"));
}

TEST(ParsePlan, SaysWhereTheTextIsNoJson) {
  std::string text = to_json(make_plan(products(3), {}));
  const size_t at = text.find("\"predicted_seconds\": ") + 21;
  text.replace(at, text.find(',', at) - at, "1e999");
  const auto reason = [](const std::string& text) -> std::string {
    try {
      parse_plan(text, "plan.json");
    } catch (const UserError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_THAT(reason(text),
              testing::ContainsRegex("^plan.json: no JSON: line [0-9]+, column [0-9]+: 1e999 is too large"));
  EXPECT_EQ(reason("{\"version\": 1,}"), "plan.json: no JSON: line 1, column 15: expected a name in quotes");
  EXPECT_THAT(reason("{\"version\": 1, \"version\": 1}"), HasSubstr("\"version\" comes twice"));
}

TEST(ParsePlan, RefusesLoopsWithoutEnd) {
  json data = json::parse(to_json(make_plan(products(1), {})));
  for (int depth = 0; depth < 100; ++depth) {
    json around = json::parse(to_json(make_plan(products(1), {})));
    around["steps"][0]["body"] = std::move(data);
    data = std::move(around);
  }
  EXPECT_THROW(parse_plan(data.dump(), "x"), UserError);
}

}  // namespace
}  // namespace neap::planner
