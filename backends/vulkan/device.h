// The one place that talks to a Vulkan driver: instance, device, queue, memory, pipelines, submissions.
//
// Functions throw DeviceError (lost device, time-out, missing driver) or OutOfMemoryError and leave the process usable:
// a lost device is opened anew by the next Device::get. All member functions may be called from several threads.
#pragma once

#include <neap/device.h>
#include <neap/error.h>

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/vulkan/features.h"
#include "backends/vulkan/glsl.h"
#include "core/buffer.h"

namespace neap::vk {

/// Memory is a range of memory that kernels can address. It ends with its last handle; whoever holds that makes sure
/// that no submission uses it then (Device::submit keeps what it is given until it has finished).
class Memory {
 public:
  virtual ~Memory() = default;
  uint64_t address() const { return address_; }
  size_t bytes() const { return bytes_; }
  std::byte* mapped() const { return mapped_; }  // null when the host does not see it
  /// Returns the memory that the device gave out, which is another one where this one only counts it.
  virtual const Memory& given() const { return *this; }

 protected:
  uint64_t address_ = 0;
  size_t bytes_ = 0;
  std::byte* mapped_ = nullptr;
};
using MemoryPtr = std::shared_ptr<Memory>;

/// Range is a part of a memory.
struct Range {
  const Memory* memory = nullptr;
  uint64_t offset = 0, bytes = 0;
};

/// BoundView is a view of a shader with the bytes of its operand, for which Device::can_view() holds.
struct BoundView {
  View view;
  Range range;
};

/// Pipeline is a compute pipeline; it lives as long as its device.
struct Pipeline;

/// Ticket is a point on the device's timeline: when it has been reached, everything submitted up to it has finished.
using Ticket = uint64_t;

/// Commands is a recorded command buffer. It can be submitted any number of times, also while it is running, and may be
/// destroyed then, too: what the driver holds of it stays until it has finished. One thread uses it at a time.
class Commands {
 public:
  virtual ~Commands() = default;
  /// `views` are those of the shader, in order.
  virtual void dispatch(const Pipeline& pipeline, const Push& push, const std::array<uint32_t, 3>& groups,
                        std::span<const BoundView> views = {}) = 0;
  /// Copies the first `bytes` by the driver's means. Both memories come from allocate(), are not visible, and live
  /// until the copy has run.
  virtual void copy(const Memory& from, const Memory& to, size_t bytes) = 0;
  /// Everything recorded (and submitted) before is finished and visible to everything after.
  virtual void barrier() = 0;
  /// Writes the time at which everything before has finished into slot `slot` (below the number given to record()).
  virtual void timestamp(int slot) = 0;
  /// Ends the recording.
  virtual void end() = 0;
  /// Returns seconds on the device's clock for every slot, after the submission has finished. They are NaN for a slot
  /// that was not written, and where the queue has no timestamps.
  virtual std::vector<double> timestamps() const = 0;
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  /// Returns the device number `index` of those that can run Neap's kernels, opened on first use and kept. Throws
  /// DeviceError when there is none of that number, which names those that there are, and when there is no Vulkan
  /// loader or driver.
  static std::shared_ptr<Device> get(int index);
  /// Returns the records of the devices that get() numbers, in that order; there are none without a loader, which is no
  /// error.
  static std::vector<DeviceRecord> list();

  virtual ~Device() = default;
  virtual const DeviceRecord& record() const = 0;
  virtual const Choices& choices() const = 0;
  /// Returns what plans for the device keep to, except for Limits::memory, which is what it has in all.
  virtual const Limits& limits() const = 0;
  virtual int index() const = 0;

  /// Returns the pipeline of a shader, compiled on first use. It is kept in memory by source, and on disk as SPIR-V and
  /// in the driver's pipeline cache.
  virtual const Pipeline& pipeline(const Shader& shader, const std::string& name) = 0;

  /// Returns memory of the device, which is not counted and has undefined contents; if `visible`, it is mapped for the
  /// host, and coherent.
  virtual MemoryPtr allocate(size_t bytes, bool visible, std::string_view what) = 0;
  /// Returns memory of the host that is used in place: the pages that hold [data, data + bytes). The device has
  /// Choices::Memory::import, and the caller keeps `data` alive for as long as the result.
  virtual MemoryPtr import(std::byte* data, size_t bytes) = 0;
  /// Returns whether the range may be bound to a view: the device has views, and the range is in one piece, and
  /// aligned.
  virtual bool can_view(const Range& range) const = 0;
  /// Returns the bytes that can still be allocated: by VK_EXT_memory_budget, else heap size less what this process
  /// holds. For a CPU they are those that the host has available.
  virtual size_t available() const = 0;
  /// Returns the bytes of freed memory that are kept for reuse: with what is in use never more than was in use before.
  virtual size_t cached() const = 0;
  /// Gives them back to the driver.
  virtual void release_cached() = 0;

  /// Returns a new command buffer with `timestamps` slots.
  virtual std::unique_ptr<Commands> record(int timestamps) = 0;
  /// Submits the command buffers in this order, each as often as it is listed. It returns at once, except where
  /// Choices::compiles_late is set and a pipeline runs for the first time. `keep` lives until they have finished. Work
  /// of later submissions begins after that of earlier ones, and sees what the host wrote before the call; between the
  /// command buffers of one submission only their own barriers order.
  virtual Ticket submit(std::span<Commands* const> commands, std::vector<std::shared_ptr<void>> keep) = 0;
  /// Returns when the ticket has been reached; the host then sees what was written. A device that has not come so far
  /// after NEAP_VULKAN_TIMEOUT seconds (600 unless it is set) counts as lost.
  virtual void wait(Ticket ticket) = 0;
  virtual bool reached(Ticket ticket) = 0;
  /// Returns whether the device was lost while it may still be at work, so that memory that it was given must not be
  /// freed.
  virtual bool hangs() const = 0;
  /// Waits for everything submitted, and drops what was kept for it.
  virtual void drain() = 0;

  /// Copies bytes, in order with submissions: for mapped memory the host does it, when all submissions have finished,
  /// else the staging ring (two halves: one is filled while the other is on its way). upload() returns when `from` has
  /// been read; `to` may then go.
  virtual void upload(const std::byte* from, const Memory& to, size_t offset, size_t bytes) = 0;
  virtual void download(const Memory& from, size_t offset, std::byte* to, size_t bytes) = 0;

  /// Returns the errors and warnings that the validation layers have given (NEAP_VULKAN_VALIDATE=1 turns them on).
  static std::vector<std::string> validation_messages();
};

}  // namespace neap::vk
