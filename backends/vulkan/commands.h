// Command buffers. What the driver holds of one stays alive while it runs, whatever becomes of the Commands.
#pragma once

#include <volk.h>

#include "backends/vulkan/device.h"

namespace neap::vk {

class DeviceImpl;

struct Recorded {
  Recorded(DeviceImpl& device, int timestamps);
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  ~Recorded();

  void begin(VkCommandBufferUsageFlags flags);
  void barrier(VkPipelineStageFlags after_stages, VkAccessFlags after_access);
  void end();

  DeviceImpl& device;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer buffer = VK_NULL_HANDLE;
  VkQueryPool queries = VK_NULL_HANDLE;
  int timestamps = 0;
  std::vector<VkDescriptorPool> sets;  // one in each
  std::vector<VkBufferView> views;
  std::vector<const Pipeline*> fresh;  // that had not run yet (Choices::compiles_late)

 private:
  explicit Recorded(DeviceImpl& device) : device(device) {}
};

inline VkDescriptorType descriptor_type(const View& view) {
  return view.written ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
}

class CommandsImpl final : public Commands {
 public:
  CommandsImpl(std::shared_ptr<DeviceImpl> device, int timestamps);

  void dispatch(const Pipeline& pipeline, const Push& push, const std::array<uint32_t, 3>& groups,
                std::span<const BoundView> views) override;
  void copy(const Memory& from, const Memory& to, size_t bytes) override;
  void barrier() override;
  void timestamp(int slot) override;
  void end() override;
  std::vector<double> timestamps() const override;

  const std::shared_ptr<Recorded>& recorded() const { return recorded_; }

 private:
  void bind(const Pipeline& pipeline, std::span<const BoundView> views);

  std::shared_ptr<DeviceImpl> device_;
  std::shared_ptr<Recorded> recorded_;
  const Pipeline* bound_ = nullptr;
};

}  // namespace neap::vk
