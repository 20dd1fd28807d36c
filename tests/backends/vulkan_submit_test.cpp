// Submissions to whatever device there is: their order, what they keep, threads, clocks.
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "tests/backends/vulkan_device.h"

namespace neap::vk {
namespace {

TEST_F(VulkanDevice, RunsSubmissionsInOrder) {
  const MemoryPtr data = device->allocate(64 * 4, true, "data");
  std::memset(data->mapped(), 0, 64 * 4);
  const MemoryPtr addresses = table(*device, {data->address()});
  const auto once = record(*device, increment(), addresses, 1);
  Ticket last = 0;
  for (int i = 0; i < 1000; ++i) {
    const Ticket ticket = submit(*device, once, {data, addresses});
    EXPECT_GT(ticket, last);
    last = ticket;
  }
  const std::vector<Commands*> many(10000, once.get());
  last = device->submit(many, {data, addresses});
  device->wait(last);
  EXPECT_TRUE(device->reached(last));
  uint32_t value = 0;
  std::memcpy(&value, data->mapped() + 63 * 4, 4);
  EXPECT_EQ(value, 11000u);
}

TEST_F(VulkanDevice, KeepsWhatASubmissionNeeds) {
  std::weak_ptr<Memory> watch;
  {
    const MemoryPtr data = device->allocate(64 * 4, false, "data");
    watch = data;
    const MemoryPtr addresses = table(*device, {data->address()});
    auto commands = record(*device, slow(), addresses, 50, 3000);
    submit(*device, commands, {data, addresses});
  }  // handles, table and the command buffer itself go while the kernel runs
  EXPECT_FALSE(watch.expired());
  device->drain();
  EXPECT_TRUE(watch.expired());
}

TEST_F(VulkanDevice, TakesWorkFromSeveralThreads) {
  constexpr int kThreads = 2, kTimes = 200;
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const MemoryPtr data = device->allocate(64 * 4, t == 0, "data");
      const std::vector<uint32_t> zeros(64);
      device->upload(reinterpret_cast<const std::byte*>(zeros.data()), *data, 0, 256);
      for (int i = 0; i < kTimes; ++i) {
        const MemoryPtr addresses = table(*device, {data->address()});
        const auto commands = record(*device, increment(), addresses, 1);
        const Ticket ticket = submit(*device, commands, {addresses});
        if (i % 7 == 0) device->wait(ticket);
      }
      std::vector<uint32_t> result(64);
      device->download(*data, 0, reinterpret_cast<std::byte*>(result.data()), 256);
      right += result[0] == kTimes && result[63] == kTimes;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, kThreads);
}

// Of each kernel, in whichever order they are made and run.
TEST_F(VulkanDevice, WaitsForFirstRunsThatCompile) {
  if (!device->choices().compiles_late) GTEST_SKIP() << "the driver compiles kernels when they are made";
  const MemoryPtr data = device->allocate(64 * 4, false, "data");
  const MemoryPtr addresses = table(*device, {data->address()});
  std::vector<std::unique_ptr<Commands>> all;
  for (const char* name : {"// one\n", "// two\n"}) {
    Shader shader = slow();
    shader.glsl += name;
    all.push_back(record(*device, shader, addresses, 40, 500));
  }
  for (const auto& commands : all) EXPECT_TRUE(device->reached(submit(*device, commands, {data, addresses})));
}

TEST_F(VulkanDevice, TellsTheTime) {
  if (device->record().timestamp_period == 0) GTEST_SKIP() << "the queue has no timestamps";
  const MemoryPtr data = device->allocate(64 * 4, false, "data");
  const MemoryPtr addresses = table(*device, {data->address()});
  auto commands = device->record(4);
  commands->timestamp(0);
  const auto before = std::chrono::steady_clock::now();
  for (int i = 1; i < 3; ++i) {
    commands->dispatch(device->pipeline(slow(), "slow"), {addresses->address(), 0, 100}, {40u * i * i * i * i, 1, 1});
    commands->barrier();
    commands->timestamp(i);
  }
  commands->end();
  device->wait(submit(*device, commands, {data, addresses}));
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  const std::vector<double> t = commands->timestamps();
  EXPECT_LT(t[0], t[1]);
  EXPECT_LT(t[1], t[2]);
  EXPECT_LE(t[2] - t[0], wall);
  if (device->record().type == "cpu") EXPECT_GT(t[2] - t[1], (t[1] - t[0]) * 2);  // 16 times the work
  EXPECT_TRUE(std::isnan(t[3]));                                                  // never written
}

TEST_F(VulkanDevice, ExitsWhileTheDeviceIsAtWork) {
  EXPECT_CHILD({
    static MemoryPtr data = device->allocate(64 * 4, false, "data");  // destroyed after or before the exit handler
    static MemoryPtr addresses = table(*device, {data->address()});
    static std::unique_ptr<Commands> commands = record(*device, slow(), addresses, 200, 5000);
    submit(*device, commands, {data, addresses});
    std::thread([device = device] { device->available(); }).join();
  });
}

TEST_F(VulkanDevice, ExitsBesideThreadsThatSubmit) {
  EXPECT_CHILD({
    static std::atomic<int> submitted = 0;
    for (int t = 0; t < 2; ++t) {
      std::thread([device = device] {  // never ends
        const MemoryPtr data = device->allocate(64 * 4, false, "data");
        const MemoryPtr addresses = table(*device, {data->address()});
        const auto commands = record(*device, slow(), addresses, 10, 100);
        try {
          for (;; ++submitted) device->wait(submit(*device, commands, {data, addresses}));
        } catch (const DeviceError&) {
          for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
        }
      })
          .detach();
    }
    while (submitted < 10) std::this_thread::yield();
  });
}

}  // namespace
}  // namespace neap::vk
