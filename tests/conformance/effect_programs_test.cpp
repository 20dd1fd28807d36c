// Programs at random call the host as the reference does, however they are planned. NEAP_TEST_SEED=n checks that one
// alone.
#include <cstdlib>

#include "tests/conformance/check_effects.h"

namespace neap::conformance {
namespace {

class EffectPrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(EffectPrograms, CallTheHostAsTheReferenceDoes) {
  if (const char* seed = std::getenv("NEAP_TEST_SEED")) return check_effects(std::strtoull(seed, nullptr, 10));
  const uint64_t programs = default_device() == cpu() ? 6 : 1;  // drivers compile slowly
  for (uint64_t seed = GetParam() * programs; seed < (GetParam() + 1) * programs && !HasFailure(); ++seed)
    check_effects(seed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, EffectPrograms, testing::Range<uint64_t>(0, 8));

}  // namespace
}  // namespace neap::conformance
