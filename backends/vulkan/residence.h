// Where the bytes of arrays are for one device: in its own memory, counted there, or in the host's, used in place.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/vulkan/device.h"
#include "core/buffer.h"

namespace neap::vk {

/// VulkanResidence is a buffer's memory as a device sees it.
class VulkanResidence final : public Residence {
 public:
  VulkanResidence(std::shared_ptr<Device> device, MemoryPtr memory)
      : device_(std::move(device)), memory_(std::move(memory)) {}

  const Device& device() const { return *device_; }
  uint64_t address() const { return memory_->address(); }
  const MemoryPtr& memory() const { return memory_; }
  /// Copies bytes of the host into the memory.
  void fill(const std::byte* from, size_t bytes) const;
  /// Names the submission that writes the bytes, before Buffer::await_residence.
  void written_by(Ticket ticket) { ticket_ = ticket; }

 private:
  std::byte* arrive(const Buffer& buffer) override;

  std::shared_ptr<Device> device_;
  MemoryPtr memory_;
  BufferPtr mirror_;  // on the host, of memory that it does not see
  Ticket ticket_ = 0;
};

/// Store gives out memory for the arrays and arenas of one device. With Choices::Memory::import arrays of the host are
/// used where they lie, and all that a plan holds is the host's allocator's; else it is the device's, counted here.
class Store {
 public:
  /// Returns the store of a device, made on first use.
  static Store& of(const std::shared_ptr<Device>& device);

  /// Returns uninitialized memory of this device, as a buffer. Throws OutOfMemoryError.
  BufferPtr allocate(size_t bytes, std::string_view what);
  /// Returns the buffer's bytes on this device: the buffer itself, made addressable, or a copy.
  BufferPtr bring(const BufferPtr& buffer, std::string_view what);
  /// Returns the address of a buffer of allocate() or bring().
  uint64_t address(const Buffer& buffer) const { return memory(buffer)->address(); }
  const MemoryPtr& memory(const Buffer& buffer) const;
  /// Says that the submission `ticket` writes the buffer.
  void written(Buffer& buffer, Ticket ticket);

  /// Keeps buffers, and an arena or null, alive until the submission has finished.
  void keep(Ticket ticket, std::vector<BufferPtr> buffers, BufferPtr arena);
  /// Waits for the submissions that alone keep some memory alive, so that it can be used again. Returns a kept arena of
  /// exactly `arena` bytes, if there is one, without waiting for it: submissions run in order.
  BufferPtr make_room(size_t arena);
  /// Lets go of buffers that an unfinished submission may use, after a failure, as soon as nothing runs any more; where
  /// the device hangs, they are kept for ever.
  void abandon(std::vector<BufferPtr> buffers) noexcept;
  /// Waits for everything on every device, and drops the buffers that were kept for it. Throws DeviceError for a lost
  /// device.
  static void drain_all();

  // The same accounting as <neap/memory.h>, of the device's own memory.
  size_t live_bytes() const;
  size_t peak_bytes() const;
  void reset_peak();

 private:
  explicit Store(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  bool in_place() const { return device_->choices().memory == Choices::Memory::import; }
  void count(size_t bytes);
  void discount(size_t bytes);
  struct Counted;
  void drain();
  /// Frees what a lost device keeps, unless it may still be at work there.
  void retire();

  std::shared_ptr<Device> device_;
  mutable std::mutex mutex_;
  size_t live_ = 0, peak_ = 0;
  struct Kept {
    Ticket ticket;
    std::vector<BufferPtr> buffers;
    BufferPtr arena;
  };
  std::vector<Kept> kept_;
};

}  // namespace neap::vk
