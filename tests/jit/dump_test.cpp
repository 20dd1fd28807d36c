// NEAP_DUMP: what its files are called and hold, and its index: every plan of the process, its calls, and what was
// alive beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/jit/measure.h"

namespace neap {
namespace {

// In a process of its own, since the variable is read once.
void run_program() {
  const Array x = ones({256, 256});
  const auto f = jit([](const Array& a) { return matmul(a, a); }, {.name = "square"});
  const auto g = jit([](const Array& a, const Array& b) { return sum(a * b); }, {.donate = {1}, .name = "weigh"});
  std::vector<Array> kept;
  for (int i = 0; i < 3; ++i) kept.push_back(f(x));
  Array y = f(x);
  g(x, y).item<float>();
  std::exit(0);
}

void eval_eagerly(const Array& x) {
  const Array twice = x + x;
  const Array drawn = random::normal(random::key(3), {16});
}

// A program with a name, one without, one whose name is no file's, a loop, and operations outside of jit.
void run_programs(int* line) {
  const Array x = ones({64});
  const auto named = jit([](const Array& a) { return sum(a * 2); }, {.name = "twice"});
  *line = __LINE__ + 1;
  const auto nameless = jit([](const Array& a) { return sum(a * 3); });
  const auto odd = jit([](const Array& a) { return sum(a * 4); }, {.name = "../a b/\xc3\xa4" + std::string(300, 'x')});
  const auto loop = jit(
      [](const Array& a) {
        return fori_loop(0, 5, [](const Array&, const Array& y) { return sin(y) + cumsum(y, 0); }, a);
      },
      {.name = "loop"});
  for (int i = 0; i < 2; ++i) named(x);
  nameless(x);
  odd(x);
  loop(x);
  eval_eagerly(x);
}

// The files of a dump with this ending, in the order of their names.
std::vector<std::string> files_of(const std::filesystem::path& folder, const std::string& ending) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (const std::string name = entry.path().filename().string(); name.ends_with(ending)) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(DumpDeathTest, NamesProgramsAndKeepsEagerOperationsApart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto folder = std::filesystem::path(testing::TempDir()) / "neap-dump-names";
  std::filesystem::remove_all(folder);
  EXPECT_EXIT(
      {
        setenv("NEAP_DUMP", folder.c_str(), 1);
        int line = 0;
        run_programs(&line);
        std::ofstream(folder / "line") << line;
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  const std::string line = text_of(folder / "line");
  const std::vector<std::string> programs = files_of(folder, ".plan.html");
  ASSERT_EQ(programs.size(), 4u);
  EXPECT_EQ(programs[0], "0000-twice.plan.html");
  EXPECT_EQ(programs[1], "0001-dump_test_cpp_" + line + ".plan.html");
  EXPECT_TRUE(programs[2].starts_with("0002-___a_b___xxx")) << programs[2];
  EXPECT_LT(programs[2].size(), 100u);
  EXPECT_EQ(programs[3], "0003-loop.plan.html");
  const std::vector<std::string> eager = files_of(folder / "eager", ".plan.html");
  ASSERT_GE(eager.size(), 2u);
  EXPECT_TRUE(eager[0].starts_with("0004-add")) << eager[0];
  EXPECT_TRUE(std::ranges::any_of(eager, [](const auto& name) { return name.find("normal") != name.npos; }));

  const auto index = nlohmann::json::parse(text_of(folder / "index.json"));
  for (const auto& plan : index["plans"]) {
    EXPECT_EQ(plan["html"].get<std::string>().starts_with("eager/"), plan["eager"].get<bool>());
    EXPECT_TRUE(std::filesystem::exists(folder / plan["html"].get<std::string>()));
  }
  EXPECT_EQ(index["plans"][1]["name"], "dump_test.cpp:" + line);
  EXPECT_THAT(text_of(folder / programs[1]), testing::HasSubstr("\"name\":\"dump_test.cpp:" + line + "\""));

  // The page of the loop has the steps of its body, with their operations and their kernels.
  const std::string page = text_of(folder / programs[3]);
  ASSERT_NE(page.find("\"d\":{"), page.npos);
  const std::string body = page.substr(page.find("\"d\":{"));
  EXPECT_THAT(body, testing::HasSubstr("= sin %"));
  EXPECT_THAT(body, testing::HasSubstr("\"k\":\"map ["));
  std::filesystem::remove_all(folder);
}

TEST(DumpDeathTest, IndexesAllPlansOfTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto folder = std::filesystem::path(testing::TempDir()) / "neap-dump-index";
  std::filesystem::remove_all(folder);
  EXPECT_EXIT(
      {
        setenv("NEAP_DUMP", folder.c_str(), 1);
        run_program();
      },
      testing::ExitedWithCode(0), "");
  for (const char* pass : {"00-simplified", "01-narrow-products", "02-select-ranks", "03-insert-copies", "04-fuse",
                           "05-steps", "06-order", "07-in-place", "08-place"}) {
    const auto path = folder / ("0000-square." + std::string(pass) + ".txt");
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
    EXPECT_GT(std::filesystem::file_size(path), 0u) << path;
  }
  std::ifstream file(folder / "index.json");
  const auto index = nlohmann::json::parse(file);
  EXPECT_EQ(index["version"], 1);
  EXPECT_TRUE(std::filesystem::exists(folder / "index.html"));
  const size_t array = size_t{256} * 256 * 4;
  int found = 0;
  for (const auto& plan : index["plans"]) {
    EXPECT_TRUE(std::filesystem::exists(folder / plan["json"].get<std::string>()));
    EXPECT_TRUE(std::filesystem::exists(folder / plan["html"].get<std::string>()));
    if (plan["name"] == "square") {
      ++found;
      EXPECT_EQ(plan["calls"], 4);
      EXPECT_EQ(plan["input_bytes"], array);
      EXPECT_EQ(plan["output_bytes"], array);
      EXPECT_EQ(plan["others_bytes"], 3 * array) << "three results are kept";
      ASSERT_EQ(plan["alive"].size(), 1u);
      EXPECT_EQ(plan["alive"][0]["arrays"], 3);
      EXPECT_EQ(plan["alive"][0]["bytes"], 3 * array);
    }
    if (plan["name"] == "weigh") {
      ++found;
      EXPECT_EQ(plan["calls"], 1);
      EXPECT_EQ(plan["others_bytes"], 3 * array);
      EXPECT_EQ(plan["naive_peak_bytes"], 3 * array + 64);
      EXPECT_EQ(index["plans"][plan["alive"][0]["plan"].get<size_t>()]["name"], "square");
    }
  }
  EXPECT_EQ(found, 2);
  EXPECT_GE(index["calls"].size(), 5u);
  EXPECT_EQ(index["calls_left_out"], 0);
  size_t peak = 0;
  for (const auto& call : index["calls"]) peak = std::max(peak, call["peak_bytes"].get<size_t>());
  EXPECT_EQ(index["peak_bytes"], peak);
}

}  // namespace
}  // namespace neap
