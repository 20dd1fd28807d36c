// The one Device there is, by part: opening and submitting (device.cpp), the registry and the end of the process
// (device_registry.cpp), pipelines (device_pipelines.cpp), copies (device_copy.cpp), memory (memory.h), command
// buffers (commands.h).
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "backends/vulkan/commands.h"
#include "backends/vulkan/device.h"
#include "backends/vulkan/instance.h"
#include "backends/vulkan/memory.h"

namespace neap::vk {

struct Pipeline {
  std::mutex mutex;  // held while it is made
  VkPipeline handle = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDescriptorSetLayout set = VK_NULL_HANDLE;  // of its views; null: the layout is the device's
  std::vector<uint32_t> words;                 // for NEAP_DUMP
  mutable std::atomic<bool> fresh = false;     // has not run yet, and the driver compiles it then
};

class DeviceImpl final : public Device {
 public:
  /// Throws DeviceError when the device cannot run Neap's kernels or does not open.
  DeviceImpl(const PhysicalDevice& physical, int index);
  ~DeviceImpl() override;

  const DeviceRecord& record() const override { return physical_.record; }
  const Choices& choices() const override { return choices_; }
  const Limits& limits() const override { return limits_; }
  int index() const override { return index_; }
  const Pipeline& pipeline(const Shader& shader, const std::string& name) override;
  MemoryPtr allocate(size_t bytes, bool visible, std::string_view what) override;
  MemoryPtr import(std::byte* data, size_t bytes) override;
  bool can_view(const Range& range) const override;
  size_t available() const override;
  size_t cached() const override { return memory_->cached(); }
  void release_cached() override { memory_->release_cached(); }
  std::unique_ptr<Commands> record(int timestamps) override;
  Ticket submit(std::span<Commands* const> commands, std::vector<std::shared_ptr<void>> keep) override;
  void wait(Ticket ticket) override;
  bool reached(Ticket ticket) override;
  bool hangs() const override { return running_.load(std::memory_order_acquire); }
  void drain() override;
  void upload(const std::byte* from, const Memory& to, size_t offset, size_t bytes) override;
  void download(const Memory& from, size_t offset, std::byte* to, size_t bytes) override;

  const VolkDeviceTable& call() const { return call_; }
  VkDevice handle() const { return device_; }
  const PhysicalDevice& physical() const { return physical_; }
  MemoryPool& memory() const { return *memory_; }
  std::shared_ptr<DeviceImpl> self() { return std::static_pointer_cast<DeviceImpl>(shared_from_this()); }
  std::string label() const;  // "device 0 (llvmpipe)", for messages

  /// Throws what an error means, OutOfMemoryError or DeviceError; a lost device leaves the registry.
  void check(VkResult result, std::string_view what);
  /// Binds memory to a sparse buffer, and waits until that is done.
  void bind_sparsely(const VkSparseBufferMemoryBindInfo& buffer);
  /// Marks the device as lost; the next Device::get opens it anew. If it is `running`, it may still be at work, so that
  /// nothing of it can be destroyed any more.
  void lose(bool running);
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  /// Returns whether handles may still be destroyed: not when the device hangs or the process ends.
  bool may_destroy() const;

  /// Drops what was kept for submissions that are over.
  void poll();
  /// Waits for the work submitted and saves what the driver has compiled, when process_ends().
  void finish();

 private:
  using Objects = std::vector<std::shared_ptr<void>>;

  void open();
  void destroy();
  void check_usable() const;
  Ticket submit_buffers(std::vector<VkCommandBuffer> buffers, Objects keep);
  Ticket counter();
  VkResult await(Ticket ticket);
  void raise(Ticket value);
  /// Moves what is no longer needed to `over`. The caller holds submit_mutex_, and destroys `over` when it holds no
  /// lock.
  void collect(std::vector<Objects>& over);

  VkPipelineLayout make_layout(VkDescriptorSetLayout set);
  void lay_out_views(Pipeline& pipeline, const Shader& shader);
  void make_pipeline(Pipeline& pipeline, const Shader& shader, const std::string& name);
  std::string pipeline_cache_name() const;
  VkPipelineCache make_pipeline_cache(const std::string& blob);
  void load_pipeline_cache();
  void save_pipeline_cache() noexcept;

  struct Half;
  Half& next_half();
  void copy(Half& half, const Location& there, uint64_t at, size_t bytes, bool to_device);

  PhysicalDevice physical_;
  Choices choices_;
  Limits limits_;
  int index_;
  VkDevice device_ = VK_NULL_HANDLE;
  VolkDeviceTable call_{};
  VkQueue queue_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  std::shared_ptr<Recorded> barrier_;  // ends every submission: the next one sees it, and so does the host
  std::chrono::nanoseconds patience_;  // NEAP_VULKAN_TIMEOUT
  std::atomic<bool> lost_ = false, running_ = false;

  std::mutex submit_mutex_;
  Ticket last_ = 0;
  std::atomic<Ticket> reached_ = 0;
  struct Kept {
    Ticket ticket;
    Objects objects;
  };
  std::deque<Kept> kept_;

  std::mutex pipelines_mutex_;
  std::unordered_map<std::string, std::unique_ptr<Pipeline>> pipelines_;
  VkPipelineCache pipeline_cache_ = VK_NULL_HANDLE;
  std::atomic<int> unsaved_ = 0;

  std::mutex copy_mutex_;
  std::array<std::shared_ptr<Half>, 2> halves_;
  int half_ = 0;

  std::unique_ptr<MemoryPool> memory_;
};

/// Takes a lost device out of the registry; one that is `running` is kept for ever.
void forget(const DeviceImpl& device, bool running);

/// Returns whether the process has reached its exit handlers: from then on nothing is submitted, and nothing destroyed.
bool process_ends();

}  // namespace neap::vk
