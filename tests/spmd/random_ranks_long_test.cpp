// Ten thousand random programs: threads that exchange messages beside emulated ranks.
#include "tests/spmd/check_random_ranks.h"

namespace neap {
namespace {

class ManyRandomRanks : public testing::TestWithParam<uint64_t> {};

TEST_P(ManyRandomRanks, ThreadsAreEmulatedRanks) {
  for (uint64_t seed = GetParam() * 100; seed < (GetParam() + 1) * 100 && !HasFailure(); ++seed)
    check_random_ranks(seed);
}

INSTANTIATE_TEST_SUITE_P(Block, ManyRandomRanks, testing::Range<uint64_t>(1, 101));

}  // namespace
}  // namespace neap
