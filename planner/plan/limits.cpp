#include "planner/plan/limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <neap/bytes.h>
#include <neap/error.h>

#include <algorithm>
#include <bit>

#include "planner/plan/device_limits.h"
#include "planner/plan/parse_json.h"
#include "planner/plan/queries.h"

namespace neap::planner {

namespace {

// The most partial results of a reduction on a GPU. More let more of its threads work, and take more scratch and more
// combining. No measurement is recorded; `neap-bench --case monte-carlo --device vulkan` is a reduction to one element.
constexpr int kReducePartsGpu = 1024;

constexpr std::string_view kMembers[] = {"name",           "gpu",          "memory",       "largest_allocation",
                                         "largest_buffer", "alignment",    "wide_atomics", "half_products",
                                         "bf16_products",  "count_tables", "host_memory"};
// Larger values in a file are taken for mistakes.
constexpr size_t kMostAlignment = size_t{1} << 40;  // bytes
constexpr int kMostTables = 64;                     // of Limits::count_tables
constexpr double kMostBytes = 0x1.fp63;             // of all buffers of a plan: nearly what size_t counts
constexpr double kMostMade = 0x1p62;                // of those that are not arguments: orders count with int64

bool is_alignment(size_t bytes) { return std::has_single_bit(bytes) && bytes >= 64 && bytes <= kMostAlignment; }

class Reader {
 public:
  Reader(const Json& object, const std::string& name) : object_(object), name_(name) {
    if (!object.is_object()) fail("", "an object");
  }

  bool has(const char* key) const { return object_.find(key) != nullptr; }
  uint64_t bytes(const char* key, uint64_t otherwise) const { return number(key, otherwise, "a number of bytes"); }
  uint64_t number(const char* key, uint64_t otherwise, const char* what) const {
    if (!has(key)) return otherwise;
    if (!object_.find(key)->is_number_unsigned()) fail(key, what);
    return object_.find(key)->get<uint64_t>();
  }
  bool truth(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!object_.find(key)->is_boolean()) fail(key, "true or false");
    return object_.find(key)->get<bool>();
  }
  std::string text(const char* key, const std::string& otherwise) const {
    if (!has(key)) return otherwise;
    if (!object_.find(key)->is_string()) fail(key, "a string");
    return object_.find(key)->get<std::string>();
  }
  void refuse_others() const {
    for (const auto& [key, value] : object_.members()) {
      if (key != "source" && std::ranges::find(kMembers, key) == std::end(kMembers)) {
        fail(key, fmt::format("one of {}; or a device's record, which has api_version", fmt::join(kMembers, ", ")));
      }
    }
  }
  [[noreturn]] void fail(const std::string& key, const std::string& expected) const {
    throw UserError(fmt::format("{}: {}{}expected {}", name_, key, key.empty() ? "" : ": ", expected));
  }

 private:
  const Json& object_;
  const std::string& name_;
};

}  // namespace

Limits parse_limits(std::string_view text, const std::string& name) {
  const Json whole = parse_json(text, name);
  const Reader r(whole, name);
  Limits limits;
  if (r.has("api_version")) {
    limits = limits_of(record_from_json(whole, name, kMembers));
  } else {
    r.refuse_others();
  }
  limits.name = r.text("name", name);
  limits.gpu = r.truth("gpu", limits.gpu);
  limits.memory = r.bytes("memory", limits.memory);
  limits.largest_allocation = r.bytes("largest_allocation", limits.largest_allocation);
  limits.largest_buffer = r.bytes("largest_buffer", limits.largest_buffer);
  limits.alignment = r.bytes("alignment", limits.alignment);
  limits.wide_atomics = r.truth("wide_atomics", limits.wide_atomics);
  limits.half_products = r.truth("half_products", limits.half_products);
  limits.bf16_products = r.truth("bf16_products", limits.bf16_products);
  const std::string tables = fmt::format("a number of tables, 1 to {}", kMostTables);
  const uint64_t count = r.number("count_tables", static_cast<uint64_t>(limits.count_tables), tables.c_str());
  if (count < 1 || count > kMostTables) r.fail("count_tables", tables);
  limits.count_tables = static_cast<int>(count);
  limits.host_memory = r.truth("host_memory", limits.host_memory);
  if (!is_alignment(limits.alignment)) r.fail("alignment", "a power of two from 64 to 2^40");
  return limits;
}

Target target_of(const Limits& limits) {
  if (!is_alignment(limits.alignment)) {
    throw OptionError(
        fmt::format("limits: alignment: got {}; expected a power of two from 64 to 2^40", limits.alignment));
  }
  if (limits.count_tables < 1 || limits.count_tables > kMostTables) {
    throw OptionError(fmt::format("limits: count_tables: got {}; expected 1 to {}", limits.count_tables, kMostTables));
  }
  Target target;
  target.gpu = limits.gpu;
  if (limits.gpu) target.reduce_partials = kReducePartsGpu;
  target.wide_atomics = limits.wide_atomics;
  target.half_products = limits.half_products;
  target.bf16_products = limits.bf16_products;
  target.count_tables = limits.count_tables;
  target.host_memory = limits.host_memory;
  target.carves = limits.host_memory;
  target.largest_allocation = limits.largest_allocation;
  target.largest_buffer = limits.largest_buffer;
  target.alignment = limits.alignment;
  target.device = limits.name;
  return target;
}

void check_countable(const PlanData& plan, std::string_view name) {
  double bytes = 0, made = 0;
  for (const PlanBuffer& buffer : plan.buffers) {
    const bool given = buffer.storage == Storage::argument || buffer.storage == Storage::captured;
    (given ? bytes : made) += static_cast<double>(buffer.bytes);
  }
  bytes += made;
  if (bytes < kMostBytes && made < kMostMade) return;
  throw OutOfMemoryError(fmt::format("out of memory: {} has buffers of {:.3g} bytes; no device counts as many",
                                     name.empty() ? "the function" : name, bytes));
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
