#include "planner/plan/device_record.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "planner/plan/parse_json.h"

namespace neap::planner {

namespace {

// Calls visit(name, field) for every field; both directions of the JSON go through it.
template <class Record, class Visit>
void each_field(Record& r, Visit&& visit) {
#define FIELD(name) visit(#name, r.name)
  FIELD(name), FIELD(driver), FIELD(type), FIELD(vendor_id), FIELD(device_id), FIELD(api_version);
  FIELD(max_workgroup_invocations), FIELD(max_workgroup_size), FIELD(max_workgroup_count), FIELD(max_shared_memory);
  FIELD(max_push_constants), FIELD(max_storage_buffer_range), FIELD(max_memory_allocation), FIELD(max_buffer_size);
  FIELD(max_texel_elements), FIELD(texel_alignment), FIELD(max_allocation_count), FIELD(sparse_binding),
      FIELD(subgroup_size), FIELD(min_subgroup_size), FIELD(max_subgroup_size);
  FIELD(max_workgroup_subgroups), FIELD(timestamp_period), FIELD(imported_host_alignment), FIELD(device_local_heaps);
  FIELD(host_visible_device_local), FIELD(all_memory_host_visible);
  FIELD(buffer_device_address), FIELD(timeline_semaphore), FIELD(scalar_block_layout);
  FIELD(float64), FIELD(int64), FIELD(int16), FIELD(int8), FIELD(float16), FIELD(storage_8bit), FIELD(storage_16bit);
  FIELD(subgroup_arithmetic), FIELD(subgroup_shuffle), FIELD(subgroup_size_control);
  FIELD(atomic_int64), FIELD(atomic_float32_add), FIELD(atomic_float64_add), FIELD(shared_float32_add),
      FIELD(shared_float64_add);
  FIELD(memory_budget), FIELD(matrix_shapes), FIELD(matrix_shapes_bf16);
  FIELD(denorm_preserve32), FIELD(signed_zero_inf_nan_preserve32), FIELD(rounding_rte32);
  FIELD(denorm_preserve64), FIELD(signed_zero_inf_nan_preserve64), FIELD(denorm_preserve16), FIELD(rounding_rte16);
#undef FIELD
}

// What a field's value ought to be, thrown for record_from_json to say where.
struct Expected {
  std::string what;
};

[[noreturn]] void expect(std::string what) { throw Expected{std::move(what)}; }

void read(const Json& json, std::string& out) {
  if (!json.is_string()) expect("a text");
  out = json.get<std::string>();
}

void read(const Json& json, bool& out) {
  if (!json.is_boolean()) expect("true or false");
  out = json.get<bool>();
}

void read(const Json& json, double& out) {
  if (!json.is_number()) expect("a number");
  out = json.get<double>();
}

template <class Int>
  requires std::is_unsigned_v<Int>
void read(const Json& json, Int& out) {
  const uint64_t largest = std::numeric_limits<Int>::max();
  if (!json.is_number_unsigned() || json.get<uint64_t>() > largest) {
    expect(fmt::format("an integer of 0 to {}", largest));
  }
  out = json.get<Int>();
}

void read(const Json& json, std::array<uint32_t, 3>& out) {
  if (!json.is_array() || json.size() != 3) expect("a list of three integers");
  for (size_t i = 0; i < 3; ++i) read(json[i], out[i]);
}

template <class T>
void read(const Json& json, std::vector<T>& out) {
  if (!json.is_array()) expect("a list");
  out.resize(json.size());
  for (size_t i = 0; i < out.size(); ++i) read(json[i], out[i]);
}

}  // namespace

std::string to_json(const DeviceRecord& record) {
  JsonWriter out(2);
  out.begin_object();
  each_field(record, [&](const char* name, const auto& value) { out.member(name, value); });
  return out.end_object().take() + "\n";
}

DeviceRecord record_from_json(std::string_view text, const std::string& name) {
  return record_from_json(parse_json(text, name), name);
}

DeviceRecord record_from_json(const Json& json, const std::string& where, std::span<const std::string_view> others) {
  if (!json.is_object()) throw UserError(where + ": the text is no JSON object");
  const auto refuse = [&](std::string_view field, std::string_view expected) {
    throw UserError(fmt::format("{}: field '{}'; expected {}", where, field, expected));
  };
  DeviceRecord record;
  std::vector<std::string_view> names(others.begin(), others.end());
  names.emplace_back("source");
  each_field(record, [&](const char* name, auto& value) {
    names.emplace_back(name);
    const Json* found = json.find(name);
    if (!found) return;
    try {
      read(*found, value);
    } catch (const Expected& expected) {
      refuse(name, expected.what);
    }
  });
  for (const auto& [name, value] : json.members()) {
    if (std::ranges::find(names, name) == names.end()) refuse(name, "one of the fields of a device record");
  }
  return record;
}

}  // namespace neap::planner
