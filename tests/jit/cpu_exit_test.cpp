// The end of the process: what still computes in the destructors of static objects, older ones than anything of ours.
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string_view>

namespace neap {
namespace {

void quit_unless(bool right, int code) {
  if (!right) std::_Exit(code);
}

// Kernels that nothing has needed before, of eager operations, composites and jitted functions.
bool computes_anew() {
  const Array x = full({64, 64}, 0.5f);
  const Array fresh = jit([](const Array& a) { return sum(matmul(a, tanh(a) * 3)) / 64; })(x);
  const Array eager = sum(softmax(cosh(x) * 7, -1)), drawn = sum(random::uniform(random::key(7), {1000}));
  const double expected = 64 * 64 * 0.5 * std::tanh(0.5) * 3;
  return std::abs(fresh.item<float>() - expected) < 0.1 && std::abs(eager.item<float>() - 64) < 1e-3 &&
         drawn.item<float>() > 400;
}

// Computes as it is destroyed; any wrong number ends the process with an exit code that is not 0.
struct AtExit {
  explicit AtExit(bool compiles) : compiles(compiles) {}
  ~AtExit() {
    if (function)
      quit_unless(std::abs(function(full({64, 64}, 0.5f)).item<float>() - 64 * 64 * std::sin(0.5)) < 0.1, 3);
    try {
      quit_unless(computes_anew() && compiles, 4);
    } catch (const DeviceError& error) {
      quit_unless(!compiles && std::string_view(error.what()).starts_with("cpu: the process is about to end"), 5);
      std::fprintf(stderr, "refused\n");
    }
    if (profile) quit_unless(!profile->slices().empty(), 6);
  }
  bool compiles;
  std::function<Array(const Array&)> function;
  std::optional<Profile> profile;
};

AtExit& older() {
  static AtExit object(false);
  return object;
}

AtExit& younger() {
  static AtExit object(true);
  return object;
}

void run(int threads) {
  AtExit& object = older();
  set_num_threads(threads);
  object.function = jit([](const Array& a) { return sum(sin(a)); });
  object.function(full({64, 64}, 0.5f));
  object.profile.emplace();
  std::exit(0);
}

// LLVM's own static objects are gone, which it needs to compile: what is compiled runs, and what is not is refused.
TEST(ExitDeathTest, OldStaticsRunWhatIsCompiled) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run(1), testing::ExitedWithCode(0), "refused");
  EXPECT_EXIT(run(2), testing::ExitedWithCode(0), "refused");
}

TEST(ExitDeathTest, YoungStaticsCompile) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        sum(sin(ones({64, 64}))).item<float>();
        younger();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ExitDeathTest, BeginsInADestructor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        younger().function = jit([](const Array& a) { return sum(sin(a)); });
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

// The index of NEAP_DUMP, which is written at the end, has the plans that are made after that.
TEST(ExitDeathTest, DumpsWhatIsPlannedInADestructor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto folder = std::filesystem::path(testing::TempDir()) / "neap-dump-exit";
  std::filesystem::remove_all(folder);
  EXPECT_EXIT(
      {
        setenv("NEAP_DUMP", folder.c_str(), 1);
        run(2);
      },
      testing::ExitedWithCode(0), "refused");
  size_t plans = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    plans += entry.path().string().ends_with(".plan.json");
  }
  EXPECT_GE(plans, 2u);
  std::ifstream file(folder / "index.json");
  std::stringstream index;
  index << file.rdbuf();
  size_t named = 0;
  for (size_t at = 0; (at = index.str().find(".plan.json", at)) != std::string::npos; ++at) ++named;
  EXPECT_EQ(named, plans);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace neap
