// A Profile records each step of a plan's calls, with the bytes alive then, while it lives and not after. NEAP_PROFILE
// does so for a whole process, with planning and compiling.
#include <neap/neap.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace neap {
namespace {

TEST(Profile, RecordsTheStepsOfAPlan) {
  const auto f = jit([](const Array& x) { return sum(exp(matmul(x, x))); }, {.name = "profiled"});
  const Array x = ones({64, 64});
  f(x);
  const std::string path = testing::TempDir() + "profile.json";
  {
    const Profile profile;
    EXPECT_THROW(Profile{}, UserError);
    f(x);
    const auto slices = profile.slices();
    ASSERT_EQ(slices.size(), f.last_plan().num_steps());
    size_t most = 0;
    for (const Profile::Slice& s : slices) {
      EXPECT_EQ(s.plan, "profiled");
      EXPECT_LE(s.begin, s.end);
      most = std::max(most, s.live_bytes);
    }
    EXPECT_EQ(most, f.last_plan().peak_bytes());
    profile.write_json(path);
  }
  std::ifstream file(path);
  EXPECT_EQ(nlohmann::json::parse(file)["traceEvents"].size(), 2 * f.last_plan().num_steps());
  std::filesystem::remove(path);
  f(x);
  EXPECT_TRUE(Profile().slices().empty());  // nothing is recorded between lives
}

// In a process of its own, since the variable is read once.
void run_program(const std::string& path, bool profiled) {
  std::filesystem::current_path(testing::TempDir());
  setenv("NEAP_PROFILE", path.c_str(), 1);
  const auto f = jit([](const Array& x) { return sum(exp(matmul(x, x))); }, {.name = "twice"});
  const Array x = ones({64, 64});
  std::optional<Profile> profile;
  if (profiled) profile.emplace();
  f(x);
  std::thread([&] { f(x); }).join();
  const size_t steps = f.last_plan().num_steps();
  if (profiled && profile->slices().size() != 2 * steps) std::exit(3);
  std::fprintf(stderr, "%zu steps, peak %zu\n", steps, f.last_plan().peak_bytes());
  std::filesystem::current_path("/");  // the file is where it was asked for
  std::exit(0);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void check_trace(const std::string& text) {
  const auto trace = nlohmann::json::parse(text);
  EXPECT_EQ(trace["otherData"]["slices_left_out"], 0);
  std::map<std::string, int> names;
  std::set<int> threads;
  size_t most = 0, last = 1;
  for (const auto& event : trace["traceEvents"]) {
    EXPECT_GE(event["ts"].get<double>(), 0);
    if (event["ph"] == "C") {
      last = event["args"]["bytes"].get<size_t>();
      most = std::max(most, last);
      continue;
    }
    EXPECT_GE(event["dur"].get<double>(), 0);
    if (event["args"]["plan"] != "twice") continue;
    ++names[event["name"].get<std::string>()];
    threads.insert(event["tid"].get<int>());
  }
  EXPECT_EQ(names["planning"], 1);
  EXPECT_EQ(names["compiling"], 1);
  EXPECT_EQ(names["dot_general"], 2) << "two calls";
  EXPECT_EQ(threads.size(), 2u);
  EXPECT_GE(most, size_t{2} * 64 * 64 * 4);
  EXPECT_EQ(last, 0u) << "nothing is held after the last call";
}

TEST(ProfileDeathTest, WritesAFileForTheWholeProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto folder = std::filesystem::path(testing::TempDir());
  EXPECT_EXIT(run_program("neap-profile-alone.json", false), testing::ExitedWithCode(0), "steps, peak");
  EXPECT_EXIT(run_program("neap-profile-both.json", true), testing::ExitedWithCode(0), "steps, peak");
  for (const char* name : {"neap-profile-alone.json", "neap-profile-both.json"}) {
    check_trace(text_of(folder / name));
    std::filesystem::remove(folder / name);
  }
}

TEST(ProfileDeathTest, SaysAtOnceWhereTheFileCannotBe) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_program("/nowhere/neap-profile.json", false), testing::ExitedWithCode(0),
              "^neap: NEAP_PROFILE: .*nowhere.*\n.* steps, peak .*\n$");
}

}  // namespace
}  // namespace neap
