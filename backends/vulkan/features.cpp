#include "backends/vulkan/features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <neap/error.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace neap::vk {

namespace {

constexpr uint32_t kIntel = 0x8086;
constexpr uint64_t kLargestImportAlignment = 64
                                             << 10;  // beyond it an imported array drags too many foreign bytes along

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

// The subgroup size that pipelines ask for. Without size control the driver may run smaller subgroups than it reports,
// so reductions then rely on shared memory alone.
uint32_t subgroup_to_ask_for(const DeviceRecord& d) {
  if (!d.subgroup_size_control || !d.subgroup_arithmetic || !d.subgroup_shuffle) return 0;
  if (d.min_subgroup_size == 0 || d.max_subgroup_size < d.min_subgroup_size) return 0;
  // 32 is native on NVIDIA, RDNA and Apple; Intel has half the registers for each invocation there, so 16.
  return std::clamp(d.vendor_id == kIntel ? 16u : 32u, d.min_subgroup_size, d.max_subgroup_size);
}

Choices::Memory memory_mode(const DeviceRecord& d) {
  const bool cpu = d.type == "cpu";
  const bool unified = d.type != "discrete" && d.host_visible_device_local && d.all_memory_host_visible;
  if (!cpu && !unified) return Choices::Memory::staged;
  const uint64_t alignment = d.imported_host_alignment;
  return alignment != 0 && alignment <= kLargestImportAlignment ? Choices::Memory::import : Choices::Memory::mapped;
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

// Tiles of up to 128 x 128 by 8 subgroups, as far as invocations and shared memory go: two slices of 32 halves, a word
// of 16 bytes more in each row, and a matrix of sums for each subgroup (matmul_matrix.cpp).
void choose_matrices(const DeviceRecord& d, Choices& c) {
  if (!d.float16 || !d.storage_16bit || !d.int16 || c.subgroup == 0) return;
  const auto volume = [](const std::array<uint32_t, 3>& s) { return uint64_t{s[0]} * s[1] * s[2]; };
  for (const auto& shape : d.matrix_shapes) {
    const bool fits =
        std::ranges::all_of(shape, [](uint32_t n) { return n >= 8 && n <= 32 && std::has_single_bit(n); });
    if (!fits || (c.matrix[0] != 0 && volume(shape) <= volume(c.matrix))) continue;
    std::array<uint32_t, 2> groups{2, 4}, block{};
    const auto tile = [&](int i) { return groups[i] * block[i] * shape[i]; };
    for (int i : {0, 1}) block[i] = std::max(1u, 128 / (groups[i] * shape[i]));
    const auto runs = [&] {
      const uint32_t subgroups = groups[0] * groups[1], most = d.max_workgroup_subgroups;
      const uint32_t shared = (tile(0) + tile(1) + 64) * 40 * 2 + subgroups * shape[0] * shape[1] * 4;
      return subgroups * c.subgroup <= std::min(d.max_workgroup_invocations, d.max_workgroup_size[0]) &&
             (most == 0 || subgroups <= most) && shared <= d.max_shared_memory / 4 * 3;
    };
    while (!runs() && groups[0] * groups[1] * block[0] * block[1] > 1) {
      const int i = tile(0) >= tile(1) && groups[0] * block[0] > 1 ? 0 : groups[1] * block[1] > 1 ? 1 : 0;
      (groups[i] > 1 ? groups[i] : block[i]) /= 2;
    }
    if (!runs()) continue;
    c.matrix = shape, c.matrix_groups = groups, c.matrix_block = block;
  }
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
  c.subgroup = subgroup_to_ask_for(d);
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

  c.storage8 = d.storage_8bit && d.int8;
  c.storage16 = d.storage_16bit && d.int16;
  c.int64 = d.int64;
  c.float64 = d.float64;
  c.add32 = d.atomic_float32_add ? Choices::FloatAdd::atomic : Choices::FloatAdd::exchange;
  c.add64 = d.atomic_float64_add ? Choices::FloatAdd::atomic : Choices::FloatAdd::exchange;
  c.atomic64 = d.atomic_int64;
  choose_matrices(d, c);

  const Tiles tiles = matmul_tiles(d, invocations);
  c.tile_m = tiles.m, c.tile_n = tiles.n, c.tile_k = tiles.k;
  c.thread_m = tiles.thread_m, c.thread_n = tiles.thread_n;
  if (cpu && c.size_control && d.subgroup_shuffle) {
    c.matmul_by_subgroup = true;
    c.tile_m = c.thread_m = 32, c.thread_n = 8, c.tile_n = c.thread_n * c.subgroup;
  }
  c.compiles_late = d.driver == "llvmpipe";
  if (d.driver == "llvmpipe") c.most_iterations = 65535;  // LP_MAX_TGSI_LOOP_ITERATIONS
  if (cpu && d.driver == "llvmpipe") c.texels = d.max_texel_elements;
  c.texel_alignment = d.texel_alignment;
  c.enough_groups = cpu ? 8 : d.type == "discrete" ? 256 : 32;

  c.memory = memory_mode(d);
  c.largest_block = std::min(d.max_memory_allocation, d.max_buffer_size);
  if (!d.device_local_heaps.empty()) {
    c.largest_block = std::min(c.largest_block, *std::ranges::max_element(d.device_local_heaps));
  }
  c.largest_block &= ~uint64_t{255};
  return c;
}

std::optional<std::string> lacks(const Choices& choices, DType dtype) {
  if (dtype == DType::f64 && !choices.float64) return "float64 arithmetic (shaderFloat64)";
  if (size_of(dtype) == 8 && !choices.int64) return "64-bit integers (shaderInt64)";
  return std::nullopt;
}

namespace {

// Calls visit(name, field) for every field; both directions of the JSON go through it.
template <class Record, class Visit>
void each_field(Record& r, Visit&& visit) {
#define FIELD(name) visit(#name, r.name)
  FIELD(name), FIELD(driver), FIELD(type), FIELD(vendor_id), FIELD(device_id), FIELD(api_version);
  FIELD(max_workgroup_invocations), FIELD(max_workgroup_size), FIELD(max_workgroup_count), FIELD(max_shared_memory);
  FIELD(max_push_constants), FIELD(max_storage_buffer_range), FIELD(max_memory_allocation), FIELD(max_buffer_size);
  FIELD(max_texel_elements), FIELD(texel_alignment), FIELD(max_allocation_count), FIELD(subgroup_size),
      FIELD(min_subgroup_size), FIELD(max_subgroup_size);
  FIELD(max_workgroup_subgroups), FIELD(timestamp_period), FIELD(imported_host_alignment), FIELD(device_local_heaps);
  FIELD(host_visible_device_local), FIELD(all_memory_host_visible);
  FIELD(buffer_device_address), FIELD(timeline_semaphore), FIELD(scalar_block_layout);
  FIELD(float64), FIELD(int64), FIELD(int16), FIELD(int8), FIELD(float16), FIELD(storage_8bit), FIELD(storage_16bit);
  FIELD(subgroup_arithmetic), FIELD(subgroup_shuffle), FIELD(subgroup_size_control);
  FIELD(atomic_int64), FIELD(atomic_float32_add), FIELD(atomic_float64_add);
  FIELD(memory_budget), FIELD(cooperative_matrix), FIELD(matrix_shapes);
  FIELD(denorm_preserve32), FIELD(signed_zero_inf_nan_preserve32), FIELD(rounding_rte32);
  FIELD(denorm_preserve64), FIELD(signed_zero_inf_nan_preserve64), FIELD(denorm_preserve16), FIELD(rounding_rte16);
#undef FIELD
}

[[noreturn]] void refuse(std::string_view field, std::string_view expected) {
  throw UserError(fmt::format("device record: field '{}'; expected {}", field, expected));
}

void read(std::string_view field, const nlohmann::ordered_json& json, std::string& out) {
  if (!json.is_string()) refuse(field, "a text");
  out = json.get<std::string>();
}

void read(std::string_view field, const nlohmann::ordered_json& json, bool& out) {
  if (!json.is_boolean()) refuse(field, "true or false");
  out = json.get<bool>();
}

void read(std::string_view field, const nlohmann::ordered_json& json, double& out) {
  if (!json.is_number()) refuse(field, "a number");
  out = json.get<double>();
}

template <class Int>
  requires std::is_unsigned_v<Int>
void read(std::string_view field, const nlohmann::ordered_json& json, Int& out) {
  const uint64_t largest = std::numeric_limits<Int>::max();
  if (!json.is_number_unsigned() || json.get<uint64_t>() > largest) {
    refuse(field, fmt::format("an integer of 0 to {}", largest));
  }
  out = json.get<Int>();
}

void read(std::string_view field, const nlohmann::ordered_json& json, std::array<uint32_t, 3>& out) {
  if (!json.is_array() || json.size() != 3) refuse(field, "a list of three integers");
  for (size_t i = 0; i < 3; ++i) read(field, json[i], out[i]);
}

template <class T>
void read(std::string_view field, const nlohmann::ordered_json& json, std::vector<T>& out) {
  if (!json.is_array()) refuse(field, "a list");
  out.resize(json.size());
  for (size_t i = 0; i < out.size(); ++i) read(field, json[i], out[i]);
}

}  // namespace

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
        &DeviceRecord::atomic_float32_add, &DeviceRecord::atomic_float64_add, &DeviceRecord::cooperative_matrix}) {
    device.*feature &= other.*feature;
  }
  std::erase_if(device.matrix_shapes, [&](const auto& shape) {
    return std::ranges::find(other.matrix_shapes, shape) == other.matrix_shapes.end();
  });
  return device;
}

std::string to_json(const DeviceRecord& record) {
  nlohmann::ordered_json json;
  each_field(record, [&](const char* name, const auto& value) { json[name] = value; });
  return json.dump(2) + "\n";
}

DeviceRecord record_from_json(std::string_view text) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw UserError("device record: the text is no JSON object");
  DeviceRecord record;
  std::vector<std::string_view> names{"source"};
  each_field(record, [&](const char* name, auto& value) {
    names.emplace_back(name);
    if (const auto it = json.find(name); it != json.end()) read(name, *it, value);
  });
  for (const auto& [name, value] : json.items()) {
    if (std::ranges::find(names, name) == names.end()) refuse(name, "one of the fields of a device record");
  }
  return record;
}

}  // namespace neap::vk
