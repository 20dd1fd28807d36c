// Programs at random under transforms at random run the same however they are planned. NEAP_TEST_SEED=n checks that
// one alone.
#include <cstdlib>

#include "tests/conformance/check_transformed.h"

namespace neap::conformance {
namespace {

constexpr uint64_t kPrograms = 20;

class TransformedPrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(TransformedPrograms, RunTheSameHoweverTheyArePlanned) {
  if (const char* seed = std::getenv("NEAP_TEST_SEED")) return check_transformed(std::strtoull(seed, nullptr, 10));
  for (uint64_t seed = GetParam() * kPrograms; seed < (GetParam() + 1) * kPrograms && !HasFailure(); ++seed)
    check_transformed(seed);
}

TEST_P(TransformedPrograms, OfTheLibraryRunTheSame) {
  if (const char* seed = std::getenv("NEAP_TEST_SEED")) return check_library(std::strtoull(seed, nullptr, 10));
  const uint64_t programs = default_device() == cpu() ? 4 : 1;  // drivers compile slowly
  for (uint64_t seed = GetParam() * programs; seed < (GetParam() + 1) * programs && !HasFailure(); ++seed)
    check_library(seed);
}

INSTANTIATE_TEST_SUITE_P(Block, TransformedPrograms, testing::Range<uint64_t>(0, 10));

}  // namespace
}  // namespace neap::conformance
