// backends/vulkan/features.h: what is chosen for real devices, whose limits tests/data/devices holds. No device needed.
#include "backends/vulkan/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/error.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "planner/plan/limits.h"
#include "tests/limits_fields.h"

namespace neap::vk {
namespace {

using testing::HasSubstr;
using testing::Not;
using Memory = Choices::Memory;

const std::filesystem::path kDevices = std::filesystem::path(NEAP_TESTS_DIR) / "data" / "devices";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

DeviceRecord record(const std::string& name) { return record_from_json(text_of(kDevices / (name + ".json"))); }

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(kDevices)) {
    if (entry.path().extension() == ".json") all.push_back(entry.path().stem());
  }
  std::ranges::sort(all);
  return all;
}

std::string refusal(const DeviceRecord& device) {
  try {
    choose(device);
  } catch (const DeviceError& error) {
    return error.what();
  }
  return {};
}

// Whatever the device: what was chosen is within what it can do.
void check_within_limits(const DeviceRecord& d, const Choices& c) {
  SCOPED_TRACE(d.name);
  for (const uint32_t size : {c.workgroup, c.reduce_workgroup}) {
    EXPECT_TRUE(std::has_single_bit(size));
    EXPECT_LE(size, d.max_workgroup_invocations);
    EXPECT_LE(size, d.max_workgroup_size[0]);
  }
  EXPECT_GE(c.elements, 1u);
  EXPECT_EQ(c.size_control, c.subgroup != 0);
  if (c.subgroup != 0) {
    EXPECT_TRUE(d.subgroup_size_control && d.subgroup_arithmetic && d.subgroup_shuffle);
    EXPECT_GE(c.subgroup, d.min_subgroup_size);
    EXPECT_LE(c.subgroup, d.max_subgroup_size);
    EXPECT_EQ(c.reduce_workgroup % c.subgroup, 0u);
    if (d.max_workgroup_subgroups != 0) EXPECT_LE(c.reduce_workgroup / c.subgroup, d.max_workgroup_subgroups);
  }
  for (const uint32_t n : {c.tile_m, c.tile_n, c.tile_k, c.thread_m, c.thread_n}) EXPECT_TRUE(std::has_single_bit(n));
  EXPECT_EQ(c.tile_m % c.thread_m + c.tile_n % c.thread_n, 0u);
  EXPECT_LE(c.tile_m / c.thread_m * (c.tile_n / c.thread_n),
            std::min(d.max_workgroup_invocations, d.max_workgroup_size[0]));
  // Both operands' slices; a row is longer by a vector of 16 bytes (matmul.cpp).
  if (!c.matmul_by_subgroup) EXPECT_LE((c.tile_m + c.tile_n + 8) * c.tile_k * 4, d.max_shared_memory);
  EXPECT_LE(c.largest_block, d.sparse_binding ? d.max_buffer_size : d.max_memory_allocation);
  EXPECT_LE(c.largest_block, d.max_buffer_size);
  EXPECT_LE(c.texels, d.max_texel_elements);
  EXPECT_EQ(c.texel_alignment, d.texel_alignment);
  EXPECT_TRUE(!c.storage16 || d.storage_16bit);
  EXPECT_TRUE(!c.storage8 || d.storage_8bit);
  EXPECT_TRUE(!c.float64 || d.float64);
  EXPECT_TRUE(c.add32 == Choices::FloatAdd::exchange || d.atomic_float32_add);
  EXPECT_TRUE(c.add64 == Choices::FloatAdd::exchange || d.atomic_float64_add);
  EXPECT_TRUE(!c.atomic64 || d.atomic_int64);
  if (c.matrix[0] != 0) {
    EXPECT_THAT(d.matrix_shapes, testing::Contains(c.matrix));
    if (c.matrix_bf16) EXPECT_THAT(d.matrix_shapes_bf16, testing::Contains(c.matrix));
    EXPECT_LE(c.matrix_groups[0] * c.matrix_groups[1] * c.subgroup, d.max_workgroup_invocations);
  }
  if (c.memory == Memory::import) EXPECT_GT(d.imported_host_alignment, 0u);
  if (c.memory != Memory::staged) EXPECT_NE(d.type, "discrete");
}

