// NEAP_DUMP's index: every plan of the process, its calls, and what was alive beside them.
#include <gtest/gtest.h>
#include <neap/neap.h>

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
  for (const char* pass : {"00-simplified", "01-narrow-products", "02-insert-copies", "03-fuse", "04-steps", "05-order",
                           "06-in-place", "07-place"}) {
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
