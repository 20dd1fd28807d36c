// All tests of this program run on the device that NEAP_DEVICE names: skipped where this machine has no such device,
// and silent under the validation layers (NEAP_VULKAN_VALIDATE=1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/device.h>

#include <algorithm>

#ifdef NEAP_VULKAN
#include "backends/vulkan/device.h"
#endif

namespace neap {
namespace {

class OnDevice : public testing::Environment {
  void SetUp() override {
    const auto all = devices();
    if (std::ranges::none_of(all, [](const DeviceInfo& d) { return d.device == default_device(); }))
      GTEST_SKIP() << to_string(default_device()) << ": no such device, or no loader";
  }
#ifdef NEAP_VULKAN
  void TearDown() override { EXPECT_THAT(vk::Device::validation_messages(), testing::IsEmpty()); }
#endif
};

[[maybe_unused]] const auto* const kEnvironment = testing::AddGlobalTestEnvironment(new OnDevice);

TEST(Device, IsListed) {
  const auto all = devices();
  EXPECT_TRUE(std::ranges::any_of(all, [](const DeviceInfo& d) { return d.device == default_device(); }));
}

}  // namespace
}  // namespace neap