// What a plan for a device that is not here takes from its record is what its backend would.
void check_limits(const DeviceRecord& d, const Choices& c) {
  const Limits limits = planner::parse_limits(to_json(d), "record");
  EXPECT_EQ(limits.name, d.name);
  EXPECT_EQ(limits.largest_allocation, c.largest_block);
  EXPECT_EQ(limits.host_memory, c.memory == Memory::import);
  EXPECT_EQ(limits.wide_atomics, c.atomic64 || c.add64 == Choices::FloatAdd::atomic);
  EXPECT_EQ(limits.half_products, c.matrix[0] != 0);
  EXPECT_EQ(limits.bf16_products, c.matrix_bf16);
  EXPECT_EQ(limits.count_tables, c.texels > 0 ? 2 : 1);
  EXPECT_EQ(limits.largest_buffer, c.memory == Memory::import && c.cpu ? 0 : c.largest_block);
  EXPECT_EQ(fields(limits), fields(planner::limits_of(d)));
}

struct Expected {
  const char* device;
  uint32_t workgroup, reduce_workgroup, subgroup, tile;
  Memory memory;
  bool float64, fused32, storage16, add32, add64;
  uint64_t largest_block;
};

TEST(VulkanFeatures, ChoosesForRealDevices) {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  const Expected table[] = {
      // device                  wg  reduce sub tile  memory         f64    fma    s16    add32  add64  largest block
      {"amd-renoir-radv", 256, 256, 0, 64, Memory::import, true, false, true, false, false, 0xffffff00},
      {"amd-rx6800-radv", 256, 256, 32, 128, Memory::staged, true, true, true, false, false, 0xffffff00},
      {"amd-rx7900xtx-radv", 256, 256, 32, 128, Memory::staged, true, true, true, true, false, 0xffffff00},
      {"apple-m1-moltenvk", 256, 256, 0, 64, Memory::mapped, false, true, false, false, false, kGiB},
      {"intel-arc-140v-anv", 256, 256, 16, 64, Memory::import, true, true, true, false, false, kGiB},
      {"intel-uhd630-anv", 128, 64, 16, 32, Memory::staged, false, true, true, false, false, kGiB},
      {"lavapipe", 256, 256, 8, 32, Memory::import, true, false, true, true, false, 2 * kGiB},
      {"nvidia-h100", 256, 256, 32, 128, Memory::staged, true, true, true, true, true, 85520809984 & ~uint64_t{255}},
      {"nvidia-rtx3060", 256, 256, 32, 128, Memory::staged, true, true, true, true, true, 0xffe00000},
      {"qualcomm-adreno740-turnip", 256, 256, 64, 64, Memory::staged, false, true, false, false, false, 0xffffff00},
  };
  for (const Expected& e : table) {
    SCOPED_TRACE(e.device);
    const Choices c = choose(record(e.device));
    EXPECT_EQ(c.workgroup, e.workgroup);
    EXPECT_EQ(c.reduce_workgroup, e.reduce_workgroup);
    EXPECT_EQ(c.subgroup, e.subgroup);
    EXPECT_EQ(c.tile_m, e.tile);
    EXPECT_EQ(c.memory, e.memory);
    EXPECT_EQ(c.float64, e.float64);
    EXPECT_EQ(c.fused32, e.fused32);
    EXPECT_EQ(c.storage16, e.storage16);
    EXPECT_EQ(c.add32 == Choices::FloatAdd::atomic, e.add32);
    EXPECT_EQ(c.add64 == Choices::FloatAdd::atomic, e.add64);
    EXPECT_EQ(c.largest_block, e.largest_block);
    EXPECT_TRUE(c.int64);
    EXPECT_EQ(c.texels, std::string_view(e.device) == "lavapipe" ? 1u << 27 : 0u);
    EXPECT_EQ(c.matmul_by_subgroup, std::string_view(e.device) == "lavapipe");
  }
}

TEST(VulkanFeatures, EveryRecordIsReadAndWithinItsLimits) {
  const std::vector<std::string> all = names();
  EXPECT_EQ(all.size(), 11u);
  for (const std::string& name : all) {
    SCOPED_TRACE(name);
    const std::string text = text_of(kDevices / (name + ".json"));
    EXPECT_GT(nlohmann::json::parse(text).at("source").get<std::string>().size(), 10u);
    DeviceRecord device = record_from_json(text);
    EXPECT_FALSE(device.name.empty());
    EXPECT_NE(device.vendor_id, 0u);
    device.scalar_block_layout = true;
    check_within_limits(device, choose(device));
    check_limits(device, choose(device));
  }
}

