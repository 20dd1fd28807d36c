// Kernels, processes and memory for the tests of backends/vulkan/device.h.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "backends/vulkan/device_impl.h"
#include "tests/environment.h"

namespace neap::vk {

namespace fs = std::filesystem;

// The operands of a kernel come by address from a table; see glsl.h.
inline constexpr const char* kHead = R"(#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 64) in;
layout(buffer_reference, scalar) buffer Words { uint at[]; };
layout(buffer_reference, scalar) buffer Table { uint64_t at[]; };
layout(push_constant, scalar) uniform Push { uint64_t table; uint first; uint count; };
#define OPERAND(i) Words(Table(table).at[first + i])
)";

// out[i] = in[i] * 3 + 1, from `count` on
inline Shader triple() {
  return {.glsl = std::string(kHead) + R"(
void main() {
  uint i = gl_GlobalInvocationID.x + count;
  OPERAND(1).at[i] = OPERAND(0).at[i] * 3 + 1;
}
)",
          .local_size = 64};
}

// data[i] += 1
inline Shader increment() {
  return {.glsl = std::string(kHead) + R"(
void main() { OPERAND(0).at[gl_GlobalInvocationID.x] += 1; }
)",
          .local_size = 64};
}

// Takes its time. llvmpipe ends any shader's loops after 65535 iterations in all, so there it needs many workgroups;
// a GPU runs those side by side, so there the loops count.
inline Shader slow() {
  return {.glsl = std::string(kHead) + R"(
void main() {
  uint x = gl_GlobalInvocationID.x + OPERAND(0).at[0];
  for (uint j = 0; j < count; ++j) {
    for (uint i = 0; i < count; ++i) x = x * 1664525u + (x >> 7) + 1013904223u;
  }
  OPERAND(0).at[gl_LocalInvocationID.x] = x;
}
)",
          .local_size = 64};
}

// Runs `body` in a process of its own, which must end well, exit handlers included.
#define EXPECT_CHILD(...) EXPECT_EXIT(std::exit(succeeds([&] __VA_ARGS__) ? 0 : 1), testing::ExitedWithCode(0), "")
inline bool succeeds(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return false;
  }
  const testing::TestResult& result = *testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int i = 0; i < result.total_part_count(); ++i)
    std::fprintf(stderr, "%s\n", result.GetTestPartResult(i).message());
  return !testing::Test::HasFailure() && Device::validation_messages().empty();
}

// A folder of the test's; its child processes are given the same one.
inline fs::path fresh_folder(const std::string& name) {
  if (const char* folder = std::getenv("NEAP_TEST_FOLDER")) return folder;
  const fs::path folder = fs::path(testing::TempDir()) / ("neap-vulkan-" + name + "-" + std::to_string(getpid()));
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

class VulkanDevice : public testing::Test {
 protected:
  void SetUp() override {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a child process starts anew: drivers do not survive fork
    try {
      device = Device::get(0);
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  const PhysicalDevice& physical() const { return static_cast<DeviceImpl&>(*device).physical(); }
  void TearDown() override { EXPECT_THAT(Device::validation_messages(), testing::IsEmpty()); }

  std::shared_ptr<Device> device;
};

/// A table of addresses, as the executor has one.
inline MemoryPtr table(Device& device, const std::vector<uint64_t>& addresses) {
  MemoryPtr table = device.allocate(addresses.size() * 8, true, "table");
  std::memcpy(table->mapped(), addresses.data(), addresses.size() * 8);
  return table;
}

inline std::unique_ptr<Commands> record(Device& device, const Shader& shader, const MemoryPtr& table, uint32_t groups,
                                        uint32_t count = 0) {
  auto commands = device.record(0);
  commands->barrier();
  commands->dispatch(device.pipeline(shader, "test"), {table->address(), 0, count}, {groups, 1, 1});
  commands->end();
  return commands;
}

inline Ticket submit(Device& device, const std::unique_ptr<Commands>& commands,
                     std::vector<std::shared_ptr<void>> keep) {
  Commands* const one[] = {commands.get()};
  return device.submit(one, std::move(keep));
}

inline std::vector<uint32_t> counting(size_t n) {
  std::vector<uint32_t> values(n);
  std::iota(values.begin(), values.end(), 7u);
  return values;
}

// in -> device -> kernel -> host, in memory of this kind.
inline void round_trip(Device& device, bool visible, size_t n) {
  const auto groups = static_cast<uint32_t>(n / 64);
  const std::vector<uint32_t> values = counting(n);
  const MemoryPtr in = device.allocate(n * 4, visible, "in"), out = device.allocate(n * 4, visible, "out");
  EXPECT_EQ(in->mapped() != nullptr, visible);
  EXPECT_EQ(in->address() % 256, 0u);
  device.upload(reinterpret_cast<const std::byte*>(values.data()), *in, 0, n * 4);
  const MemoryPtr addresses = table(device, {in->address(), out->address()});
  const auto commands = device.record(0);
  for (uint32_t first = 0; first < groups; first += 65535) {  // a part of the rows each
    commands->dispatch(device.pipeline(triple(), "triple"), {addresses->address(), 0, first * 64},
                       {std::min(groups - first, 65535u), 1, 1});
  }
  commands->end();
  submit(device, commands, {in, out, addresses});
  std::vector<uint32_t> result(n);
  device.download(*out, 0, reinterpret_cast<std::byte*>(result.data()), n * 4);
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(result[i], values[i] * 3 + 1) << i;
}

}  // namespace neap::vk
