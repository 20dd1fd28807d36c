#include "backends/vulkan/features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <neap/error.h>

#include <algorithm>
#include <bit>

namespace neap::vk {

namespace {

std::vector<std::string> missing(const DeviceRecord& d) {
  std::vector<std::string> names;
  if (d.api_version < 1002) {
    names.push_back(fmt::format("Vulkan 1.2 (it has {}.{})", d.api_version / 1000, d.api_version % 1000));
  }
  if (!d.buffer_device_address) names.emplace_back("buffer device address (bufferDeviceAddress)");
  if (!d.timeline_semaphore) names.emplace_back("timeline semaphores (timelineSemaphore)");
  if (!d.scalar_block_layout) names.emplace_back("scalar block layout (scalarBlockLayout)");
  if (!d.int64) names.emplace_back("64-bit integers (shaderInt64)");
  return names;
}

// An AMD chip older than that under RADV: Navi 1x, and those before it, which have subgroups of 64 alone.
bool before_gfx10_3(const DeviceRecord& d) {
  return d.driver == "radv" && (d.min_subgroup_size != 32 || d.name.find("NAVI1") != d.name.npos);
}

struct Tiles {
  uint32_t m, n, k, thread_m, thread_n;
  uint32_t invocations() const { return m / thread_m * (n / thread_n); }
  uint32_t shared_bytes() const { return (m + n + 8) * k * 4; }  // rows are padded by a vector
};

// The largest tiles that leave some shared memory. f64 halves k (matmul.cpp), so that both fit the same bytes.
Tiles matmul_tiles(const DeviceRecord& d, uint32_t invocations) {
  static constexpr Tiles kTiles[] = {
      {128, 128, 16, 8, 8}, {64, 64, 16, 4, 4}, {32, 32, 16, 4, 4}, {16, 16, 16, 2, 2}, {8, 8, 8, 1, 1}};
  for (size_t i = d.type == "discrete" ? 0 : 1; i < std::size(kTiles); ++i) {
    if (kTiles[i].invocations() <= invocations && kTiles[i].shared_bytes() <= d.max_shared_memory / 4 * 3) {
      return kTiles[i];
    }
  }
  return kTiles[std::size(kTiles) - 1];
}

}  // namespace

std::optional<std::string> unfit_for(const DeviceRecord& d) {
  const std::vector<std::string> names = missing(d);
  if (names.empty()) return std::nullopt;
  return fmt::format("vulkan: device '{}' lacks {}", d.name, fmt::join(names, ", "));
}

Choices choose(const DeviceRecord& d) {
  if (const auto reason = unfit_for(d)) throw DeviceError(*reason);
  const bool cpu = d.type == "cpu";
  const uint32_t invocations =
      std::bit_floor(std::max(1u, std::min(d.max_workgroup_invocations, d.max_workgroup_size[0])));
  Choices c;
  c.subgroup = planner::subgroup_size(d);
  c.size_control = c.subgroup != 0;
  c.workgroup = std::min(256u, invocations);
  c.reduce_workgroup = std::min(256u, invocations);
  if (c.size_control) {
    // As many subgroups as that must fit, else the limit on invocations could not be reached.
    const uint32_t sure = std::max(1u, d.max_workgroup_invocations / d.max_subgroup_size);
    const uint32_t subgroups = d.max_workgroup_subgroups != 0 ? d.max_workgroup_subgroups : sure;
    if (subgroups < c.reduce_workgroup / c.subgroup) c.reduce_workgroup = std::bit_floor(subgroups) * c.subgroup;
  }
  c.elements = cpu ? 8 : 4;
  c.cpu = cpu;
  c.denorm32 = d.denorm_preserve32, c.denorm64 = d.denorm_preserve64;
  c.specials32 = d.signed_zero_inf_nan_preserve32, c.specials64 = d.signed_zero_inf_nan_preserve64;
  // Vulkan lets fma() round twice. llvmpipe does, and RADV in f32 before GFX10.3 (lower_ffma32 there).
  c.fused32 = d.driver != "llvmpipe" && !before_gfx10_3(d);
  c.fused64 = d.driver != "llvmpipe";
  c.folds_zeros = d.driver == "llvmpipe";  // lp_build_mul and its kin
  c.own_division = d.driver == "llvmpipe" || !c.fused32;

  c.storage8 = d.storage_8bit && d.int8;
  c.storage16 = d.storage_16bit && d.int16;
  c.int64 = d.int64;
  c.float64 = d.float64;
  c.add32 = d.atomic_float32_add ? Choices::FloatAdd::atomic : Choices::FloatAdd::exchange;
  c.add64 = d.atomic_float64_add ? Choices::FloatAdd::atomic : Choices::FloatAdd::exchange;
  c.shared_add32 = d.shared_float32_add, c.shared_add64 = d.shared_float64_add;
  c.shared_bytes = d.max_shared_memory;
  c.atomic64 = d.atomic_int64;
  const planner::MatrixTiles matrices = planner::matrix_tiles(d);
  c.matrix = matrices.shape, c.matrix_groups = matrices.groups, c.matrix_block = matrices.block;
  c.matrix_slice = matrices.slice, c.matrix_bf16 = matrices.bf16;

  const Tiles tiles = matmul_tiles(d, invocations);
  c.tile_m = tiles.m, c.tile_n = tiles.n, c.tile_k = tiles.k;
  c.thread_m = tiles.thread_m, c.thread_n = tiles.thread_n;
  if (cpu && c.size_control && d.subgroup_shuffle) {
    c.matmul_by_subgroup = true;
    c.tile_m = c.thread_m = 32, c.thread_n = 8, c.tile_n = c.thread_n * c.subgroup;
  }
  c.compiles_late = d.driver == "llvmpipe";
  if (d.driver == "llvmpipe") c.most_iterations = 65535;  // LP_MAX_TGSI_LOOP_ITERATIONS
  c.texels = planner::texels(d);
  c.texel_alignment = d.texel_alignment;
  c.enough_groups = cpu ? 8 : d.type == "discrete" ? 256 : 32;

  c.memory = planner::array_memory(d);
  c.largest_block = planner::largest_block(d);
  return c;
}

std::optional<std::string> lacks(const Choices& choices, DType dtype) {
  if (dtype == DType::f64 && !choices.float64) return "float64 arithmetic (shaderFloat64)";
  if (size_of(dtype) == 8 && !choices.int64) return "64-bit integers (shaderInt64)";
  return std::nullopt;
}

DeviceRecord weakened(DeviceRecord device, const DeviceRecord& other) {
  const auto least = [](auto& own, const auto& others) { own = std::min(own, others); };
  // Kernels for a CPU read words at any address, which no GPU need do.
  if (other.type != "cpu") device.type = other.type;
  least(device.max_workgroup_invocations, other.max_workgroup_invocations);
  for (size_t i = 0; i < 3; ++i) least(device.max_workgroup_size[i], other.max_workgroup_size[i]);
  least(device.max_shared_memory, other.max_shared_memory);
  least(device.max_texel_elements, other.max_texel_elements);
  device.texel_alignment = std::max(device.texel_alignment, other.texel_alignment);
  for (bool DeviceRecord::* const feature :
       {&DeviceRecord::float64, &DeviceRecord::int16, &DeviceRecord::int8, &DeviceRecord::float16,
        &DeviceRecord::storage_8bit, &DeviceRecord::storage_16bit, &DeviceRecord::subgroup_arithmetic,
        &DeviceRecord::subgroup_shuffle, &DeviceRecord::subgroup_size_control, &DeviceRecord::atomic_int64,
        &DeviceRecord::atomic_float32_add, &DeviceRecord::atomic_float64_add, &DeviceRecord::shared_float32_add,
        &DeviceRecord::shared_float64_add}) {
    device.*feature &= other.*feature;
  }
  for (auto DeviceRecord::* const shapes : {&DeviceRecord::matrix_shapes, &DeviceRecord::matrix_shapes_bf16}) {
    std::erase_if(device.*shapes,
                  [&](const auto& shape) { return std::ranges::find(other.*shapes, shape) == (other.*shapes).end(); });
  }
  return device;
}

}  // namespace neap::vk