// The source of this record does not say that there is scalar block layout, so it is taken to be absent.
TEST(VulkanFeatures, AMaliWhoseRecordLacksALayoutIsRefused) {
  DeviceRecord device = record("arm-mali-g57");
  EXPECT_EQ(refusal(device), "vulkan: device 'Mali-G57' lacks scalar block layout (scalarBlockLayout)");
  device.scalar_block_layout = true;
  const Choices c = choose(device);
  EXPECT_EQ(c.subgroup, 16u);
  EXPECT_EQ(c.memory, Memory::mapped);
  EXPECT_EQ(c.tile_m, 64u);
  EXPECT_TRUE(c.storage16 && c.storage8);
  EXPECT_THAT(lacks(c, f64).value_or(""), HasSubstr("float64"));
}

TEST(VulkanFeatures, NamesEverythingThatIsMissing) {
  const std::string all = refusal(DeviceRecord{.name = "Relic", .api_version = 1001});
  for (const char* part : {"'Relic'", "Vulkan 1.2 (it has 1.1)", "bufferDeviceAddress", "timelineSemaphore",
                           "scalarBlockLayout", "shaderInt64"}) {
    EXPECT_THAT(all, HasSubstr(part));
  }
  const std::pair<bool DeviceRecord::*, const char*> features[] = {
      {&DeviceRecord::buffer_device_address, "bufferDeviceAddress"},
      {&DeviceRecord::timeline_semaphore, "timelineSemaphore"},
      {&DeviceRecord::scalar_block_layout, "scalarBlockLayout"},
      {&DeviceRecord::int64, "shaderInt64"}};
  for (const auto& [feature, name] : features) {
    DeviceRecord device = record("lavapipe");
    device.*feature = false;
    const std::string message = refusal(device);
    for (const auto& [other, other_name] : features) {
      EXPECT_EQ(message.find(other_name) != std::string::npos, other == feature) << message;
    }
    EXPECT_THAT(message, Not(HasSubstr("Vulkan 1.2")));
  }
}

TEST(VulkanFeatures, MemoryIsUsedInPlaceWhereItIsOne) {
  DeviceRecord device = record("intel-arc-140v-anv");
  device.imported_host_alignment = 64 << 10;
  EXPECT_EQ(choose(device).memory, Memory::import);
  device.imported_host_alignment = 128 << 10;
  EXPECT_EQ(choose(device).memory, Memory::mapped);
  device.all_memory_host_visible = false;
  EXPECT_EQ(choose(device).memory, Memory::staged);
  DeviceRecord card = record("nvidia-rtx3060");  // resizable BAR makes no unified memory
  card.host_visible_device_local = card.all_memory_host_visible = true;
  EXPECT_EQ(choose(card).memory, Memory::staged);
}

// NEAP_VULKAN_RECORD: what is chosen for one device as for another can be run on the first.
TEST(VulkanFeatures, WeakenedDevicesDoNoMoreThanEither) {
  for (const std::string& own_name : names()) {
    for (const std::string& other_name : names()) {
      SCOPED_TRACE(own_name + " as " + other_name);
      DeviceRecord own = record(own_name);
      own.scalar_block_layout = true;
      const DeviceRecord other = record(other_name), weak = weakened(own, other);
      const Choices c = choose(weak);
      check_within_limits(weak, c);
      EXPECT_EQ(weak.type, other.type == "cpu" ? own.type : other.type);
      EXPECT_TRUE(own.type == "cpu" || !c.cpu);
      EXPECT_EQ(weak.name, own.name);
      EXPECT_EQ(weak.driver, own.driver);
      EXPECT_EQ(weak.device_local_heaps, own.device_local_heaps);
      for (const DeviceRecord& d : {own, other}) {
        EXPECT_LE(c.workgroup, d.max_workgroup_invocations);
        EXPECT_LE(weak.max_shared_memory, d.max_shared_memory);
        for (int i = 0; i < 3; ++i) EXPECT_LE(weak.max_workgroup_size[i], d.max_workgroup_size[i]);
        EXPECT_TRUE(!c.float64 || d.float64);
        EXPECT_TRUE(!c.storage8 || (d.storage_8bit && d.int8));
        EXPECT_TRUE(!c.storage16 || (d.storage_16bit && d.int16));
        EXPECT_TRUE(c.subgroup == 0 || (d.subgroup_arithmetic && d.subgroup_shuffle && d.subgroup_size_control));
        EXPECT_TRUE(c.add32 == Choices::FloatAdd::exchange || d.atomic_float32_add);
        EXPECT_TRUE(c.add64 == Choices::FloatAdd::exchange || d.atomic_float64_add);
        EXPECT_TRUE(!c.atomic64 || d.atomic_int64);
        EXPECT_TRUE((!c.shared_add32 || d.shared_float32_add) && (!c.shared_add64 || d.shared_float64_add));
        EXPECT_TRUE(c.matrix[0] == 0 || !d.matrix_shapes.empty());
      }
      if (own_name == other_name) EXPECT_EQ(to_json(weak), to_json(own));
    }
  }
}

