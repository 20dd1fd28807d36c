// This defines what <neap/device.h> declares, and finds the backend of a device.
#include <neap/device.h>
#include <neap/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>

#include "backends/backend.h"
#include "core/at_line.h"
#include "core/file.h"
#include "core/heap.h"
#include "core/round_up.h"
#include "jit/compile.h"
#include "planner/plan/limits.h"
#include "trace/tracing/tracing.h"

namespace neap {
namespace {

// What NEAP_DEVICE may be.
std::string device_names() {
  std::vector<std::string> names;
  for (const backends::Backend* backend : backends::all_backends()) {
    names.emplace_back(backend->name());
    if (Device{backend->name()} != cpu()) names.push_back(names.back() + ":N");
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Device parse_device(std::string_view text) {
  const size_t colon = text.find(':');
  const backends::Backend* backend = backends::find_backend(text.substr(0, colon));
  int index = 0;
  bool valid = backend && (colon == text.npos || Device{backend->name()} != cpu());  // the host has no number
  if (valid && colon != text.npos) {
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + colon + 1, last, index);
    valid = error == std::errc{} && end == last && index >= 0;
  }
  if (!valid) throw UserError(fmt::format("NEAP_DEVICE: got \"{}\"; expected one of {}", text, device_names()));
  return {backend->name(), index};
}

std::mutex chosen_mutex;
std::optional<Device> chosen;

const backends::Backend& backend_of(const Device& device) {
  if (const backends::Backend* backend = backends::find_backend(device.backend)) return *backend;
  throw DeviceError(user_message(to_string(device), "this build has no such backend", device_names(), "", {}));
}

}  // namespace

std::string to_string(Device device) {
  return device == cpu() ? std::string(device.backend) : fmt::format("{}:{}", device.backend, device.index);
}

Device default_device() {
  {
    const std::lock_guard lock(chosen_mutex);
    if (chosen) return *chosen;
  }
  static const Device environment = [] {
    const char* text = std::getenv("NEAP_DEVICE");
    if (text && *text) return parse_device(text);
    const auto all = backends::all_backends();
    const auto first = std::ranges::find_if(all, &backends::Backend::compiles);
    return first == all.end() ? cpu() : Device{(*first)->name()};
  }();
  return environment;
}

void set_default_device(std::optional<Device> device) {
  const std::lock_guard lock(chosen_mutex);
  chosen = device;
}

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all;
  for (const backends::Backend* backend : backends::all_backends()) {
    int index = 0;
    for (const backends::FoundDevice& found : backend->list())
      all.push_back({{backend->name(), index++}, found.name, found.driver, found.memory});
  }
  return all;
}

Array to_device(const Array& x, Device device, std::source_location loc) {
  const BufferPtr& buffer = tracing::concrete_buffer(x, "to_device", loc);
  BufferPtr there = at_line(loc, [&] { return backend_of(device).bring(buffer, device.index); });
  return there == buffer ? x : detail::make_concrete(x.aval(), std::move(there));
}

Device device_of(const Array& x, std::source_location loc) {
  const BufferPtr& buffer = tracing::concrete_buffer(x, "device_of", loc);
  for (const backends::Backend* backend : backends::all_backends())
    if (const std::optional<int> index = backend->holder(*buffer)) return {backend->name(), *index};
  return cpu();
}

void synchronize() {
  for (const backends::Backend* backend : backends::all_backends()) backend->synchronize();
}

Limits limits(Device device, std::source_location loc) {
  return at_line(loc, [&] {
    Limits limits = backend_of(device).limits(device.index);
    limits.memory = jit_detail::memory_of(device);
    return limits;
  });
}

Limits read_limits(const std::filesystem::path& path, std::source_location loc) {
  try {
    return planner::parse_limits(read_file(path), path.string());
  } catch (const std::system_error& error) {
    throw_user<UserError>("read_limits", error.what(), "", "", loc);
  } catch (const UserError& error) {
    throw_user<UserError>("read_limits", error.what(), "", "", loc);
  }
}

namespace memory {

size_t live_bytes(Device device) {
  const auto own = backend_of(device).memory(device.index);
  return own ? own->live : live_bytes();
}

size_t peak_bytes(Device device) {
  const auto own = backend_of(device).memory(device.index);
  return own ? own->peak : peak_bytes();
}

void reset_peak(Device device) {
  const backends::Backend& backend = backend_of(device);
  if (backend.memory(device.index)) return backend.reset_peak(device.index);
  reset_peak();
}

size_t cached_bytes(Device device) {
  const backends::Backend& backend = backend_of(device);
  return backend.memory(device.index) ? backend.cached(device.index) : cached_bytes();
}

void release_cached(Device device) {
  const backends::Backend& backend = backend_of(device);
  if (backend.memory(device.index)) return backend.release_cached(device.index);
  release_cached();
}

}  // namespace memory

namespace jit_detail {

planner::Target target_of(const Device& device) { return planner::target_of(backend_of(device).limits(device.index)); }

size_t memory_of(const Device& device) { return backend_of(device).capacity(device.index); }

std::optional<size_t> room_on(const Device& device, const tracing::Arrays& arguments, const tracing::Arrays& captured) {
  if (const size_t own = memory_of(device); own > 0) return own;
  std::optional<size_t> room = neap::detail::Heap::instance().room();
  if (!room) return std::nullopt;
  // The plan counts each argument, also one that is passed twice, and they are there already.
  for (const tracing::Arrays* arrays : {&arguments, &captured}) {
    for (const Array& x : *arrays) {
      if (x.is_concrete()) *room += round_up_64(x.bytes());
    }
  }
  return room;
}

std::shared_ptr<const backends::Executable> compile_for(const Device& device, planner::PlanData plan,
                                                        const std::string& dump_name) {
  return backend_of(device).compile(std::move(plan), device.index, dump_name);
}

void compile_ahead_for(const Device& device, const planner::PlanData& plan, const std::stop_token& stop) {
  backend_of(device).compile_ahead(plan, stop);
}

backends::Object object_for(const Device& device, const planner::PlanData& plan,
                            const backends::ObjectRequest& request) {
  return backend_of(device).object(plan, request);
}

}  // namespace jit_detail
}  // namespace neap
