// Opening a device, and submitting to it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <unordered_set>

#include "backends/vulkan/device_impl.h"
#include "core/file.h"
#include "core/progress.h"

namespace neap::vk {

namespace {

constexpr size_t kBuffersAtOnce = 4096;  // command buffers of one call to the driver

std::chrono::nanoseconds patience() {
  double seconds = 600;
  if (const char* text = std::getenv("NEAP_VULKAN_TIMEOUT"); text && *text) {
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), seconds);
    if (error != std::errc() || *end || !(seconds > 0 && seconds <= 1e9)) {
      throw OptionError(fmt::format("NEAP_VULKAN_TIMEOUT: got '{}'; expected seconds above 0", text));
    }
  }
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

void override_memory(Choices& choices, const DeviceRecord& record) {
  const char* text = std::getenv("NEAP_VULKAN_MEMORY");
  if (!text || !*text) return;
  const std::string_view mode = text;
  if (mode == "import") {
    choices.memory = Choices::Memory::import;
    if (record.imported_host_alignment == 0) {
      throw DeviceError(fmt::format("NEAP_VULKAN_MEMORY=import: {} imports no host memory", record.name));
    }
  } else if (mode == "mapped") {
    choices.memory = Choices::Memory::mapped;
  } else if (mode == "staged") {
    choices.memory = Choices::Memory::staged;
  } else {
    throw OptionError(fmt::format("NEAP_VULKAN_MEMORY: got '{}'; expected import, mapped or staged", mode));
  }
}

// NEAP_VULKAN_RECORD, a file as those of tests/data/devices: kernels are chosen as for that device, with the features
// that this one has as well. So tests run what is meant for devices that are not there.
DeviceRecord seen_as(const DeviceRecord& record) {
  const char* path = std::getenv("NEAP_VULKAN_RECORD");
  if (!path || !*path) return record;
  std::string text;
  try {
    text = read_file(path);
  } catch (const std::system_error& error) {
    throw OptionError(fmt::format("NEAP_VULKAN_RECORD: cannot read {}", error.what()));
  }
  return weakened(record, record_from_json(text));
}

}  // namespace

DeviceImpl::DeviceImpl(const PhysicalDevice& physical, int index)
    : physical_(physical), index_(index), patience_(patience()) {
  const DeviceRecord seen = seen_as(physical.record);
  choices_ = choose(seen);
  override_memory(choices_, physical_.record);
  limits_ = planner::limits_of(seen, choices_.memory);
  try {
    open();
  } catch (...) {
    destroy();
    throw;
  }
}

DeviceImpl::~DeviceImpl() {
  if (may_destroy()) save_pipeline_cache();
  destroy();
}

