// NEAP_PROGRESS=1 names what is planned and run, and tells how far loops are.
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cstdlib>

#include "core/progress.h"

namespace neap {
namespace {

// In a process of its own, since the variable is read once; all of it is shown, however short.
template <class F>
void show(const F& f) {
  setenv("NEAP_PROGRESS", "1", 1);
  progress_delay = std::chrono::milliseconds(0);
  f(ones({32, 32}));
  std::exit(0);
}

TEST(ProgressDeathTest, TellsOfPlanningAndOfLoops) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto f = jit(
      [](const Array& x) {
        return fori_loop(0, 40, [](const Array&, const Array& y) { return tanh(matmul(y, y)); }, x);
      },
      {.device = cpu(), .name = "powers"});
  EXPECT_EXIT(
      show(f), testing::ExitedWithCode(0),
      "neap: [0-9.]+ s, powers; planning \\([0-9]+ operations\\): plan 1\n"
      "(.*\n)*neap: powers: over after [0-9.]+ s\n"
      "(.*\n)*neap: [0-9.]+ s, powers; .* at cpu_progress_test.cpp:[0-9]+: 2 %, .* s left, iteration 1 of 40\n"
      "(.*\n)*neap: [0-9.]+ s, powers; .* at cpu_progress_test.cpp:[0-9]+: 98 %, .* s left, iteration 39 of 40\n"
      "(.*\n)*neap: powers: over after [0-9.]+ s\n");
}

TEST(ProgressDeathTest, CountsLoopsWithoutAKnownEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto f = jit(
      [](const Array& x) {
        return while_loop([](const Array& y) { return sum(y) < 5000.0f; }, [](const Array& y) { return y + 1.0f; }, x);
      },
      {.device = cpu()});
  EXPECT_EXIT(
      show(f), testing::ExitedWithCode(0),
      "neap: [0-9.]+ s, cpu_progress_test.cpp:[0-9]+; while_loop at cpu_progress_test.cpp:[0-9]+: iteration 1\n");
}

TEST(ProgressDeathTest, SaysNothingUnlessAskedTo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        unsetenv("NEAP_PROGRESS");
        progress_delay = std::chrono::milliseconds(0);
        jit([](const Array& x) { return fori_loop(0, 40, [](const Array&, const Array& y) { return y * 2.0f; }, x); })(
            ones({32}));
        std::exit(0);
      },
      testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace neap
