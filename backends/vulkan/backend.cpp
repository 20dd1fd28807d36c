#include "backends/backend.h"

#include "backends/vulkan/device.h"
#include "backends/vulkan/executor.h"
#include "backends/vulkan/residence.h"

namespace neap::backends {
namespace {

class VulkanBackend final : public Backend {
 public:
  std::string_view name() const override { return "vulkan"; }

  std::vector<FoundDevice> list() const override {
    std::vector<FoundDevice> all;
    for (const vk::DeviceRecord& record : vk::Device::list()) {
      FoundDevice& found = all.emplace_back(FoundDevice{record.name, record.driver, 0});
      if (planner::array_memory(record) != planner::ArrayMemory::staged) continue;
      for (const uint64_t heap : record.device_local_heaps) found.memory += heap;
    }
    return all;
  }

  Limits limits(int device) const override { return vk::Device::get(device)->limits(); }

  std::shared_ptr<const Executable> compile(planner::PlanData plan, int device,
                                            const std::string& dump_name) const override {
    return vk::compile_plan(std::move(plan), vk::Device::get(device), dump_name);
  }

  BufferPtr bring(const BufferPtr& buffer, int device) const override {
    return vk::Store::of(vk::Device::get(device)).bring(buffer, "to_device");
  }

  size_t capacity(int device) const override {
    const auto opened = vk::Device::get(device);
    return uses_host(*opened) ? 0 : opened->available() + vk::Store::of(opened).live_bytes();
  }

  std::optional<OwnMemory> memory(int device) const override {
    const auto opened = vk::Device::get(device);
    if (uses_host(*opened)) return std::nullopt;
    const vk::Store& store = vk::Store::of(opened);
    return OwnMemory{store.live_bytes(), store.peak_bytes()};
  }

  size_t cached(int device) const override { return vk::Device::get(device)->cached(); }
  void release_cached(int device) const override { vk::Device::get(device)->release_cached(); }
  void reset_peak(int device) const override { vk::Store::of(vk::Device::get(device)).reset_peak(); }

  void synchronize() const override { vk::Store::drain_all(); }

  std::optional<int> holder(const Buffer& buffer) const override {
    if (buffer.block()) return std::nullopt;
    const auto* residence = dynamic_cast<const vk::VulkanResidence*>(buffer.residence().get());
    return residence ? std::optional<int>(residence->device().index()) : std::nullopt;
  }

 private:
  static bool uses_host(const vk::Device& device) { return device.choices().memory == vk::Choices::Memory::import; }
};

}  // namespace

std::unique_ptr<const Backend> make_vulkan_backend() { return std::make_unique<VulkanBackend>(); }

}  // namespace neap::backends
