// Programs at random; NEAP_TEST_SEED=n checks that one alone.
#include <cstdlib>

#include "tests/conformance/check_program.h"

namespace neap::conformance {
namespace {

class RandomPrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomPrograms, RunTheSameHoweverTheyArePlanned) {
  for (uint64_t seed = GetParam() * 25; seed < (GetParam() + 1) * 25; ++seed) {
    check_program(seed);
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Block, RandomPrograms, testing::Range<uint64_t>(0, 12));

TEST(RandomProgram, OfTheEnvironment) {
  const char* seed = std::getenv("NEAP_TEST_SEED");
  if (!seed) GTEST_SKIP() << "NEAP_TEST_SEED is not set";
  check_program(std::strtoull(seed, nullptr, 10));
}

}  // namespace
}  // namespace neap::conformance
