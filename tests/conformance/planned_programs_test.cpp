// Plans of programs at random keep their promises, at sizes at which they matter; nothing is run. NEAP_TEST_SEED=n
// checks that one alone.
#include <cstdlib>

#include "tests/conformance/check_models.h"

namespace neap::conformance {
namespace {

class PlannedPrograms : public testing::TestWithParam<uint64_t> {
 protected:
  static void check_seeds(uint64_t programs, void (*check)(uint64_t seed)) {
    if (const char* seed = std::getenv("NEAP_TEST_SEED")) return check(std::strtoull(seed, nullptr, 10));
    for (uint64_t seed = GetParam() * programs; seed < (GetParam() + 1) * programs && !HasFailure(); ++seed)
      check(seed);
  }
};

TEST_P(PlannedPrograms, OfAnyOps) { check_seeds(500, check_large); }

TEST_P(PlannedPrograms, AsPeopleWriteThem) { check_seeds(25, check_model); }

TEST_P(PlannedPrograms, ThatMeetThemselves) { check_seeds(15, check_pair); }

INSTANTIATE_TEST_SUITE_P(Seeds, PlannedPrograms, testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace neap::conformance
