// What follows from the record of a device for plans, and what its backend decides by the same rules: where arrays lie,
// the largest allocation, cooperative matrices. A plan for a record is the plan that the device gets because both take
// its limits from here. Pure functions. Tested in tests/planner/limits_test.cpp and
// tests/backends/vulkan_features_test.cpp.
#pragma once

#include <neap/device.h>

#include <array>
#include <cstdint>

#include "planner/plan/device_record.h"

namespace neap::planner {

/// Where the arrays of a device lie.
enum class ArrayMemory : uint8_t {
  import,  // unified memory: arrays of the host are used where they lie
  mapped,  // device memory that the host maps; copies by the host
  staged,  // device memory that the host does not see; copies through a staging ring
};
ArrayMemory array_memory(const DeviceRecord& device);

/// The subgroup size that pipelines ask for; 0: none, as the driver may run smaller ones than it reports without size
/// control, so that reductions rely on shared memory alone.
uint32_t subgroup_size(const DeviceRecord& device);

/// Bytes of the largest single allocation asked for.
uint64_t largest_block(const DeviceRecord& device);

/// Elements of the texel buffers through which large arrays are read; 0: they are read by address.
uint32_t texels(const DeviceRecord& device);

/// Cooperative matrices of a subgroup, m, n and k (0: none), and a workgroup's tile of a product: as many subgroups
/// along m and n, each of as many matrices. Powers of two.
struct MatrixTiles {
  std::array<uint32_t, 3> shape{};
  std::array<uint32_t, 2> groups{1, 1}, block{1, 1};
};
MatrixTiles matrix_tiles(const DeviceRecord& device);

/// What a plan needs to know of the device. `memory` is its largest heap, 0 where arrays lie in the host's. An open
/// device may have been told to keep arrays elsewhere (NEAP_VULKAN_MEMORY).
Limits limits_of(const DeviceRecord& device, ArrayMemory memory);
inline Limits limits_of(const DeviceRecord& device) { return limits_of(device, array_memory(device)); }

}  // namespace neap::planner
