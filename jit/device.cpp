// What <neap/device.h> promises, and which backend a device is.
#include <neap/device.h>
#include <neap/error.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <system_error>

#include "backends/executable.h"
#include "core/file.h"
#include "jit/compile.h"
#include "planner/plan/limits.h"
#include "trace/tracing/tracing.h"

namespace neap {
namespace {

#ifdef NEAP_CPU
constexpr Device kBuiltDefault = {};
#else
constexpr Device kBuiltDefault = {Device::Kind::vulkan, 0};
#endif

Device parse_device(std::string_view text) {
  if (text == "cpu") return cpu();
  if (text == "vulkan") return vulkan();
  constexpr std::string_view kPrefix = "vulkan:";
  int index = -1;
  if (text.starts_with(kPrefix)) {
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + kPrefix.size(), last, index);
    if (error == std::errc{} && end == last && index >= 0) return vulkan(index);
  }
  throw UserError("NEAP_DEVICE: got \"" + std::string(text) + "\"; expected cpu, vulkan or vulkan:N");
}

std::mutex chosen_mutex;
std::optional<Device> chosen;

[[noreturn]] void not_built(std::string_view what) {
  throw DeviceError(std::string(what) + ": this build has no such backend");
}

// All but the memory.
Limits limits_of(const Device& device) {
  Limits limits;
  if (device.kind == Device::Kind::cpu) {
    limits.name = to_string(device);
    return limits;
  }
#ifdef NEAP_VULKAN
  return backends::vulkan_limits(device.index);
#else
  not_built(to_string(device));
#endif
}

}  // namespace

std::string to_string(Device device) {
  return device.kind == Device::Kind::cpu ? "cpu" : "vulkan:" + std::to_string(device.index);
}

Device default_device() {
  {
    const std::lock_guard lock(chosen_mutex);
    if (chosen) return *chosen;
  }
  static const Device environment = [] {
    const char* text = std::getenv("NEAP_DEVICE");
    return text && *text ? parse_device(text) : kBuiltDefault;
  }();
  return environment;
}

void set_default_device(std::optional<Device> device) {
  const std::lock_guard lock(chosen_mutex);
  chosen = device;
}

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all;
#ifdef NEAP_CPU
  all.push_back({cpu(), "CPU", "", 0});
#endif
#ifdef NEAP_VULKAN
  for (const backends::VulkanDevice& d : backends::vulkan_devices())
    all.push_back({vulkan(static_cast<int>(all.size() - (all.empty() || all[0].device != cpu() ? 0 : 1))), d.name,
                   d.driver, d.memory});
#endif
  return all;
}

Array to_device(const Array& x, Device device, std::source_location loc) {
  const BufferPtr& buffer = tracing::concrete_buffer(x, "to_device", loc);
  if (device.kind == Device::Kind::cpu) {
    buffer->data();
    return x;
  }
#ifdef NEAP_VULKAN
  BufferPtr there = backends::bring_to_vulkan(buffer, device.index);
  return there == buffer ? x : detail::make_concrete(x.aval(), std::move(there));
#else
  not_built(to_string(device));
#endif
}

void synchronize() {
#ifdef NEAP_VULKAN
  backends::synchronize_vulkan();
#endif
}

Limits limits(Device device) {
  Limits limits = limits_of(device);
  limits.memory = jit_detail::memory_of(device);
  return limits;
}

Limits read_limits(const std::filesystem::path& path) {
  std::string text;
  try {
    text = read_file(path);
  } catch (const std::system_error& error) {
    throw UserError(std::string("read_limits: ") + error.what());
  }
  return planner::parse_limits(text, path.string());
}

namespace memory {
namespace {

// Of the device's own memory, or nullopt where it uses the host's.
std::optional<backends::VulkanMemory> own_memory([[maybe_unused]] Device device) {
#ifdef NEAP_VULKAN
  if (device.kind == Device::Kind::vulkan) return backends::vulkan_memory(device.index);
#endif
  return std::nullopt;
}

}  // namespace

size_t live_bytes(Device device) {
  const auto own = own_memory(device);
  return own ? own->live : live_bytes();
}

size_t peak_bytes(Device device) {
  const auto own = own_memory(device);
  return own ? own->peak : peak_bytes();
}

void reset_peak(Device device) {
#ifdef NEAP_VULKAN
  if (own_memory(device)) return backends::reset_vulkan_peak(device.index);
#endif
  (void)device;
  reset_peak();
}

}  // namespace memory

namespace jit_detail {

planner::Target target_of(const Device& device) {
  return device.kind == Device::Kind::cpu ? planner::Target{} : planner::target_of(limits_of(device));
}

size_t memory_of([[maybe_unused]] const Device& device) {
#ifdef NEAP_VULKAN
  if (device.kind == Device::Kind::vulkan) return backends::vulkan_capacity(device.index);
#endif
  return 0;
}

std::shared_ptr<const backends::Executable> compile_for(const Device& device, planner::PlanData plan,
                                                        const std::string& dump_name) {
  if (device.kind == Device::Kind::vulkan) {
#ifdef NEAP_VULKAN
    return backends::compile_vulkan(std::move(plan), device.index, dump_name);
#endif
  } else {
#ifdef NEAP_CPU
    return backends::compile_cpu(std::move(plan), dump_name);
#endif
  }
  (void)dump_name;
  not_built(to_string(device));
}

}  // namespace jit_detail
}  // namespace neap