void DeviceImpl::open() {
  FeatureChain features(physical_);
  const std::vector<const char*> extensions = enable_features(physical_, features);
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = physical_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = &features.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  check(vkCreateDevice(physical_.handle, &info, nullptr, &device_), "vkCreateDevice");
  volkLoadDeviceTable(&call_, device_);
  call_.vkGetDeviceQueue(device_, physical_.queue_family, 0, &queue_);

  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  semaphore.pNext = &type;
  check(call_.vkCreateSemaphore(device_, &semaphore, nullptr, &timeline_), "vkCreateSemaphore");

  layout_ = make_layout(VK_NULL_HANDLE);

  barrier_ = std::make_shared<Recorded>(*this, 0);
  barrier_->begin(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  barrier_->barrier(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  barrier_->end();
  memory_ = std::make_unique<MemoryPool>(*this);
  load_pipeline_cache();
}

void DeviceImpl::destroy() {
  if (!may_destroy() || !device_) return;
  if (timeline_ && barrier_) call_.vkDeviceWaitIdle(device_);  // also of a lost one, whose last work may not be over
  kept_.clear();
  halves_ = {};
  memory_.reset();
  barrier_.reset();
  for (const auto& [source, pipeline] : pipelines_) {
    call_.vkDestroyPipeline(device_, pipeline->handle, nullptr);
    if (pipeline->layout != layout_) call_.vkDestroyPipelineLayout(device_, pipeline->layout, nullptr);
    call_.vkDestroyDescriptorSetLayout(device_, pipeline->set, nullptr);
  }
  call_.vkDestroyPipelineCache(device_, pipeline_cache_, nullptr);
  call_.vkDestroyPipelineLayout(device_, layout_, nullptr);
  call_.vkDestroySemaphore(device_, timeline_, nullptr);
  call_.vkDestroyDevice(device_, nullptr);
}

std::string DeviceImpl::label() const { return fmt::format("vulkan device {} ({})", index_, record().name); }

void DeviceImpl::check(VkResult result, std::string_view what) {
  if (result >= 0) return;
  const std::string message = fmt::format("{}: {}: {}", label(), what, result_name(result));
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY) {
    throw OutOfMemoryError(message);
  }
  if (result == VK_ERROR_DEVICE_LOST) lose(false);
  throw DeviceError(message);
}

void DeviceImpl::lose(bool running) {
  if (running) running_.store(true, std::memory_order_release);
  lost_.store(true, std::memory_order_release);
  forget(*this, running);
}

void DeviceImpl::check_usable() const {
  if (lost()) throw DeviceError(fmt::format("{}: the device was lost", label()));
  if (process_ends()) throw DeviceError(fmt::format("{}: the process is about to end", label()));
}

bool DeviceImpl::may_destroy() const { return !running_.load(std::memory_order_acquire) && !process_ends(); }

bool DeviceImpl::can_view(const Range& range) const {
  const Location location = memory_->locate(range);
  return choices_.texels > 0 && location.buffer && location.offset % choices_.texel_alignment == 0;
}

MemoryPtr DeviceImpl::allocate(size_t bytes, bool visible, std::string_view what) {
  check_usable();
  return memory_->allocate(bytes, visible ? MemoryPool::Use::visible : MemoryPool::Use::device, what);
}

MemoryPtr DeviceImpl::import(std::byte* data, size_t bytes) {
  check_usable();
  return memory_->import(data, bytes);
}

size_t DeviceImpl::available() const { return memory_->available(); }

std::unique_ptr<Commands> DeviceImpl::record(int timestamps) {
  check_usable();
  return std::make_unique<CommandsImpl>(self(), timestamps);
}

Ticket DeviceImpl::submit(std::span<Commands* const> commands, Objects keep) {
  std::vector<VkCommandBuffer> buffers;
  buffers.reserve(commands.size() + 1);
  std::unordered_set<const Recorded*> kept;
  std::vector<const Pipeline*> fresh;
  for (const Commands* c : commands) {
    const std::shared_ptr<Recorded>& recorded = static_cast<const CommandsImpl*>(c)->recorded();
    buffers.push_back(recorded->buffer);
    if (!kept.insert(recorded.get()).second) continue;
    keep.push_back(recorded);
    std::ranges::copy_if(recorded->fresh, std::back_inserter(fresh), [](const Pipeline* p) { return p->fresh.load(); });
  }
  const Ticket ticket = submit_buffers(std::move(buffers), std::move(keep));
  // Whoever waits for the ticket is told what went wrong.
  if (!fresh.empty() && await(ticket) == VK_SUCCESS) std::ranges::for_each(fresh, [](auto* p) { p->fresh = false; });
  return ticket;
}

Ticket DeviceImpl::submit_buffers(std::vector<VkCommandBuffer> buffers, Objects keep) {
  buffers.push_back(barrier_->buffer);
  std::vector<Objects> over;  // goes when the lock has been released
  std::unique_lock lock(submit_mutex_);
  collect(over);
  check_usable();
  VkResult result = VK_SUCCESS;
  for (size_t at = 0; at < buffers.size() && result == VK_SUCCESS; at += kBuffersAtOnce) {
    const Ticket ticket = last_ + 1;
    VkTimelineSemaphoreSubmitInfo timeline{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &ticket;
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.pNext = &timeline;
    info.commandBufferCount = static_cast<uint32_t>(std::min(kBuffersAtOnce, buffers.size() - at));
    info.pCommandBuffers = buffers.data() + at;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &timeline_;
    result = call_.vkQueueSubmit(queue_, 1, &info, VK_NULL_HANDLE);
    if (result == VK_SUCCESS) last_ = ticket;
  }
  const Ticket ticket = last_;
  kept_.push_back({ticket, std::move(keep)});  // also after a failure: a part may be running
  lock.unlock();
  check(result, "vkQueueSubmit");
  return ticket;
}

void DeviceImpl::bind_sparsely(const VkSparseBufferMemoryBindInfo& buffer) {
  VkFence fence = VK_NULL_HANDLE;
  const VkFenceCreateInfo fence_info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  check(call_.vkCreateFence(device_, &fence_info, nullptr, &fence), "vkCreateFence");
  VkBindSparseInfo info{VK_STRUCTURE_TYPE_BIND_SPARSE_INFO};
  info.bufferBindCount = 1;
  info.pBufferBinds = &buffer;
  VkResult result = VK_SUCCESS;
  {
    const std::lock_guard lock(submit_mutex_);
    result = lost() ? VK_ERROR_DEVICE_LOST : call_.vkQueueBindSparse(queue_, 1, &info, fence);
  }
  if (result == VK_SUCCESS) {
    result = call_.vkWaitForFences(device_, 1, &fence, VK_TRUE, static_cast<uint64_t>(patience_.count()));
  }
  if (result == VK_TIMEOUT) {
    lose(/*running=*/true);
    throw DeviceError(fmt::format("{}: memory not bound after {} s (NEAP_VULKAN_TIMEOUT)", label(),
                                  std::chrono::duration<double>(patience_).count()));
  }
  if (may_destroy()) call_.vkDestroyFence(device_, fence, nullptr);
  check(result, "vkQueueBindSparse");
}

void DeviceImpl::collect(std::vector<Objects>& over) {
  const bool all = lost() && !running_.load(std::memory_order_acquire);
  if (kept_.empty()) return;
  const Ticket now = all ? last_ : counter();
  while (!kept_.empty() && kept_.front().ticket <= now) {
    over.push_back(std::move(kept_.front().objects));
    kept_.pop_front();
  }
}

void DeviceImpl::poll() {
  std::vector<Objects> over;
  const std::lock_guard lock(submit_mutex_);
  collect(over);
}

Ticket DeviceImpl::counter() {
  Ticket value = 0;
  if (lost() || process_ends() || call_.vkGetSemaphoreCounterValue(device_, timeline_, &value) != VK_SUCCESS) {
    return reached_.load(std::memory_order_acquire);
  }
  raise(value);
  return value;
}

void DeviceImpl::raise(Ticket value) {
  Ticket seen = reached_.load(std::memory_order_relaxed);
  while (seen < value && !reached_.compare_exchange_weak(seen, value, std::memory_order_acq_rel)) {}
}

VkResult DeviceImpl::await(Ticket ticket) {
  VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &ticket;
  const auto wait = [&](std::chrono::nanoseconds time) {
    return call_.vkWaitSemaphores(device_, &info, static_cast<uint64_t>(time.count()));
  };
  // What a GPU does in less time than it takes to put this thread to sleep and wake it is waited for awake.
  constexpr std::chrono::microseconds kAwake(50);
  for (const auto begin = std::chrono::steady_clock::now(); !choices_.cpu;) {
    if (counter() >= ticket) return VK_SUCCESS;
    if (std::chrono::steady_clock::now() - begin >= kAwake) break;
  }
  const std::chrono::nanoseconds silent = progress_delay.load();
  if (!progress_on() || patience_ <= silent) return wait(patience_);
  const VkResult result = wait(silent);
  if (result != VK_TIMEOUT) return result;
  const Progress waiting("waiting for " + label(), "", 0, Progress::Clock::ticks);
  return wait(patience_ - silent);
}

void DeviceImpl::wait(Ticket ticket) {
  if (reached_.load(std::memory_order_acquire) < ticket) {
    check_usable();
    const VkResult result = await(ticket);
    if (result == VK_TIMEOUT) {
      lose(/*running=*/true);
      throw DeviceError(fmt::format("{}: not finished after {} s (NEAP_VULKAN_TIMEOUT)", label(),
                                    std::chrono::duration<double>(patience_).count()));
    }
    check(result, "vkWaitSemaphores");
    raise(ticket);
  }
  poll();
}

bool DeviceImpl::reached(Ticket ticket) {
  if (reached_.load(std::memory_order_acquire) >= ticket) return true;
  check_usable();
  return counter() >= ticket;
}

void DeviceImpl::drain() {
  Ticket last = 0;
  {
    const std::lock_guard lock(submit_mutex_);
    last = last_;
  }
  wait(last);
}

void DeviceImpl::finish() {
  if (lost()) return;
  Ticket last = 0;
  {
    const std::lock_guard lock(submit_mutex_);
    last = last_;
  }
  if (await(last) == VK_SUCCESS) save_pipeline_cache();
}

}  // namespace neap::vk
