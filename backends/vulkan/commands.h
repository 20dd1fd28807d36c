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

 private:
  explicit Recorded(DeviceImpl& device) : device(device) {}
};

class CommandsImpl final : public Commands {
 public:
  CommandsImpl(std::shared_ptr<DeviceImpl> device, int timestamps);

  void dispatch(const Pipeline& pipeline, const Push& push, const std::array<uint32_t, 3>& groups) override;
  void copy(const Memory& from, const Memory& to, size_t bytes) override;
  void barrier() override;
  void timestamp(int slot) override;
  void end() override;
  std::vector<double> timestamps() const override;

  const std::shared_ptr<Recorded>& recorded() const { return recorded_; }

 private:
  std::shared_ptr<DeviceImpl> device_;
  std::shared_ptr<Recorded> recorded_;
  const Pipeline* bound_ = nullptr;
};

}  // namespace neap::vk
