// Every allocation of a run is refused once, on the device of the process.
#include "tests/conformance/faults.h"

#include <gtest/gtest.h>
#include <neap/neap.h>

namespace neap::conformance {
namespace {

TEST(Faults, EachAllocationRefused) {
  for (const FaultyProgram& program : faulty_programs()) {
    const size_t refusals = refuse_each_allocation(program);
    EXPECT_GE(refusals, 1u) << program.name;
    if (HasFailure()) break;
  }
}

// Neither tracing nor planning nor compiling loses anything.
TEST(Faults, TheFirstCallOfAFunction) {
  const Array x = random::normal(random::key(1), {64, 64});
  for (size_t n = 1; n < 100; ++n) {
    const auto f = jit([](const Array& a) { return matmul(tanh(a), sort(a, 0)) + full({64, 64}, 2); });
    const LiveBytes before = live_bytes_now();
    detail::Heap::instance().refuse(n);
    bool failed = false;
    try {
      f(x).wait();
    } catch (const OutOfMemoryError&) {
      failed = true;
    }
    const bool refused = detail::Heap::instance().refused();
    detail::Heap::instance().refuse(0);
    EXPECT_EQ(failed, refused);
    EXPECT_EQ(live_bytes_now(), before);
    f(x).wait();
    if (!refused) break;
  }
}

}  // namespace
}  // namespace neap::conformance
