// A device's record, as a file, gives the limits of the device and the plans that it gets.
#include <cstdlib>

#include "planner/plan/limits.h"
#include "tests/limits_fields.h"
#include "tests/vulkan/fixture.h"

namespace neap {
namespace {

using namespace neap::literals;

class VulkanLimits : public OnVulkan {
 protected:
  void SetUp() override {
    OnVulkan::SetUp();
    if (IsSkipped()) return;
    for (const char* other : {"NEAP_VULKAN_MEMORY", "NEAP_VULKAN_RECORD"}) {
      const char* text = std::getenv(other);
      if (text && *text) GTEST_SKIP() << other << " says that the device is another than its record";
    }
    if (!limits(neap::vulkan()).host_memory) GTEST_SKIP() << "its memory is what is free there now";
    recorded_ = planner::parse_limits(to_json(vk::Device::get(0)->record()), "record");
  }

  template <class F, class... Args>
  void expect_same_plan(const F& f, const Args&... args) const {
    EXPECT_EQ(jit(f, {.device = neap::vulkan()}).plan(args...).to_json(),
              jit(f, {.device = neap::vulkan(), .limits = recorded_}).plan(args...).to_json());
  }

  Limits recorded_;
};

TEST_F(VulkanLimits, AreThoseOfItsRecord) { EXPECT_EQ(fields(recorded_), fields(limits(neap::vulkan()))); }

TEST_F(VulkanLimits, ARecordGivesThePlanThatTheDeviceGets) {
  const auto read = [](const Array& x, const Array& rows) { return sum(take(x, rows) * 2.5f); };
  expect_same_plan(grad(read), zeros({4096}), zeros({1 << 20}, i32));
  expect_same_plan([](const Array& a, const Array& b) { return matmul(a, b).astype(f16); }, zeros({256, 256}, f16),
                   zeros({256, 256}, f16));
  expect_same_plan([](const Array& x) { return sort(x) + cumsum(x); }, zeros({100000}));
  expect_same_plan([](const Array& x) { return linalg::cholesky(x) + x; }, eye(64));
  expect_same_plan([](const Array& key) { return random::normal(key, {4096, 513}, bf16); }, random::key(1));
}

}  // namespace
}  // namespace neap
