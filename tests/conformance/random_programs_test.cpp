// Programs at random run the same however they are planned. NEAP_TEST_SEED=n checks that one alone.
#include <cstdlib>

#include "tests/conformance/check_program.h"

namespace neap::conformance {
namespace {

constexpr uint64_t kPrograms = 25;

class RandomPrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomPrograms, RunTheSameHoweverTheyArePlanned) {
  if (const char* seed = std::getenv("NEAP_TEST_SEED")) return check_program(std::strtoull(seed, nullptr, 10));
  for (uint64_t seed = GetParam() * kPrograms; seed < (GetParam() + 1) * kPrograms && !HasFailure(); ++seed)
    check_program(seed);
}

INSTANTIATE_TEST_SUITE_P(Block, RandomPrograms, testing::Range<uint64_t>(0, 12));

}  // namespace
}  // namespace neap::conformance
