#include "planner/limits.h"

#include <fmt/format.h>
#include <neap/bytes.h>
#include <neap/error.h>

#include <algorithm>
#include <bit>

#include "planner/parse_json.h"
#include "planner/report.h"

namespace neap::planner {

namespace {

using nlohmann::json;

constexpr uint64_t kLeastGuaranteed = uint64_t{1} << 30;  // what every Vulkan device allocates at once
constexpr uint64_t kLargestImportAlignment = uint64_t{64} << 10;
constexpr int kReducePartsGpu = 1024;

class Reader {
 public:
  Reader(const json& object, const std::string& name) : object_(object), name_(name) {
    if (!object.is_object()) fail("", "an object");
  }

  bool has(const char* key) const { return object_.contains(key); }
  uint64_t bytes(const char* key, uint64_t otherwise) const {
    if (!has(key)) return otherwise;
    if (!object_[key].is_number_unsigned()) fail(key, "a number of bytes");
    return object_[key].get<uint64_t>();
  }
  bool truth(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!object_[key].is_boolean()) fail(key, "true or false");
    return object_[key].get<bool>();
  }
  std::string text(const char* key, const std::string& otherwise) const {
    if (!has(key)) return otherwise;
    if (!object_[key].is_string()) fail(key, "a string");
    return object_[key].get<std::string>();
  }
  std::vector<uint64_t> list(const char* key) const {
    std::vector<uint64_t> values;
    if (!has(key)) return values;
    if (!object_[key].is_array()) fail(key, "a list of numbers of bytes");
    for (const json& item : object_[key]) {
      if (!item.is_number_unsigned()) fail(key, "a list of numbers of bytes");
      values.push_back(item.get<uint64_t>());
    }
    return values;
  }
  [[noreturn]] void fail(const std::string& key, const std::string& expected) const {
    throw UserError(fmt::format("{}: {}{}expected {}", name_, key, key.empty() ? "" : ": ", expected));
  }

 private:
  const json& object_;
  const std::string& name_;
};

// As backends/vulkan/features.h chooses for the device.
Limits of_vulkan(const Reader& r) {
  Limits limits;
  limits.gpu = true;
  const std::string type = r.text("type", "other");
  const std::vector<uint64_t> heaps = r.list("device_local_heaps");
  uint64_t largest =
      std::min(r.bytes("max_memory_allocation", kLeastGuaranteed), r.bytes("max_buffer_size", kLeastGuaranteed));
  for (const uint64_t heap : heaps) limits.memory += heap;
  if (!heaps.empty()) largest = std::min(largest, *std::ranges::max_element(heaps));
  limits.largest_allocation = limits.largest_buffer = largest & ~uint64_t{255};
  limits.wide_atomics = r.truth("atomic_int64", false) || r.truth("atomic_float64_add", false);
  const bool unified = type == "cpu" || (type != "discrete" && r.truth("host_visible_device_local", false) &&
                                         r.truth("all_memory_host_visible", false));
  const uint64_t alignment = r.bytes("imported_host_alignment", 0);
  limits.host_memory = unified && alignment != 0 && alignment <= kLargestImportAlignment;
  return limits;
}

}  // namespace

Limits parse_limits(std::string_view text, const std::string& name) {
  const json whole = parse_json(text, name);
  const Reader r(whole, name);
  Limits limits = r.has("api_version") ? of_vulkan(r) : Limits{};
  limits.name = r.text("name", name);
  limits.gpu = r.truth("gpu", limits.gpu);
  limits.memory = r.bytes("memory", limits.memory);
  limits.largest_allocation = r.bytes("largest_allocation", limits.largest_allocation);
  limits.largest_buffer = r.bytes("largest_buffer", limits.largest_buffer);
  limits.alignment = r.bytes("alignment", limits.alignment);
  limits.wide_atomics = r.truth("wide_atomics", limits.wide_atomics);
  limits.host_memory = r.truth("host_memory", limits.host_memory);
  constexpr size_t kMostAlignment = size_t{1} << 40;
  if (!std::has_single_bit(limits.alignment) || limits.alignment < 64 || limits.alignment > kMostAlignment) {
    r.fail("alignment", "a power of two from 64 on");
  }
  return limits;
}

Target target_of(const Limits& limits) {
  Target target;
  target.gpu = limits.gpu;
  if (limits.gpu) target.reduce_parts = kReducePartsGpu;
  target.wide_atomics = limits.wide_atomics;
  target.half_products = limits.half_products;
  target.count_tables = limits.count_tables;
  target.host_memory = limits.host_memory;
  target.carves = limits.host_memory;
  target.largest_allocation = limits.largest_allocation;
  target.largest_buffer = limits.largest_buffer;
  target.alignment = limits.alignment;
  target.device = limits.name;
  return target;
}

void check_limits(const PlanData& plan, const Target& target) {
  if (target.largest_buffer == 0) return;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.alias_of >= 0 || buffer.bytes <= target.largest_buffer) continue;
    const std::string line = where(buffer);
    throw OutOfMemoryError(fmt::format("out of memory: {} {}{} needs {} in one piece; {} gives at most {}",
                                       buffer.label, to_string(buffer.aval), line.empty() ? "" : " at " + line,
                                       format_bytes(buffer.bytes), target.device, format_bytes(target.largest_buffer)));
  }
}

}  // namespace neap::planner
