// Memory of a device: blocks of the driver, small requests as parts of shared blocks, and imported memory of the host.
#pragma once

#include <volk.h>

#include <array>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/vulkan/device.h"

namespace neap::vk {

class DeviceImpl;
class MemoryPool;

/// Block is a buffer and its VkDeviceMemory, or several behind each other where it is bound sparsely.
struct Block {
  explicit Block(MemoryPool& pool) : pool(pool) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  MemoryPool& pool;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::vector<VkDeviceMemory> pieces;  // in its place
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t address = 0;
  size_t bytes = 0;
  std::byte* mapped = nullptr;
  uint32_t allocations = 0;  // that it counts for in MemoryPool's
  uint32_t heap = 0;
};

/// Location is where an address lies, for copies by the device.
struct Location {
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t offset = 0;
  std::shared_ptr<void> owner;
};

class MemoryPool {
 public:
  enum class Use : uint8_t {
    device,   // the host does not see it
    visible,  // written by the host, read by the device
    staging,  // both ways, cached by the host
  };

  explicit MemoryPool(DeviceImpl& device);

  /// What is freed is kept for requests of the same size. Live and kept blocks together never exceed the most that live
  /// ones ever were: keeping them takes nothing from the device that it did not give before.
  MemoryPtr allocate(size_t bytes, Use use, std::string_view what);
  /// Returns the bytes that are kept.
  size_t cached() const;
  /// Gives them back to the driver.
  void release_cached();
  MemoryPtr import(std::byte* data, size_t bytes);
  /// Returns a new block of the driver.
  std::unique_ptr<Block> allocate_block(uint64_t bytes, Use use, std::string_view what);
  /// Returns what can still be had, kept blocks among it.
  size_t available() const;

  /// Returns where this address is, in memory made by allocate() for Use::device.
  Location find(uint64_t address);
  /// Returns the buffer that a range lies in, and where; none when it lies in several.
  Location locate(const Range& range) const;

 private:
  friend struct Block;
  class Handle;
  using Ranges = std::map<uint64_t, uint64_t>;  // offset -> bytes
  struct Shared {                               // a block that small requests share
    std::unique_ptr<Block> block;
    Use use;
    Ranges free;
  };

  // Freed blocks by use and size.
  using Kept = std::multimap<std::pair<Use, size_t>, std::unique_ptr<Block>>;

  uint64_t largest(Use use) const;
  /// Counts `bytes` as live, gives a kept block of that size, if there is one, and lets others go until live and kept
  /// ones together are no more than live ones were at most. unclaim() counts back what could not be had.
  std::unique_ptr<Block> claim(uint64_t bytes, Use use);
  void unclaim(uint64_t bytes);
  void keep(std::unique_ptr<Block> block, Use use);
  /// Returns the memory types that will do, the best first.
  std::vector<uint32_t> types_for(uint32_t bits, Use use) const;
  VkResult bind(Block& block, uint64_t bytes, uint32_t type, const void* next);
  /// Does the same for a sparse buffer: its pieces are as large as the device allows.
  VkResult bind_pieces(Block& block, uint64_t bytes, uint64_t alignment, uint32_t type);
  VkResult allocate(uint64_t bytes, uint32_t type, const void* next, VkDeviceMemory& memory);
  void count(Block& block, uint32_t type, uint32_t allocations);
  void take_address(Block& block);
  std::unique_ptr<Block> import_block(std::byte* data, uint64_t bytes);
  void share(Handle& handle, uint64_t bytes, uint64_t block_bytes, Use use, std::string_view what);
  void give_back(Shared& shared, Ranges::node_type returned);
  void enter(const std::shared_ptr<Handle>& handle);
  void leave(uint64_t address);

  DeviceImpl& device_;
  VkPhysicalDeviceMemoryProperties properties_{};
  std::atomic<uint32_t> allocations_ = 0;
  std::array<std::atomic<uint64_t>, VK_MAX_MEMORY_HEAPS> held_{};  // bytes of this process in each heap
  std::mutex mutex_;
  std::list<Shared> shared_;
  std::map<uint64_t, std::weak_ptr<Handle>> by_address_;
  mutable std::mutex kept_mutex_;
  uint64_t live_ = 0, most_live_ = 0, cached_ = 0;  // bytes of blocks that one request has alone
  Kept kept_;
};

}  // namespace neap::vk
