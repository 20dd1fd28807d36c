// Every allocation of the program fails once, in a process of its own.
#include "tests/memory/program.h"

namespace neap::failing {
namespace {

constexpr size_t kShards = 8;  // which ctest runs side by side

class EachAllocation : public testing::TestWithParam<size_t> {};

TEST_P(EachAllocation, FailsCleanly) {
  if (!kCanFail) GTEST_SKIP() << "a sanitizer has a malloc of its own";
  Processes all;
  const size_t allocations = all.measure(1);
  for (size_t n = 1 + GetParam(); n <= allocations; n += kShards) EXPECT_EQ(all.fail(n, 1, 1), "");
}

INSTANTIATE_TEST_SUITE_P(Shard, EachAllocation, testing::Range<size_t>(0, kShards));

}  // namespace
}  // namespace neap::failing