TEST(VulkanFeatures, LackingDTypes) {
  Choices c = choose(record("lavapipe"));
  for (int t = 0; t <= static_cast<int>(f64); ++t) EXPECT_FALSE(lacks(c, static_cast<DType>(t)).has_value()) << t;
  c.float64 = false;
  for (int t = 0; t <= static_cast<int>(f64); ++t) {
    EXPECT_EQ(lacks(c, static_cast<DType>(t)).has_value(), static_cast<DType>(t) == f64) << t;
  }
}

TEST(VulkanFeatures, RandomDevicesAreServedWithinTheirLimits) {
  std::mt19937 random(7);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (int i = 0; i < 5000; ++i) {
    DeviceRecord d;
    d.name = "random " + std::to_string(i);
    d.type = std::array{"discrete", "integrated", "virtual", "cpu", "other"}[below(5)];
    d.vendor_id = below(2) ? 0x8086 : 0x1234;
    d.api_version = 1002 + below(3);
    d.max_workgroup_invocations = 128 + below(1900);
    d.max_workgroup_size[0] = 128 + below(1900);
    d.max_shared_memory = 16384 + below(200000);
    d.max_memory_allocation = (uint64_t{1} << 30) + below(1u << 31);
    d.max_buffer_size = (uint64_t{1} << 30) + below(1u << 31);
    for (uint32_t heap = below(3); heap > 0; --heap) d.device_local_heaps.push_back((uint64_t{1} << 28) + random());
    d.subgroup_size_control = below(2);
    d.min_subgroup_size = 1u << below(7);
    d.max_subgroup_size = std::min(128u, d.min_subgroup_size << below(3));
    if (below(2)) d.max_workgroup_subgroups = d.max_workgroup_invocations / d.max_subgroup_size + below(9);
    d.imported_host_alignment = below(2) ? 0 : uint64_t{1} << (12 + below(8));
    for (bool* flag :
         {&d.subgroup_arithmetic, &d.subgroup_shuffle, &d.float64, &d.int16, &d.int8, &d.float16, &d.storage_8bit,
          &d.storage_16bit, &d.atomic_int64, &d.atomic_float32_add, &d.atomic_float64_add, &d.denorm_preserve16,
          &d.rounding_rte16, &d.host_visible_device_local, &d.all_memory_host_visible}) {
      *flag = below(2);
    }
    d.buffer_device_address = d.timeline_semaphore = d.scalar_block_layout = d.int64 = true;
    for (uint32_t shapes = below(3); shapes > 0; --shapes) {
      d.matrix_shapes.push_back({4u << below(4), 4u << below(4), 4u << below(4)});
      if (below(2)) d.matrix_shapes_bf16.push_back(d.matrix_shapes.back());
    }
    check_within_limits(d, choose(d));
    check_limits(d, choose(d));
    if (HasFailure()) return;
    EXPECT_EQ(to_json(record_from_json(to_json(d))), to_json(d));
  }
}

TEST(VulkanFeatures, RecordsKeepTheirValuesAsText) {
  for (const std::string& name : names()) {
    const auto json = nlohmann::json::parse(text_of(kDevices / (name + ".json")));
    const auto again = nlohmann::json::parse(to_json(record(name)));
    for (const auto& [field, value] : json.items()) {
      if (field != "source") EXPECT_EQ(again.at(field), value) << name << " " << field;
    }
  }
}

TEST(VulkanFeatures, RefusesTextThatIsNoRecord) {
  const std::pair<const char*, const char*> bad[] = {{"", "JSON"},
                                                     {"[1]", "JSON"},
                                                     {R"({"name": 3})", "'name'"},
                                                     {R"({"flaot64": true})", "'flaot64'"},
                                                     {R"({"float64": 1})", "'float64'"},
                                                     {R"({"max_shared_memory": -1})", "'max_shared_memory'"},
                                                     {R"({"vendor_id": 4294967296})", "'vendor_id'"},
                                                     {R"({"max_workgroup_size": [1, 2]})", "'max_workgroup_size'"},
                                                     {R"({"device_local_heaps": 5})", "'device_local_heaps'"},
                                                     {R"({"timestamp_period": "1"})", "'timestamp_period'"}};
  for (const auto& [text, part] : bad) {
    try {
      record_from_json(text);
      ADD_FAILURE() << text;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
  }
  EXPECT_EQ(to_json(record_from_json("{}")), to_json(DeviceRecord{}));
}

}  // namespace
}  // namespace neap::vk
