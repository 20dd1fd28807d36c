// What becomes of a device that is missing, lost, out of memory or too slow: an error that says so, and a process that
// goes on.
#include <neap/bytes.h>
#include <sys/resource.h>

#include <thread>

#include "tests/backends/vulkan_device.h"

namespace neap::vk {
namespace {

using namespace neap::literals;

TEST_F(VulkanDevice, NamesTheDevicesThereAre) {
  try {
    Device::get(1000);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(device->record().name));
  }
}

// In processes of their own: the loader looks for drivers once.
TEST(VulkanDriverDeathTest, WhereThereIsNoneTheMessageSaysWhatToInstall) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto message = [] {
    for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) setenv(name, "/nowhere.json", 1);
    try {
      Device::get(0);
    } catch (const DeviceError& error) {
      std::fputs(error.what(), stderr);
    }
    _exit(0);
  };
  EXPECT_EXIT(message(), testing::ExitedWithCode(0), "mesa-vulkan-drivers");
}

TEST_F(VulkanDevice, AFilterThatHidesAllIsNamed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto message = [] {
    setenv("NEAP_VULKAN_DEVICE", "no such name", 1);
    try {
      Device::get(1000);
    } catch (const DeviceError& error) {
      std::fputs(error.what(), stderr);
    }
    _exit(0);
  };
  EXPECT_EXIT(message(), testing::ExitedWithCode(0), "NEAP_VULKAN_DEVICE=no such name hides others");
}

TEST_F(VulkanDevice, SaysWhatMemoryIsMissing) {
  for (const bool visible : {false, true}) {
    try {
      device->allocate(size_t{1} << 40, visible, "the arena");
      FAIL();
    } catch (const OutOfMemoryError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("the arena needs 1.00 TiB"));
      EXPECT_THAT(error.what(), testing::HasSubstr("available"));
    }
  }
  EXPECT_THROW(device->allocate(~size_t{0}, false, "too much"), OutOfMemoryError);
  round_trip(*device, false, 1 << 12);  // still of use
}

// The driver itself refuses, in a process whose address space is limited.
TEST_F(VulkanDevice, SurvivesADriverWithoutMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers need all of the address space";
#else
  if (device->record().type != "cpu") GTEST_SKIP() << "only a device in software has the process's address space";
  EXPECT_CHILD({
    round_trip(*device, false, 1 << 12);
    const rlimit limit{6_GiB, 6_GiB};
    setrlimit(RLIMIT_AS, &limit);
    std::vector<MemoryPtr> taken;
    std::string message;
    try {
      while (taken.size() < 100) taken.push_back(device->allocate(1_GiB, false, "one more"));
    } catch (const OutOfMemoryError& error) {
      message = error.what();
    }
    EXPECT_THAT(message, testing::HasSubstr("one more needs 1.00 GiB"));
    taken.clear();
    taken.push_back(device->allocate(1_GiB, false, "again"));
    round_trip(*device, false, 1 << 12);
  });
#endif
}

TEST(VulkanDeviceMissing, IsADeviceError) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  {
    const Environment none("VK_ICD_FILENAMES", "no-such-file.json"),
        none_either("VK_DRIVER_FILES", "no-such-file.json");
    EXPECT_CHILD({
      EXPECT_THROW(Device::get(0), DeviceError);
      EXPECT_TRUE(Device::list().empty());
    });
  }
  const Environment filter("NEAP_VULKAN_DEVICE", "no device has this name");
  EXPECT_CHILD({
    EXPECT_THROW(Device::get(0), DeviceError);
    EXPECT_TRUE(Device::list().empty());
  });
}

TEST_F(VulkanDevice, GivesUpOnWhatDoesNotEnd) {
  const Environment soon("NEAP_VULKAN_TIMEOUT", "0.1");
  EXPECT_CHILD({
    const MemoryPtr data = device->allocate(64 * 4, true, "data");
    const MemoryPtr addresses = table(*device, {data->address()});
    const auto commands = record(*device, slow(), addresses, 2000, 20'000);
    const Ticket ticket = submit(*device, commands, {data, addresses});
    EXPECT_THROW(device->wait(ticket), DeviceError);
    EXPECT_THROW(device->allocate(100, true, "more"), DeviceError);
    EXPECT_THROW(submit(*device, commands, {}), DeviceError);
    auto& hung = static_cast<DeviceImpl&>(*device);
    EXPECT_EQ(hung.call().vkDeviceWaitIdle(hung.handle()), VK_SUCCESS);  // the new one has no patience either
    const auto again = Device::get(0);
    EXPECT_NE(again, device);
    round_trip(*again, false, 1 << 12);
  });
}

TEST_F(VulkanDevice, OpensALostDeviceAnew) {
  std::weak_ptr<Memory> kept;
  {
    const MemoryPtr data = device->allocate(64 * 4, true, "data");
    kept = data;
    const MemoryPtr addresses = table(*device, {data->address()});
    const auto commands = record(*device, increment(), addresses, 1);
    submit(*device, commands, {data, addresses});
  }
  auto& lost = static_cast<DeviceImpl&>(*device);
  EXPECT_EQ(lost.call().vkDeviceWaitIdle(lost.handle()), VK_SUCCESS);  // so that destroying it now is allowed
  EXPECT_THROW(lost.check(VK_ERROR_DEVICE_LOST, "a test"), DeviceError);
  EXPECT_THROW(device->drain(), DeviceError);
  EXPECT_THROW(device->allocate(100, true, "more"), DeviceError);
  const std::weak_ptr<Device> old = device;
  device = Device::get(0);
  EXPECT_TRUE(kept.expired());
  EXPECT_TRUE(old.expired());
  round_trip(*device, false, 1 << 12);
}

TEST_F(VulkanDevice, CollectsValidationMessages) {
  const Environment on("NEAP_VULKAN_VALIDATE", "1");
  EXPECT_CHILD({
    if (!driver().validation) return;  // said by validation_messages()
    auto& open = static_cast<DeviceImpl&>(*device);
    VkFenceCreateInfo wrong{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkFence fence = VK_NULL_HANDLE;
    open.call().vkCreateFence(open.handle(), &wrong, nullptr, &fence);
    EXPECT_THAT(Device::validation_messages(), testing::ElementsAre(testing::HasSubstr("VkFenceCreateInfo-sType")));
    if (!testing::Test::HasFailure()) std::exit(0);
  });
}

}  // namespace
}  // namespace neap::vk
