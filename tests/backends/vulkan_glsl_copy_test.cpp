// Copies, fills and binds, on the device.
#include <cstring>

#include "tests/backends/vulkan_trials.h"

namespace neap::vk::test {
namespace {

TEST_F(VulkanGlsl, CopiesAndFillsAnyNumberOfBytes) {
  const auto device = open_device();
  for (const int shift : {0, 1, 2}) {
    Choices choices = device->choices();
    if (shift > 0) choices.storage8 = choices.storage16 = choices.cpu = false;
    for (const size_t bytes : {1, 2, 3, 4, 5, 63, 64, 1021, 100003}) {
      const MemoryPtr memory = device->allocate(2 * 100032 + 64, true, "test");
      std::byte* from = memory->mapped();
      std::byte* to = from + 100032 + shift;
      const auto table = reinterpret_cast<uint64_t*>(from + 2 * 100032);
      std::memset(from, 0x55, 2 * 100032);
      for (size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
      table[0] = memory->address(), table[1] = memory->address() + 100032 + static_cast<uint64_t>(shift);
      const auto run = [&](const Shader& shader, uint32_t first) {
        const auto commands = device->record(0);
        commands->dispatch(device->pipeline(shader, "test"), {memory->address() + 2 * 100032, first, 0}, shader.groups);
        commands->end();
        Commands* one[] = {commands.get()};
        device->wait(device->submit(one, {memory}));
      };
      run(copy_shader(bytes, choices), 0);
      EXPECT_EQ(std::memcmp(from, to, bytes), 0) << bytes;
      EXPECT_EQ(to[bytes], std::byte{0x55}) << bytes;
      run(fill_shader(bytes, choices), 1);
      for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(to[i], std::byte{0}) << bytes;
      EXPECT_EQ(to[bytes], std::byte{0x55}) << bytes;
    }
  }
}

TEST_F(VulkanGlsl, BindsEntriesFromRecords) {
  const auto device = open_device();
  const MemoryPtr memory = device->allocate(4096, true, "test");
  auto* table = reinterpret_cast<uint64_t*>(memory->mapped());
  auto* records = reinterpret_cast<BindRecord*>(memory->mapped() + 1024);
  for (uint64_t i = 0; i < 100; ++i) table[i] = 1000 * i;
  table[0] = memory->address() + 1024;
  for (uint32_t i = 0; i < 80; ++i) records[i] = {100 + i % 28, 1 + i % 28, -5 * int64_t{i % 28}};
  const Shader shader = bind_shader(device->choices());
  const auto commands = device->record(0);
  commands->dispatch(device->pipeline(shader, "test"), {memory->address(), 0, 80}, shader.groups);
  commands->end();
  Commands* one[] = {commands.get()};
  device->wait(device->submit(one, {memory}));
  for (uint64_t i = 0; i < 28; ++i) EXPECT_EQ(table[100 + i], 1000 * (1 + i) - 5 * i);
}

}  // namespace
}  // namespace neap::vk::test
