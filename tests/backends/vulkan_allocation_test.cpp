// Where an allocation of the host fails, no memory of a device is lost; what ends its life needs none.
#include "tests/backends/vulkan_device.h"
#include "tests/failing_new.h"

namespace neap::vk {
namespace {

constexpr size_t kParts = 300;

// Parts of shared blocks, of no bytes too.
std::vector<MemoryPtr> small_memory(Device& device) {
  std::vector<MemoryPtr> parts;
  for (size_t i = 0; i < kParts; ++i) parts.push_back(device.allocate(i % 7 * 300, i % 2 == 0, "a part"));
  return parts;
}

std::vector<uint64_t> addresses(const std::vector<MemoryPtr>& parts) {
  std::vector<uint64_t> result;
  for (const MemoryPtr& part : parts) result.push_back(part->address());
  return result;
}

TEST_F(VulkanDevice, EndingMemoryTakesNoMemory) {
  if (!kNewCanFail) GTEST_SKIP() << "a sanitizer has an operator new of its own";
  std::vector<MemoryPtr> parts = small_memory(*device);
  failing_new = {1, true, 0, false};
  for (size_t i = 0; i < kParts; ++i) parts[i * 7 % kParts].reset();
  const bool asked = failing_new.struck;
  failing_new = {};
  EXPECT_FALSE(asked);
}

TEST_F(VulkanDevice, FailingAllocationsLoseNoMemory) {
  if (!kNewCanFail) GTEST_SKIP() << "a sanitizer has an operator new of its own";
  const std::vector<uint64_t> before = addresses(small_memory(*device));
  const size_t failed = fail_each_allocation([&] { small_memory(*device); }, [] {});
  EXPECT_GT(failed, 2 * kParts);
  EXPECT_EQ(addresses(small_memory(*device)), before);
}

}  // namespace
}  // namespace neap::vk
