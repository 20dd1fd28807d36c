// backends/vulkan/device.h on whatever device there is, its memory above all; the set-up installs lavapipe, a device in
// software.
#include <neap/bytes.h>
#include <sys/mman.h>

#include <random>

#include "tests/backends/vulkan_device.h"

namespace neap::vk {
namespace {

using namespace neap::literals;

TEST_F(VulkanDevice, ListsWhatItOpens) {
  const auto list = Device::list();
  ASSERT_FALSE(list.empty());
  const DeviceRecord& record = device->record();
  EXPECT_EQ(list[0].name, record.name);
  EXPECT_THAT(list, testing::Each(testing::ResultOf(unfit_for, testing::Eq(std::nullopt))));
  EXPECT_GE(record.api_version, 1002u);
  EXPECT_TRUE(record.buffer_device_address && record.timeline_semaphore && record.scalar_block_layout && record.int64);
  EXPECT_GE(record.max_workgroup_invocations, 128u);
  EXPECT_GE(record.max_memory_allocation, 1_GiB);
  EXPECT_FALSE(record.device_local_heaps.empty());
  EXPECT_GT(record.subgroup_size, 0u);
  EXPECT_EQ(Device::get(0), device);
  EXPECT_GT(device->available(), 0u);
}

TEST_F(VulkanDevice, ComputesInMemoryThatTheHostSees) { round_trip(*device, true, 1 << 16); }
TEST_F(VulkanDevice, ComputesInMemoryOfItsOwn) { round_trip(*device, false, 1 << 16); }
TEST_F(VulkanDevice, StagesMoreThanTheRingHolds) { round_trip(*device, false, (40 << 20) / 4); }

TEST_F(VulkanDevice, StagesAnyPart) {
  const MemoryPtr memory = device->allocate(17_MiB + 12, false, "memory");
  std::vector<std::byte> bytes(17_MiB + 12);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  device->upload(bytes.data(), *memory, 0, 5);
  device->upload(bytes.data() + 5, *memory, 5, 8_MiB);
  device->upload(bytes.data() + 5 + 8_MiB, *memory, 5 + 8_MiB, bytes.size() - 5 - 8_MiB);
  device->upload(bytes.data(), *memory, 3, 0);
  std::vector<std::byte> result(bytes.size());
  device->download(*memory, 1_MiB + 3, result.data(), 16_MiB);
  EXPECT_EQ(std::memcmp(result.data(), bytes.data() + 1_MiB + 3, 16_MiB), 0);
  EXPECT_THROW(device->upload(bytes.data(), *memory, 13, bytes.size()), InternalError);
}

TEST_F(VulkanDevice, ImportsHostMemoryInPlace) {
  if (device->record().imported_host_alignment == 0) GTEST_SKIP() << "no VK_EXT_external_memory_host";
  std::vector<uint32_t> in = counting(64 * 1000), out(in.size() + 100, 5);  // at odd addresses inside their pages
  const MemoryPtr from = device->import(reinterpret_cast<std::byte*>(in.data()), in.size() * 4);
  const MemoryPtr to = device->import(reinterpret_cast<std::byte*>(out.data() + 3), in.size() * 4);
  const MemoryPtr addresses = table(*device, {from->address(), to->address()});
  const auto commands = record(*device, triple(), addresses, 1000);
  device->wait(submit(*device, commands, {from, to, addresses}));
  EXPECT_EQ(out[2], 5u);
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i + 3], in[i] * 3 + 1) << i;
  EXPECT_EQ(out[in.size() + 3], 5u);
  in[0] = 100;  // what the host writes before a submission is seen by it
  device->wait(submit(*device, commands, {from, to, addresses}));
  EXPECT_EQ(out[3], 301u);
  if (device->choices().texels == 0) return;
  EXPECT_EQ(device->can_view({from.get(), 0, 64}),
            reinterpret_cast<uintptr_t>(in.data()) % device->choices().texel_alignment == 0);
  EXPECT_EQ(device->can_view({to.get(), 4, 64}),
            reinterpret_cast<uintptr_t>(out.data()) % device->choices().texel_alignment == 0);
}

TEST_F(VulkanDevice, ImportsMoreThanOneAllocationMayHold) {
  if (device->record().type != "cpu") GTEST_SKIP() << "addresses of several imports are contiguous on a CPU only";
  constexpr size_t kBytes = 3_GiB;
  void* host = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(host, MAP_FAILED);
  {
    const auto imported = device->import(static_cast<std::byte*>(host), kBytes);
    EXPECT_EQ(imported->bytes(), kBytes);
    EXPECT_FALSE(device->can_view({imported.get(), 0, 64})) << "it is in two pieces";
    auto* const words = static_cast<uint32_t*>(host);
    const size_t border = device->record().max_memory_allocation / 4 - 32;  // 64 words across it
    std::vector<std::unique_ptr<Commands>> all;
    for (const size_t at : {size_t{0}, border, kBytes / 4 - 64}) {
      words[at] = 41;
      words[at + 63] = 42;
      const MemoryPtr addresses = table(*device, {imported->address() + at * 4});
      all.push_back(record(*device, increment(), addresses, 1));
      submit(*device, all.back(), {imported, addresses});
    }
    device->drain();
    for (const size_t at : {size_t{0}, border, kBytes / 4 - 64}) {
      EXPECT_EQ(words[at], 42u);
      EXPECT_EQ(words[at + 63], 43u);
      EXPECT_EQ(words[at + 1], 1u);
    }
  }
  munmap(host, kBytes);
}

TEST_F(VulkanDevice, SharesBlocksAmongSmallRequests) {
  std::mt19937 random(1);
  std::vector<MemoryPtr> live;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (int i = 0; i < 3000; ++i) {
    if (!live.empty() && random() % 3 == 0) {
      std::swap(live[random() % live.size()], live.back());
      live.pop_back();
    } else {
      live.push_back(device->allocate(random() % 60000, random() % 2 == 0, "small"));
    }
  }
  for (const MemoryPtr& m : live) {
    EXPECT_EQ(m->address() % 256, 0u);
    ranges.emplace_back(m->address(), m->address() + std::max<size_t>(m->bytes(), 1));
  }
  std::ranges::sort(ranges);
  for (size_t i = 1; i < ranges.size(); ++i) ASSERT_LE(ranges[i - 1].second, ranges[i].first);
}

TEST_F(VulkanDevice, TakesTheMemoryModeFromTheEnvironment) {
  using Mode = Choices::Memory;
  for (const auto& [name, mode] : {std::pair{"mapped", Mode::mapped}, std::pair{"staged", Mode::staged}}) {
    const Environment environment("NEAP_VULKAN_MEMORY", name);
    EXPECT_CHILD({ EXPECT_EQ(device->choices().memory, mode); });
  }
  const Environment environment("NEAP_VULKAN_MEMORY", "paper");
  EXPECT_THROW(DeviceImpl(physical(), 7), OptionError);
}

}  // namespace
}  // namespace neap::vk
