// Tests by the public interface on the first Vulkan device: skipped where there is none, and silent under validation.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include "backends/vulkan/device.h"

namespace neap {

class OnVulkan : public testing::Test {
 protected:
  void SetUp() override {
    if (vk::Device::list().empty()) GTEST_SKIP() << "no Vulkan device or no loader";
    synchronize();
  }
  void TearDown() override { EXPECT_THAT(vk::Device::validation_messages(), testing::IsEmpty()); }
};

}  // namespace neap
