// Allocations that fail, each in a process of its own: a sample of them, which cpu_failing_long_test.cpp completes.
#include "tests/memory/program.h"

namespace neap::failing {
namespace {

// `many` allocations in a row, beginning at about `processes` places of the program.
void fail_everywhere(size_t processes, size_t many, int threads) {
  if (!kCanFail) GTEST_SKIP() << "a sanitizer has a malloc of its own";
  Processes all;
  const size_t allocations = all.measure(threads);
  ASSERT_GT(allocations, 1000u);
  const size_t step = allocations / processes + 1;
  for (size_t n = 1 + (many + static_cast<size_t>(threads)) % step; n <= allocations; n += step) {
    EXPECT_EQ(all.fail(n, many, threads), "");
  }
  EXPECT_LE(all.not_started(), processes / 10) << "LLVM starts once: 1,100 allocations of 105,000";
}

TEST(FailingAllocations, One) { fail_everywhere(100, 1, 1); }
TEST(FailingAllocations, OneWithTwoThreads) { fail_everywhere(50, 1, 2); }
TEST(FailingAllocations, Several) { fail_everywhere(50, 10, 1); }
TEST(FailingAllocations, AllThatFollow) { fail_everywhere(50, SIZE_MAX, 1); }

}  // namespace
}  // namespace neap::failing
