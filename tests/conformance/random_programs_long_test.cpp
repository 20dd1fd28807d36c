#include "tests/conformance/check_transformed.h"

namespace neap::conformance {
namespace {

class ManyRandomPrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(ManyRandomPrograms, RunTheSameHoweverTheyArePlanned) {
  int failures = 0;
  for (uint64_t seed = 1000 + GetParam() * 1000; seed < 2000 + GetParam() * 1000 && failures < 3; ++seed) {
    check_program(seed);
    failures += HasFailure();
  }
}

INSTANTIATE_TEST_SUITE_P(Block, ManyRandomPrograms, testing::Range<uint64_t>(0, 20));

class ManyTransformedPrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(ManyTransformedPrograms, RunTheSameHoweverTheyArePlanned) {
  int failures = 0;
  for (uint64_t seed = 1000 + GetParam() * 1000; seed < 2000 + GetParam() * 1000 && failures < 3; ++seed) {
    check_transformed(seed);
    failures += HasFailure();
  }
}

INSTANTIATE_TEST_SUITE_P(Block, ManyTransformedPrograms, testing::Range<uint64_t>(0, 80));

}  // namespace
}  // namespace neap::conformance
