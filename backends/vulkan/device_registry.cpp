// Which devices are open, and the end of the process.
//
// The loader, drivers and layers may be unloaded, and have their own exit handlers, in an order that nobody controls.
// So nothing of a driver is ever destroyed at the end: one exit handler, registered after the first device has been
// opened and so run before whatever the driver registered until then, refuses what other threads still ask for, waits
// for the devices and saves their pipeline caches. After it no driver is called any more.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <map>

#include "backends/vulkan/device_impl.h"

namespace neap::vk {

namespace {

struct Registry {
  std::mutex opening;  // before `mutex`; held while a driver opens a device
  std::mutex mutex;
  std::map<int, std::shared_ptr<DeviceImpl>> open;
  std::vector<std::shared_ptr<DeviceImpl>> lost, hung;
  std::atomic<bool> process_ends = false;
};

Registry& registry() {
  static auto* registry = new Registry;
  return *registry;
}

void at_exit() {
  Registry& r = registry();
  std::map<int, std::shared_ptr<DeviceImpl>> open;
  {
    const std::lock_guard lock(r.mutex);
    open = r.open;
  }
  r.process_ends.store(true, std::memory_order_release);  // first, so that other threads submit nothing more
  for (const auto& [index, device] : open) device->finish();
}

const PhysicalDevice& find(int index) {
  std::vector<std::string> names, unfit;
  for (const PhysicalDevice* device : visible_devices()) {
    if (const auto reason = unfit_for(device->record)) {
      unfit.push_back(*reason);
      continue;
    }
    if (static_cast<int>(names.size()) == index) return *device;
    names.push_back(fmt::format("{} {}", names.size(), device->record.name));
  }
  std::string message = fmt::format("vulkan device {}: there is no such device; ", index);
  message += names.empty() ? "there are none that can be used" : fmt::format("there are: {}", fmt::join(names, ", "));
  if (!unfit.empty()) message += fmt::format(" ({})", fmt::join(unfit, "; "));
  const char* filter = std::getenv("NEAP_VULKAN_DEVICE");
  if (filter && visible_devices().size() < driver().devices.size()) {
    message += fmt::format("; NEAP_VULKAN_DEVICE={} hides others", filter);
  } else if (names.empty()) {
    message += fmt::format("; install {}", kDriverHint);
  }
  throw DeviceError(message);
}

std::shared_ptr<DeviceImpl> already_open(Registry& r, int index) {
  const std::lock_guard lock(r.mutex);
  const auto it = r.open.find(index);
  return it == r.open.end() ? nullptr : it->second;
}

}  // namespace

bool process_ends() { return registry().process_ends.load(std::memory_order_acquire); }

void forget(const DeviceImpl& device, bool running) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto it = r.open.find(device.index());
  if (it == r.open.end() || it->second.get() != &device) return;
  (running ? r.hung : r.lost).push_back(std::move(it->second));
  r.open.erase(it);
}

std::shared_ptr<Device> Device::get(int index) {
  Registry& r = registry();
  if (auto device = already_open(r, index)) return device;
  const std::lock_guard opening(r.opening);
  if (auto device = already_open(r, index)) return device;
  if (process_ends()) throw DeviceError("vulkan: the process is about to end");
  std::vector<std::shared_ptr<DeviceImpl>> lost;
  {
    const std::lock_guard lock(r.mutex);
    lost.swap(r.lost);
  }
  for (const auto& device : lost) device->poll();
  lost.clear();

  auto device = std::make_shared<DeviceImpl>(find(index), index);
  const std::lock_guard lock(r.mutex);
  r.open[index] = device;
  static const int registered = std::atexit(at_exit);
  static_cast<void>(registered);
  return device;
}

std::vector<DeviceRecord> Device::list() {
  std::vector<DeviceRecord> records;
  try {
    for (const PhysicalDevice* device : visible_devices()) {
      if (!unfit_for(device->record)) records.push_back(device->record);
    }
  } catch (const std::exception&) {  // no loader, no devices
  }
  return records;
}

}  // namespace neap::vk
