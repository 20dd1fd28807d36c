// backends/vulkan/device.h on whatever device there is; the set-up installs lavapipe, a device in software.
#ifdef NEAP_VULKAN
#include "backends/vulkan/device.h"

#include <neap/bytes.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>

#include "backends/vulkan/device_impl.h"
#include "backends/vulkan/spirv.h"

namespace neap::vk {
namespace {

using namespace neap::literals;
namespace fs = std::filesystem;

// The operands of a kernel come by address from a table; see glsl.h.
constexpr const char* kHead = R"(#version 460
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
Shader triple() {
  return {.glsl = std::string(kHead) + R"(
void main() {
  uint i = gl_GlobalInvocationID.x + count;
  OPERAND(1).at[i] = OPERAND(0).at[i] * 3 + 1;
}
)",
          .local_size = 64};
}

// data[i] += 1
Shader increment() {
  return {.glsl = std::string(kHead) + R"(
void main() { OPERAND(0).at[gl_GlobalInvocationID.x] += 1; }
)",
          .local_size = 64};
}

// Takes its time. llvmpipe ends any shader's loops after 65535 iterations in all, so there it needs many workgroups;
// a GPU runs those side by side, so there the loops count.
Shader slow() {
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

// A variable of the environment, for as long as this lives. Child processes inherit it.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

// Runs `body` in a process of its own, which must end well, exit handlers included.
#define EXPECT_CHILD(...) EXPECT_EXIT(std::exit(succeeds([&] __VA_ARGS__) ? 0 : 1), testing::ExitedWithCode(0), "")
bool succeeds(const std::function<void()>& body) {
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
fs::path fresh_folder(const std::string& name) {
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
MemoryPtr table(Device& device, const std::vector<uint64_t>& addresses) {
  MemoryPtr table = device.allocate(addresses.size() * 8, true, "table");
  std::memcpy(table->mapped(), addresses.data(), addresses.size() * 8);
  return table;
}

std::unique_ptr<Commands> record(Device& device, const Shader& shader, const MemoryPtr& table, uint32_t groups,
                                 uint32_t count = 0) {
  auto commands = device.record(0);
  commands->barrier();
  commands->dispatch(device.pipeline(shader, "test"), {table->address(), 0, count}, {groups, 1, 1});
  commands->end();
  return commands;
}

Ticket submit(Device& device, const std::unique_ptr<Commands>& commands, std::vector<std::shared_ptr<void>> keep) {
  Commands* const one[] = {commands.get()};
  return device.submit(one, std::move(keep));
}

std::vector<uint32_t> counting(size_t n) {
  std::vector<uint32_t> values(n);
  std::iota(values.begin(), values.end(), 7u);
  return values;
}

// in -> device -> kernel -> host, in memory of this kind.
void round_trip(Device& device, bool visible, size_t n) {
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

TEST_F(VulkanDevice, ListsWhatItOpens) {
  const auto list = Device::list();
  ASSERT_FALSE(list.empty());
  const DeviceRecord& record = device->record();
  EXPECT_THAT(list, testing::Contains(testing::Field(&DeviceRecord::name, record.name)));
  EXPECT_GE(record.api_version, 1002u);
  EXPECT_TRUE(record.buffer_device_address && record.timeline_semaphore && record.scalar_block_layout && record.int64);
  EXPECT_GE(record.max_workgroup_invocations, 128u);
  EXPECT_GE(record.max_memory_allocation, 1_GiB);
  EXPECT_FALSE(record.device_local_heaps.empty());
  EXPECT_GT(record.subgroup_size, 0u);
  EXPECT_EQ(Device::get(0), device);
  EXPECT_GT(device->available(), 0u);
}

TEST_F(VulkanDevice, NamesTheDevicesThereAre) {
  try {
    Device::get(1000);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(device->record().name));
  }
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
}

TEST_F(VulkanDevice, ImportsMoreThanOneAllocationMayHold) {
  if (device->record().type != "cpu") GTEST_SKIP() << "addresses of several imports are contiguous on a CPU only";
  constexpr size_t kBytes = 3_GiB;
  void* host = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(host, MAP_FAILED);
  {
    const auto imported = device->import(static_cast<std::byte*>(host), kBytes);
    EXPECT_EQ(imported->bytes(), kBytes);
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

TEST_F(VulkanDevice, TakesTheMemoryModeFromTheEnvironment) {
  using Mode = Choices::Memory;
  for (const auto& [name, mode] : {std::pair{"mapped", Mode::mapped}, std::pair{"staged", Mode::staged}}) {
    const Environment environment("NEAP_VULKAN_MEMORY", name);
    EXPECT_CHILD({ EXPECT_EQ(device->choices().memory, mode); });
  }
  const Environment environment("NEAP_VULKAN_MEMORY", "paper");
  EXPECT_THROW(DeviceImpl(physical(), 7), OptionError);
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

TEST_F(VulkanDevice, ExitsWhileTheDeviceIsAtWork) {
  EXPECT_CHILD({
    static MemoryPtr data = device->allocate(64 * 4, false, "data");  // destroyed after or before the exit handler
    static MemoryPtr addresses = table(*device, {data->address()});
    static std::unique_ptr<Commands> commands = record(*device, slow(), addresses, 200, 5000);
    submit(*device, commands, {data, addresses});
    std::thread([device = device] { device->available(); }).join();
  });
}

TEST_F(VulkanDevice, KeepsCompiledKernelsOnDisk) {
  const fs::path folder = fresh_folder("cache");
  const Environment environment("NEAP_CACHE_DIR", folder.string());
  using Clock = std::chrono::steady_clock;
  const std::string glsl = triple().glsl + "// for the disk\n";
  const auto timed = [&] {
    const auto start = Clock::now();
    auto words = compile_glsl(glsl, "disk");
    return std::pair{std::chrono::duration<double>(Clock::now() - start).count(), std::move(words)};
  };
  compile_glsl(increment().glsl, "warm up");  // the compiler's own tables
  const auto files = [&] { return std::distance(fs::directory_iterator(folder), {}); };
  EXPECT_EQ(files(), 1);
  fs::remove(fs::directory_iterator(folder)->path());
  const auto [cold, words] = timed();
  ASSERT_EQ(files(), 1);
  const fs::path file = fs::directory_iterator(folder)->path();
  const auto [warm, same] = timed();
  EXPECT_EQ(words, same);
  EXPECT_LT(warm, cold);
  RecordProperty("cold_us", static_cast<int>(cold * 1e6));
  RecordProperty("warm_us", static_cast<int>(warm * 1e6));
  const auto size = fs::file_size(file);
  for (const uint64_t damage : {uint64_t{3}, uint64_t{10}, uint64_t{size - 1}}) {
    {
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(static_cast<std::streamoff>(damage));
      const int byte = stream.get();
      stream.seekp(static_cast<std::streamoff>(damage));
      stream.put(static_cast<char>(byte ^ 0x40));
    }
    EXPECT_EQ(compile_glsl(glsl, "disk"), words);
    EXPECT_EQ(compile_glsl(glsl, "disk"), words);
  }
  for (const uint64_t cut : {uint64_t{0}, uint64_t{7}, uint64_t{24}, uint64_t{size - 4}}) {
    fs::resize_file(file, cut);
    EXPECT_EQ(compile_glsl(glsl, "disk"), words);
    EXPECT_EQ(fs::file_size(file), size);
  }
  fs::remove_all(folder);
  const Environment off("NEAP_CACHE_DIR", "");
  EXPECT_EQ(cache_folder(), std::nullopt);
  EXPECT_EQ(compile_glsl(glsl, "disk"), words);
}

TEST_F(VulkanDevice, KeepsTheDriversCacheOnDisk) {
  const fs::path folder = fresh_folder("driver");
  const Environment environment("NEAP_CACHE_DIR", folder.string());
  const auto open_and_close = [&] { round_trip(*std::make_shared<DeviceImpl>(physical(), 7), false, 1 << 12); };
  const auto blob = [&]() -> std::optional<fs::path> {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().filename().string().starts_with("pipelines-")) return entry.path();
    }
    return std::nullopt;
  };
  open_and_close();
  const auto file = blob();
  ASSERT_TRUE(file);
  const uint64_t size = fs::file_size(*file);
  EXPECT_GE(size, 24u + 32u);  // two headers
  for (const uint64_t cut : {uint64_t{0}, uint64_t{30}, size - 1, size}) {
    fs::resize_file(*file, cut);
    open_and_close();
    EXPECT_GE(fs::file_size(*file), 24u + 32u);
  }
  fs::remove_all(folder);
}

TEST_F(VulkanDevice, WritesWhatItCompiles) {
  const fs::path folder = fresh_folder("dump");
  const Environment same("NEAP_TEST_FOLDER", folder.string());
  const Environment environment("NEAP_DUMP", folder.string());
  EXPECT_CHILD({ device->pipeline(triple(), "7-triple"); });
  const auto text = [&](const char* name) {
    std::ifstream file(folder / name);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  EXPECT_EQ(text("7-triple.glsl"), triple().glsl);
  EXPECT_THAT(text("7-triple.spvasm"), testing::HasSubstr("OpEntryPoint GLCompute"));
  fs::remove_all(folder);
}

TEST(Spirv, NamesTheLineThatDoesNotCompile) {
  try {
    compile_glsl(std::string(kHead) + "void main() { nonsense(); }\n", "broken");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("kernel broken does not compile"));
    EXPECT_THAT(error.what(), testing::HasSubstr("broken:10: error"));
    EXPECT_THAT(error.what(), testing::HasSubstr("  10  void main() { nonsense(); }"));
  }
}

TEST(Spirv, CompilesOnSeveralThreads) {
  const Environment off("NEAP_CACHE_DIR", "");
  const auto expected = compile_glsl(triple().glsl, "one");
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) right += compile_glsl(triple().glsl, "one") == expected;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 20);
}

}  // namespace
}  // namespace neap::vk
#endif
