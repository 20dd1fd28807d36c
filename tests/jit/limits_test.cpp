// Plans for devices that are not here, by the public interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <filesystem>
#include <fstream>

namespace neap {
namespace {

Array step(const Array& x, const Array& w) { return tanh(matmul(tanh(matmul(x, w)), w)) + sort(x, 0); }

TEST(Limits, OfRecordedDevicesAndOfThisOne) {
  const Array x = spec({4096, 4096}, f32), w = spec({4096, 4096}, f32);
  int devices = 0;
  for (const auto& entry : std::filesystem::directory_iterator(NEAP_TESTS_DIR "/data/devices")) {
    const Limits limits = read_limits(entry.path());
    const auto f = jit(step, {.limits = limits});
    const Plan plan = f.plan(x, w);
    EXPECT_GE(plan.peak_bytes(), size_t{4} << 26) << limits.name;
    if (limits.memory > 0) EXPECT_LE(plan.peak_bytes(), limits.memory) << limits.name;
    EXPECT_GE(f.tradeoff(x, w).size(), 1u);
    EXPECT_THROW(f(zeros({2, 2}), zeros({2, 2})), UserError);
    EXPECT_THROW(f.compile(x, w), UserError);
    ++devices;
  }
  EXPECT_GE(devices, 10);
  const Limits here = limits(default_device());
  EXPECT_EQ(jit(step, {.limits = here}).plan(x, w).peak_bytes(), jit(step).plan(x, w).peak_bytes());
}

TEST(Limits, AreKept) {
  const Array x = spec({1024, 1024}, f32), w = spec({1024, 1024}, f32);
  EXPECT_THROW(jit(step, {.limits = Limits{.name = "small", .gpu = true, .memory = 9 << 20}}).plan(x, w), BudgetError);
  EXPECT_THROW(jit(step, {.limits = Limits{.name = "small", .gpu = true, .largest_buffer = 1 << 20}}).plan(x, w),
               OutOfMemoryError);
  EXPECT_THROW(read_limits("no such file"), UserError);
  EXPECT_THROW(read_limits(NEAP_TESTS_DIR), UserError);
}

}  // namespace
}  // namespace neap
