// A record holds what the driver of a Vulkan device reports: of a device that is here, or from a file
// (tests/data/devices). Backends choose kernels by it (backends/vulkan/features.h), plans are made for the limits that
// follow from it (device_limits.h). Tested in tests/backends/vulkan_features_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace neap::planner {

/// Holds limits and features of a physical device as the driver reports them. tests/data/devices has those of real
/// ones.
struct DeviceRecord {
  std::string name;    // VkPhysicalDeviceProperties::deviceName
  std::string driver;  // VkPhysicalDeviceDriverProperties::driverName
  std::string type;    // "discrete", "integrated", "virtual", "cpu", "other"
  uint32_t vendor_id = 0, device_id = 0;
  uint32_t api_version = 0;  // major * 1000 + minor, e.g. 1003

  // Limits.
  uint32_t max_workgroup_invocations = 128;
  std::array<uint32_t, 3> max_workgroup_size{128, 128, 64};
  std::array<uint32_t, 3> max_workgroup_count{65535, 65535, 65535};
  uint32_t max_shared_memory = 16384;  // bytes
  uint32_t max_push_constants = 128;   // bytes
  uint64_t max_storage_buffer_range = 1u << 27;
  uint32_t max_texel_elements = 65536;        // maxTexelBufferElements
  uint32_t texel_alignment = 256;             // minTexelBufferOffsetAlignment
  uint64_t max_memory_allocation = 1u << 30;  // maxMemoryAllocationSize
  uint64_t max_buffer_size = 1u << 30;        // maxBufferSize (maintenance4), or max_memory_allocation
  uint32_t max_allocation_count = 4096;
  bool sparse_binding = false;  // and the queue binds: a buffer may span several allocations
  uint32_t subgroup_size = 1, min_subgroup_size = 0, max_subgroup_size = 0;  // min, max: 0 without size control
  uint32_t max_workgroup_subgroups = 0;                                      // maxComputeWorkgroupSubgroups; 0: unknown
  double timestamp_period = 0;               // nanoseconds a tick; 0: no timestamps on compute queues
  uint64_t imported_host_alignment = 0;      // minImportedHostPointerAlignment; 0: no VK_EXT_external_memory_host
  std::vector<uint64_t> device_local_heaps;  // bytes
  bool host_visible_device_local = false;    // a memory type that is both, coherent
  bool all_memory_host_visible = false;      // every device-local heap has such a type (unified memory)

  // Features.
  bool buffer_device_address = false, timeline_semaphore = false, scalar_block_layout = false;
  bool float64 = false, int64 = false, int16 = false, int8 = false, float16 = false;  // arithmetic in shaders
  bool storage_8bit = false, storage_16bit = false;                                   // loads and stores
  bool subgroup_arithmetic = false, subgroup_shuffle = false;                         // in compute shaders
  bool subgroup_size_control = false;  // with full subgroups, in compute shaders
  bool atomic_int64 = false;           // shaderBufferInt64Atomics
  bool atomic_float32_add = false;     // shaderBufferFloat32AtomicAdd
  bool atomic_float64_add = false;     // shaderBufferFloat64AtomicAdd
  bool shared_float32_add = false;     // shaderSharedFloat32AtomicAdd
  bool shared_float64_add = false;     // shaderSharedFloat64AtomicAdd
  bool memory_budget = false;          // VK_EXT_memory_budget
  // VK_KHR_cooperative_matrix: m, n, k of those of subgroups in compute shaders with f32 sums, of f16 and of bf16.
  std::vector<std::array<uint32_t, 3>> matrix_shapes, matrix_shapes_bf16;
  bool denorm_preserve32 = false, signed_zero_inf_nan_preserve32 = false, rounding_rte32 = false;  // float controls
  bool denorm_preserve64 = false, signed_zero_inf_nan_preserve64 = false;
  bool denorm_preserve16 = false, rounding_rte16 = false;
};

/// These write a record as JSON, with field names as above, and read it. A field that the text leaves out has the
/// default above, the least that Vulkan guarantees; "source" (where the text comes from) is passed over. Reading throws
/// UserError, which begins with `name` and names a field that is wrong.
std::string to_json(const DeviceRecord&);
DeviceRecord record_from_json(std::string_view text, const std::string& name = "device record");
/// Does the same for a text that was parsed already; `others` names members that are allowed beside the fields.
DeviceRecord record_from_json(const Json& json, const std::string& name, std::span<const std::string_view> others = {});

}  // namespace neap::planner
