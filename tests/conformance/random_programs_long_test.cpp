// Programs at random of every kind that the other tests here try, thousands of each.
#include "tests/conformance/check_derivatives.h"
#include "tests/conformance/check_effects.h"
#include "tests/conformance/check_models.h"
#include "tests/conformance/check_oracle.h"
#include "tests/conformance/check_transformed.h"

namespace neap::conformance {
namespace {

class ManyPrograms : public testing::TestWithParam<uint64_t> {
 protected:
  static void check_seeds(uint64_t programs, void (*check)(uint64_t seed)) {
    int failures = 0;
    for (uint64_t seed = 1000 + GetParam() * programs; seed < 1000 + (GetParam() + 1) * programs && failures < 3;
         ++seed) {
      check(seed);
      failures += HasFailure();
    }
  }
};

class ManyRandomPrograms : public ManyPrograms {};
TEST_P(ManyRandomPrograms, RunTheSameHoweverTheyArePlanned) { check_seeds(1000, check_program); }
INSTANTIATE_TEST_SUITE_P(Block, ManyRandomPrograms, testing::Range<uint64_t>(0, 20));

class ManyTransformedPrograms : public ManyPrograms {};
TEST_P(ManyTransformedPrograms, RunTheSameHoweverTheyArePlanned) { check_seeds(1000, check_transformed); }
INSTANTIATE_TEST_SUITE_P(Block, ManyTransformedPrograms, testing::Range<uint64_t>(0, 80));

class ManyOtherPrograms : public ManyPrograms {};
TEST_P(ManyOtherPrograms, AreWhatPlainCodeMakes) { check_seeds(1000, check_oracle); }
TEST_P(ManyOtherPrograms, HaveTheDerivativesThatDifferencesSay) { check_seeds(2000, check_derivatives); }
TEST_P(ManyOtherPrograms, AreLargeAndOfAnyOps) { check_seeds(20'000, check_large); }
TEST_P(ManyOtherPrograms, AreAsPeopleWriteThem) { check_seeds(1000, check_model); }
TEST_P(ManyOtherPrograms, CallTheHostAsTheReferenceDoes) { check_seeds(500, check_effects); }
TEST_P(ManyOtherPrograms, OfTheLibraryRunTheSame) { check_seeds(1000, check_library); }
TEST_P(ManyOtherPrograms, MeetThemselves) { check_seeds(500, check_pair); }
INSTANTIATE_TEST_SUITE_P(Block, ManyOtherPrograms, testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace neap::conformance
