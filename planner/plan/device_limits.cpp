#include "planner/plan/device_limits.h"

#include <algorithm>
#include <bit>

namespace neap::planner {

namespace {

constexpr uint32_t kIntel = 0x8086;  // Intel's PCI vendor id
// Bytes of the largest page of a host: a device that takes more than its own host's has 0 in its record.
constexpr uint64_t kLargestImportAlignment = 64 << 10;
// Tables in which llvmpipe counts the rows of a scatter, a thread in each. Two whatever the host has: its number of
// threads is no property of the device.
constexpr int kCountTables = 2;

}  // namespace

uint32_t subgroup_size(const DeviceRecord& d) {
  if (!d.subgroup_size_control || !d.subgroup_arithmetic || !d.subgroup_shuffle) return 0;
  if (d.min_subgroup_size == 0 || d.max_subgroup_size < d.min_subgroup_size) return 0;
  // 32 is native on NVIDIA, RDNA and Apple; Intel has half the registers for each invocation there, so 16.
  return std::clamp(d.vendor_id == kIntel ? 16u : 32u, d.min_subgroup_size, d.max_subgroup_size);
}

ArrayMemory array_memory(const DeviceRecord& d) {
  const bool unified = d.type != "discrete" && d.host_visible_device_local && d.all_memory_host_visible;
  if (d.type != "cpu" && !unified) return ArrayMemory::staged;
  const uint64_t alignment = d.imported_host_alignment;
  return alignment != 0 && alignment <= kLargestImportAlignment ? ArrayMemory::import : ArrayMemory::mapped;
}

uint64_t largest_block(const DeviceRecord& d) {
  uint64_t largest = d.sparse_binding ? d.max_buffer_size : std::min(d.max_memory_allocation, d.max_buffer_size);
  if (!d.device_local_heaps.empty()) largest = std::min(largest, *std::ranges::max_element(d.device_local_heaps));
  return largest & ~uint64_t{255};
}

uint32_t texels(const DeviceRecord& d) { return d.type == "cpu" && d.driver == "llvmpipe" ? d.max_texel_elements : 0; }

// Tiles are up to 128 x 128 elements by 4 subgroups, as far as invocations and shared memory go. Shared memory holds
// slices of 64 or 32 halves along k of both operands, a word of 16 bytes more in each row, and after them a matrix of
// f32 sums for each subgroup (backends/vulkan/matmul_matrix.cpp). On an H100, f16 8192^3: 3.9 ms; with 32 terms 4.5,
// with 8 subgroups of 128 x 256 4.4, with two buffers of 32 terms 4.4. `neap-bench --case throughput --form matmul-f16
// --device vulkan` measures them.
MatrixTiles matrix_tiles(const DeviceRecord& d) {
  MatrixTiles chosen;
  const uint32_t subgroup = subgroup_size(d);
  if (!d.float16 || !d.storage_16bit || !d.int16 || subgroup < 8) return chosen;
  const auto volume = [](const std::array<uint32_t, 3>& s) { return uint64_t{s[0]} * s[1] * s[2]; };
  for (const auto& shape : d.matrix_shapes) {
    const bool fits =
        std::ranges::all_of(shape, [](uint32_t n) { return n >= 8 && n <= 32 && std::has_single_bit(n); });
    if (!fits || (chosen.shape[0] != 0 && volume(shape) <= volume(chosen.shape))) continue;
    std::array<uint32_t, 2> groups{2, 2}, block{};
    uint32_t slice = 64;
    const auto tile = [&](int i) { return groups[i] * block[i] * shape[i]; };
    for (int i : {0, 1}) block[i] = std::max(1u, 128 / (groups[i] * shape[i]));
    const auto runs = [&] {
      const uint32_t subgroups = groups[0] * groups[1], most = d.max_workgroup_subgroups;
      const uint32_t shared =
          std::max((tile(0) + tile(1)) * (slice + 8) * 2 + 32 * slice, subgroups * shape[0] * shape[1] * 4);
      return subgroups * subgroup <= std::min(d.max_workgroup_invocations, d.max_workgroup_size[0]) &&
             (most == 0 || subgroups <= most) && shared <= d.max_shared_memory;
    };
    if (!runs()) slice = 32;
    while (!runs() && groups[0] * groups[1] * block[0] * block[1] > 1) {
      const int i = tile(0) >= tile(1) && groups[0] * block[0] > 1 ? 0 : groups[1] * block[1] > 1 ? 1 : 0;
      (groups[i] > 1 ? groups[i] : block[i]) /= 2;
    }
    if (!runs()) continue;
    chosen = {shape, groups, block, slice,
              std::ranges::find(d.matrix_shapes_bf16, shape) != d.matrix_shapes_bf16.end()};
  }
  return chosen;
}

Limits limits_of(const DeviceRecord& d, ArrayMemory memory) {
  Limits limits;
  limits.name = d.name;
  limits.gpu = true;
  // Heaps of a CPU are the host's memory, whatever size the driver gives them; so is what arrays are imported from.
  if (memory != ArrayMemory::import && d.type != "cpu" && !d.device_local_heaps.empty()) {
    limits.memory = *std::ranges::max_element(d.device_local_heaps);
  }
  limits.largest_allocation = largest_block(d);
  // Only a CPU sees several imports of the host's memory as one.
  if (memory != ArrayMemory::import || d.type != "cpu") limits.largest_buffer = limits.largest_allocation;
  limits.wide_atomics = d.atomic_int64 || d.atomic_float64_add;
  const MatrixTiles matrices = matrix_tiles(d);
  limits.half_products = matrices.shape[0] != 0;
  limits.bf16_products = matrices.bf16;
  if (texels(d) > 0) limits.count_tables = kCountTables;
  limits.host_memory = memory == ArrayMemory::import;
  return limits;
}

}  // namespace neap::planner
