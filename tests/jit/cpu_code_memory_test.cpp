// A process that compiles for ever is not refused memory because its code lies in too many places.
#include <gtest/gtest.h>
#include <neap/neap.h>

#include "tests/mappings.h"

namespace neap {
namespace {

TEST(CodeMemory, IsInFewRangesHoweverManyFunctionsAreCompiled) {
  const Array x = ones({8});
  const auto call = [&](int i) {  // a kernel of its own, with constants and a function that is called
    const float factor = static_cast<float>(i) + 0.25f;
    return sum(jit([=](const Array& a) { return lgamma(a * factor) + factor; })(x)).item<float>();
  };
  for (int i = 0; i < 20; ++i) call(i);
  const size_t before = mappings();
  for (int i = 20; i < 220; ++i) call(i);
  EXPECT_LT(mappings(), before + 40);
}

}  // namespace
}  // namespace neap
