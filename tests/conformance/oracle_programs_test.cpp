// Functions of order and of windows at random, against plain C++. NEAP_TEST_SEED=n checks that one alone.
#include <cstdlib>

#include "tests/conformance/check_oracle.h"

namespace neap::conformance {
namespace {

class OraclePrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(OraclePrograms, AreWhatPlainCodeMakes) {
  if (const char* seed = std::getenv("NEAP_TEST_SEED")) return check_oracle(std::strtoull(seed, nullptr, 10));
  const uint64_t programs = default_device() == cpu() ? 25 : 3;  // drivers compile slowly
  for (uint64_t seed = GetParam() * programs; seed < (GetParam() + 1) * programs && !HasFailure(); ++seed)
    check_oracle(seed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, OraclePrograms, testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace neap::conformance
