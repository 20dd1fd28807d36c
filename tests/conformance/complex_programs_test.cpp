// Programs of complex numbers at random run the same however they are planned. NEAP_TEST_SEED=n checks that one alone.
#include <cstdlib>

#include "tests/conformance/check_program.h"
#include "tests/conformance/complex_program.h"

namespace neap::conformance {
namespace {

class ComplexPrograms : public testing::TestWithParam<uint64_t> {
 protected:
  static void check(uint64_t seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ComplexProgram program(seed, seed % 8 != 3);  // of 3, batches are checked
    try {
      program.make();
      check_graph(program.graph, program.inputs, seed);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
    if (HasFailure()) ADD_FAILURE() << tracing::print(program.graph);
  }
};

TEST_P(ComplexPrograms, RunTheSameHoweverTheyArePlanned) {
  if (const char* seed = std::getenv("NEAP_TEST_SEED")) return check(std::strtoull(seed, nullptr, 10));
  const uint64_t programs = default_device() == cpu() ? 20 : 2;  // drivers compile slowly
  for (uint64_t seed = GetParam() * programs; seed < (GetParam() + 1) * programs && !HasFailure(); ++seed) check(seed);
}

INSTANTIATE_TEST_SUITE_P(Block, ComplexPrograms, testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace neap::conformance
