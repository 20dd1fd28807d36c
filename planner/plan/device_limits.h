// These pure functions say what follows from the record of a device: where arrays lie, the largest allocation,
// cooperative matrices. Plans and the device's backend both ask them, so a plan for a record is the plan that the
// device itself gets. Tested in tests/planner/limits_test.cpp and tests/backends/vulkan_features_test.cpp.
#pragma once

#include <neap/device.h>

#include <array>
#include <cstdint>

#include "planner/plan/device_record.h"

namespace neap::planner {

/// Says where the arrays of a device lie.
enum class ArrayMemory : uint8_t {
  import,  // unified memory: arrays of the host are used where they lie
  mapped,  // device memory that the host maps; copies by the host
  staged,  // device memory that the host does not see; copies through a staging ring
};
ArrayMemory array_memory(const DeviceRecord& device);

/// Returns the subgroup size that pipelines ask for. It is 0 where the driver has no size control and may run smaller
/// subgroups than it reports: reductions then rely on shared memory alone.
uint32_t subgroup_size(const DeviceRecord& device);

/// Returns the bytes of the largest piece of memory that is asked for, a multiple of 256: one allocation, or several
/// behind each other where the device binds sparsely.
uint64_t largest_block(const DeviceRecord& device);

/// Returns how many elements a texel buffer has through which large arrays are read; 0 where they are read by address.
uint32_t texels(const DeviceRecord& device);

/// Says how cooperative matrices multiply. `shape` is m, n and k of a subgroup's matrix (0: there are none). A
/// workgroup's tile of the product has `groups` subgroups along m and n, each of `block` matrices; `slice` terms of it
/// are in shared memory at a time. All are powers of two.
struct MatrixTiles {
  std::array<uint32_t, 3> shape{};
  std::array<uint32_t, 2> groups{1, 1}, block{1, 1};
  uint32_t slice = 32;
  bool bf16 = false;  // matrices of bf16 too
};
MatrixTiles matrix_tiles(const DeviceRecord& device);

/// Returns what a plan needs to know of the device. Limits::memory is its largest heap, or 0 where arrays lie in the
/// host's memory. `memory` need not be array_memory(device): NEAP_VULKAN_MEMORY tells an open device where to keep
/// arrays.
Limits limits_of(const DeviceRecord& device, ArrayMemory memory);
inline Limits limits_of(const DeviceRecord& device) { return limits_of(device, array_memory(device)); }

}  // namespace neap::planner
