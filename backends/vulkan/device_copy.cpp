// Copies between host and device, through two halves of a staging buffer: while the device copies one of them, the
// host fills or empties the other.
#include <algorithm>
#include <cstring>

#include "backends/vulkan/device_impl.h"
#include "core/check.h"

namespace neap::vk {

namespace {
constexpr size_t kHalf = size_t{8} << 20;  // bytes
}  // namespace

struct DeviceImpl::Half {
  std::unique_ptr<Block> block;
  std::unique_ptr<Recorded> recorded;
  Ticket ticket = 0;  // of the last submission that uses it
};

DeviceImpl::Half& DeviceImpl::next_half() {
  half_ = 1 - half_;
  std::shared_ptr<Half>& half = halves_[half_];
  if (!half) {
    half = std::make_shared<Half>();
    half->block = memory_->allocate_block(kHalf, MemoryPool::Use::staging, "staging buffer");
    half->recorded = std::make_unique<Recorded>(*this, 0);
  }
  wait(half->ticket);
  return *half;
}

void DeviceImpl::copy(Half& half, const Location& there, uint64_t at, size_t bytes, bool to_device) {
  check(call_.vkResetCommandPool(device_, half.recorded->pool, 0), "vkResetCommandPool");
  half.recorded->begin(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  VkBufferCopy region{to_device ? 0 : there.offset + at, to_device ? there.offset + at : 0, bytes};
  const VkBuffer here = half.block->buffer;
  call_.vkCmdCopyBuffer(half.recorded->buffer, to_device ? here : there.buffer, to_device ? there.buffer : here, 1,
                        &region);
  half.recorded->end();
  half.ticket = submit_buffers({half.recorded->buffer}, {there.owner});
}

void DeviceImpl::upload(const std::byte* from, const Memory& to, size_t offset, size_t bytes) {
  NEAP_CHECK(offset <= to.bytes() && bytes <= to.bytes() - offset, "{} bytes at {} of {}", bytes, offset, to.bytes());
  check_usable();
  if (bytes == 0) return;
  if (to.mapped()) {
    drain();
    std::memcpy(to.mapped() + offset, from, bytes);
    return;
  }
  const Location there = memory_->find(to.address() + offset);
  const std::lock_guard lock(copy_mutex_);
  for (size_t at = 0; at < bytes; at += kHalf) {
    const size_t part = std::min(kHalf, bytes - at);
    Half& half = next_half();
    std::memcpy(half.block->mapped, from + at, part);
    copy(half, there, at, part, /*to_device=*/true);
  }
}

void DeviceImpl::download(const Memory& from, size_t offset, std::byte* to, size_t bytes) {
  NEAP_CHECK(offset <= from.bytes() && bytes <= from.bytes() - offset, "{} bytes at {} of {}", bytes, offset,
             from.bytes());
  check_usable();
  if (bytes == 0) return;
  if (from.mapped()) {
    drain();
    std::memcpy(to, from.mapped() + offset, bytes);
    return;
  }
  const Location there = memory_->find(from.address() + offset);
  const std::lock_guard lock(copy_mutex_);
  Half* before = nullptr;  // on its way, from `at - kHalf` on
  const auto fetch = [&](size_t end) {
    const size_t part = (end - 1) % kHalf + 1;
    wait(before->ticket);
    std::memcpy(to + end - part, before->block->mapped, part);
  };
  for (size_t at = 0; at < bytes; at += kHalf) {
    Half& half = next_half();
    copy(half, there, at, std::min(kHalf, bytes - at), /*to_device=*/false);
    if (before) fetch(at);
    before = &half;
  }
  fetch(bytes);
}

}  // namespace neap::vk
