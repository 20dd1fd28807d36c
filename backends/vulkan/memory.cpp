#include "backends/vulkan/memory.h"

#include <fmt/format.h>
#include <neap/bytes.h>

#include <algorithm>
#include <optional>

#include "backends/vulkan/device_impl.h"
#include "core/check.h"
#include "core/os/os.h"

namespace neap::vk {

namespace {

constexpr uint64_t kAlign = 256;  // bytes; what allocate() takes is rounded up to multiples
VkBufferUsageFlags usage(const Choices& choices) {
  const VkBufferUsageFlags texels = VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT;
  return VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
         VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | (choices.texels > 0 ? texels : 0);
}

constexpr uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

bool out_of_memory(VkResult result) {
  return result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY;
}

}  // namespace

Block::~Block() {
  DeviceImpl& device = pool.device_;
  if (allocations > 0) {
    pool.allocations_ -= allocations;
    pool.held_[heap] -= bytes;
  }
  if (!device.may_destroy()) return;
  if (buffer) device.call().vkDestroyBuffer(device.handle(), buffer, nullptr);
  if (memory) device.call().vkFreeMemory(device.handle(), memory, nullptr);
  for (VkDeviceMemory piece : pieces) device.call().vkFreeMemory(device.handle(), piece, nullptr);
}

/// What allocate() and import() give out.
class MemoryPool::Handle final : public Memory {
 public:
  Handle(std::shared_ptr<DeviceImpl> device, size_t bytes) : device_(std::move(device)) { bytes_ = bytes; }
  ~Handle() override {
    if (entered_) device_->memory().leave(address_);
    if (use_) device_->memory().keep(std::move(own_.front()), *use_);
    if (shared_) device_->memory().give_back(*shared_, std::move(range_));
  }
  void place(uint64_t address, std::byte* mapped) {
    address_ = address;
    mapped_ = mapped;
  }

  std::shared_ptr<DeviceImpl> device_;  // outlives what follows
  std::vector<std::unique_ptr<Block>> own_;
  Shared* shared_ = nullptr;
  Ranges::node_type range_;  // what it has of the shared block: the entry that its end gives back
  bool entered_ = false;
  std::optional<Use> use_;  // of a block that is kept when this goes
};

MemoryPool::MemoryPool(DeviceImpl& device) : device_(device) {
  vkGetPhysicalDeviceMemoryProperties(device.physical().handle, &properties_);
}

std::vector<uint32_t> MemoryPool::types_for(uint32_t bits, Use use) const {
  constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kKnown =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kVisible | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  const VkMemoryPropertyFlags needed =
      use == Use::device ? VkMemoryPropertyFlags{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT} : kVisible;
  std::vector<std::pair<int, uint32_t>> scored;
  for (uint32_t i = 0; i < properties_.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = properties_.memoryTypes[i].propertyFlags;
    if (!(bits >> i & 1) || (flags & needed) != needed || (flags & ~kKnown)) continue;
    const int local = flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT ? 1 : 0;
    const int cached = flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT ? 1 : 0;
    const int visible = flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT ? 1 : 0;
    const int score = use == Use::device ? -visible : use == Use::visible ? 2 * local + cached : 2 * cached - local;
    scored.emplace_back(-score, i);
  }
  std::ranges::sort(scored);  // of equals the driver's first
  std::vector<uint32_t> types;
  for (const auto& [score, type] : scored) types.push_back(type);
  return types;
}

VkResult MemoryPool::allocate(uint64_t bytes, uint32_t type, const void* next, VkDeviceMemory& memory) {
  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.pNext = next;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  info.pNext = &flags;
  info.allocationSize = bytes;
  info.memoryTypeIndex = type;
  return device_.call().vkAllocateMemory(device_.handle(), &info, nullptr, &memory);
}

void MemoryPool::count(Block& block, uint32_t type, uint32_t allocations) {
  block.allocations = allocations;
  block.heap = properties_.memoryTypes[type].heapIndex;
  allocations_ += allocations;
  held_[block.heap] += block.bytes;
}

VkResult MemoryPool::bind(Block& block, uint64_t bytes, uint32_t type, const void* next) {
  if (allocations_ >= device_.record().max_allocation_count) return VK_ERROR_TOO_MANY_OBJECTS;
  const VkResult result = allocate(bytes, type, next, block.memory);
  if (result != VK_SUCCESS) return result;
  count(block, type, 1);
  device_.check(device_.call().vkBindBufferMemory(device_.handle(), block.buffer, block.memory, 0),
                "vkBindBufferMemory");
  take_address(block);
  return VK_SUCCESS;
}

VkResult MemoryPool::bind_pieces(Block& block, uint64_t bytes, uint64_t alignment, uint32_t type) {
  const uint64_t piece = device_.record().max_memory_allocation / alignment * alignment;
  const auto pieces = static_cast<uint32_t>((bytes + piece - 1) / piece);
  if (pieces > device_.record().max_allocation_count - allocations_) return VK_ERROR_TOO_MANY_OBJECTS;
  std::vector<VkSparseMemoryBind> binds;
  binds.reserve(pieces);
  block.pieces.reserve(pieces);
  for (uint64_t at = 0; at < bytes; at += piece) {
    VkDeviceMemory memory = VK_NULL_HANDLE;
    const uint64_t own = std::min(piece, bytes - at);
    const VkResult result = allocate(own, type, nullptr, memory);
    if (result != VK_SUCCESS) {
      for (VkDeviceMemory made : block.pieces) device_.call().vkFreeMemory(device_.handle(), made, nullptr);
      block.pieces.clear();
      return result;
    }
    block.pieces.push_back(memory);
    binds.push_back({at, own, memory, 0, 0});
  }
  count(block, type, pieces);
  const VkSparseBufferMemoryBindInfo buffer{block.buffer, pieces, binds.data()};
  device_.bind_sparsely(buffer);
  take_address(block);
  return VK_SUCCESS;
}

void MemoryPool::take_address(Block& block) {
  VkBufferDeviceAddressInfo address{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
  address.buffer = block.buffer;
  block.address = device_.call().vkGetBufferDeviceAddress(device_.handle(), &address);
}

std::unique_ptr<Block> MemoryPool::allocate_block(uint64_t bytes, Use use, std::string_view what) {
  if (bytes > largest(use)) {
    throw OutOfMemoryError(fmt::format("out of memory: {} needs {} in one piece; {} gives at most {} ({} available)",
                                       what, format_bytes(bytes), device_.label(), format_bytes(largest(use)),
                                       format_bytes(available())));
  }
  auto block = std::make_unique<Block>(*this);
  block->bytes = bytes;
  const bool in_pieces = bytes > device_.record().max_memory_allocation / kAlign * kAlign;
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.flags = in_pieces ? VK_BUFFER_CREATE_SPARSE_BINDING_BIT : VkBufferCreateFlags{};
  info.size = bytes;
  info.usage = usage(device_.choices());
  device_.check(device_.call().vkCreateBuffer(device_.handle(), &info, nullptr, &block->buffer), what);
  VkMemoryRequirements needs;
  device_.call().vkGetBufferMemoryRequirements(device_.handle(), block->buffer, &needs);
  VkMemoryDedicatedAllocateInfo dedicated{VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO};
  dedicated.buffer = block->buffer;

  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  for (const uint32_t type : types_for(needs.memoryTypeBits, use)) {  // the window to a GPU's memory may be small
    const auto try_to_bind = [&] {
      return in_pieces ? bind_pieces(*block, needs.size, needs.alignment, type)
                       : bind(*block, needs.size, type, &dedicated);
    };
    result = try_to_bind();
    if ((out_of_memory(result) || result == VK_ERROR_TOO_MANY_OBJECTS) && cached() > 0) {
      release_cached();
      result = try_to_bind();
    }
    if (!out_of_memory(result)) break;
  }
  if (out_of_memory(result)) {
    throw OutOfMemoryError(fmt::format("out of memory: {} needs {} of {}; {} available", what, format_bytes(bytes),
                                       device_.label(), format_bytes(available())));
  }
  if (result == VK_ERROR_TOO_MANY_OBJECTS) {
    throw OutOfMemoryError(fmt::format("out of memory: {} needs {} of {}; it gives no more than {} allocations", what,
                                       format_bytes(bytes), device_.label(), device_.record().max_allocation_count));
  }
  device_.check(result, what);
  if (use != Use::device) {
    void* mapped = nullptr;
    device_.check(device_.call().vkMapMemory(device_.handle(), block->memory, 0, VK_WHOLE_SIZE, 0, &mapped), what);
    block->mapped = static_cast<std::byte*>(mapped);
  }
  return block;
}

uint64_t MemoryPool::largest(Use use) const {
  const DeviceRecord& record = device_.record();
  if (use == Use::device && record.sparse_binding) return record.max_buffer_size / kAlign * kAlign;
  return std::min(record.max_memory_allocation, record.max_buffer_size) / kAlign * kAlign;
}

MemoryPtr MemoryPool::allocate(size_t bytes, Use use, std::string_view what) {
  // What is small shares a block; when the driver's allocations run short, more is small.
  const bool scarce = allocations_ > device_.record().max_allocation_count / 2;
  const uint64_t small = uint64_t{1} << (scarce ? 26 : 20);
  const uint64_t shared_bytes = std::min(small * (scarce ? 4 : 16), largest(use));
  if (bytes > largest(use)) allocate_block(bytes, use, what);  // throws, before rounding could overflow
  const uint64_t rounded = round_up(std::max<uint64_t>(bytes, 1), kAlign);
  auto handle = std::make_shared<Handle>(device_.self(), bytes);
  if (rounded < small && rounded < shared_bytes) {
    share(*handle, rounded, shared_bytes, use, what);
  } else {
    handle->own_.reserve(1);
    std::unique_ptr<Block> own = claim(rounded, use);
    try {
      if (!own) own = allocate_block(rounded, use, what);
    } catch (...) {
      unclaim(rounded);
      throw;
    }
    handle->place(own->address, own->mapped);
    handle->own_.push_back(std::move(own));
    handle->use_ = use;
    const std::lock_guard lock(kept_mutex_);
    most_live_ = std::max(most_live_, live_);
  }
  if (!handle->mapped()) enter(handle);
  return handle;
}

std::unique_ptr<Block> MemoryPool::claim(uint64_t bytes, Use use) {
  Kept dropped;  // goes when the lock has been released
  std::unique_ptr<Block> block;
  const std::lock_guard lock(kept_mutex_);
  live_ += bytes;
  if (const auto found = kept_.find({use, bytes}); found != kept_.end()) {
    block = std::move(found->second);
    kept_.erase(found);
    cached_ -= bytes;
  }
  while (cached_ > 0 && live_ + cached_ > std::max(most_live_, live_)) {
    const auto largest = std::ranges::max_element(kept_, {}, [](const auto& entry) { return entry.first.second; });
    cached_ -= largest->first.second;
    dropped.insert(kept_.extract(largest));
  }
  return block;
}

void MemoryPool::unclaim(uint64_t bytes) {
  const std::lock_guard lock(kept_mutex_);
  live_ -= bytes;
}

void MemoryPool::keep(std::unique_ptr<Block> block, Use use) {
  const std::lock_guard lock(kept_mutex_);
  live_ -= block->bytes;
  if (device_.lost()) return;  // nothing of it will be asked for again
  const size_t bytes = block->bytes;
  try {
    kept_.emplace(std::pair{use, bytes}, std::move(block));
    cached_ += bytes;
  } catch (const std::bad_alloc&) {
    block.reset();
  }
}

size_t MemoryPool::cached() const {
  const std::lock_guard lock(kept_mutex_);
  return cached_;
}

void MemoryPool::release_cached() {
  Kept all;
  const std::lock_guard lock(kept_mutex_);
  all.swap(kept_);
  cached_ = 0;
}

void MemoryPool::share(Handle& handle, uint64_t bytes, uint64_t block_bytes, Use use, std::string_view what) {
  Ranges ranges{{0, bytes}};  // made here, where no memory for it is an error: destructors cannot fail
  Ranges::node_type range = ranges.extract(ranges.begin());
  const std::lock_guard lock(mutex_);
  const auto take = [&](Shared& shared) {
    if (shared.use != use) return false;
    const auto fit = std::ranges::find_if(shared.free, [&](const auto& free) { return free.second >= bytes; });
    if (fit == shared.free.end()) return false;
    const uint64_t offset = range.key() = fit->first;
    Ranges::node_type rest = shared.free.extract(fit);
    rest.key() += bytes;
    rest.mapped() -= bytes;
    if (rest.mapped() > 0) shared.free.insert(std::move(rest));
    handle.shared_ = &shared;
    handle.range_ = std::move(range);
    handle.place(shared.block->address + offset, shared.block->mapped ? shared.block->mapped + offset : nullptr);
    return true;
  };
  if (std::ranges::any_of(shared_, take)) return;
  Shared fresh{allocate_block(block_bytes, use, what), use, {{0, block_bytes}}};
  take(shared_.emplace_back(std::move(fresh)));
}

void MemoryPool::give_back(Shared& shared, Ranges::node_type returned) {
  std::unique_ptr<Block> unused;
  const std::lock_guard lock(mutex_);
  const auto range = shared.free.insert(std::move(returned)).position;
  if (const auto next = std::next(range); next != shared.free.end() && range->first + range->second == next->first) {
    range->second += next->second;
    shared.free.erase(next);
  }
  if (range != shared.free.begin()) {
    const auto before = std::prev(range);
    if (before->first + before->second == range->first) {
      before->second += range->second;
      shared.free.erase(range);
    }
  }
  // One unused block of each use stays for the next request.
  const auto empty = [](const Shared& s) { return s.free.size() == 1 && s.free.begin()->second == s.block->bytes; };
  if (!empty(shared)) return;
  const bool other =
      std::ranges::any_of(shared_, [&](const Shared& s) { return &s != &shared && s.use == shared.use && empty(s); });
  if (!other) return;
  unused = std::move(shared.block);
  shared_.remove_if([&](const Shared& s) { return &s == &shared; });
}

void MemoryPool::enter(const std::shared_ptr<Handle>& handle) {
  const std::lock_guard lock(mutex_);
  by_address_[handle->address()] = handle;
  handle->entered_ = true;
}

void MemoryPool::leave(uint64_t address) {
  const std::lock_guard lock(mutex_);
  // The address may already belong to a newer one only after give_back, which comes later.
  by_address_.erase(address);
}

Location MemoryPool::find(uint64_t address) {
  const std::lock_guard lock(mutex_);
  auto it = by_address_.upper_bound(address);
  NEAP_CHECK(it != by_address_.begin(), "an address that is none of {}", device_.label());
  const std::shared_ptr<Handle> handle = std::prev(it)->second.lock();
  NEAP_CHECK(handle, "memory of {} that has gone", device_.label());
  const Block& block = handle->shared_ ? *handle->shared_->block : *handle->own_.front();
  NEAP_CHECK(address - block.address < block.bytes, "an address that is none of {}", device_.label());
  return {block.buffer, address - block.address, handle};
}

Location MemoryPool::locate(const Range& range) const {
  const auto& handle = static_cast<const Handle&>(range.memory->given());
  if (!handle.shared_ && handle.own_.size() != 1) return {};
  const Block& block = handle.shared_ ? *handle.shared_->block : *handle.own_.front();
  return {block.buffer, handle.address() - block.address + range.offset, nullptr};
}

std::unique_ptr<Block> MemoryPool::import_block(std::byte* data, uint64_t bytes) {
  constexpr auto kHost = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  VkMemoryHostPointerPropertiesEXT pointer{VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
  device_.check(device_.call().vkGetMemoryHostPointerPropertiesEXT(device_.handle(), kHost, data, &pointer),
                "import of host memory");
  auto block = std::make_unique<Block>(*this);
  block->bytes = bytes;
  VkExternalMemoryBufferCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO};
  external.handleTypes = kHost;
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.pNext = &external;
  info.size = bytes;
  info.usage = usage(device_.choices());
  device_.check(device_.call().vkCreateBuffer(device_.handle(), &info, nullptr, &block->buffer),
                "import of host memory");
  VkMemoryRequirements needs;
  device_.call().vkGetBufferMemoryRequirements(device_.handle(), block->buffer, &needs);
  const std::vector<uint32_t> types = types_for(needs.memoryTypeBits & pointer.memoryTypeBits, Use::staging);
  if (types.empty() || needs.size > bytes) {
    throw DeviceError(fmt::format("{}: host memory at {} cannot be imported", device_.label(), fmt::ptr(data)));
  }
  VkImportMemoryHostPointerInfoEXT import{VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT};
  import.handleType = kHost;
  import.pHostPointer = data;
  const VkResult result = bind(*block, bytes, types.front(), &import);
  if (result == VK_ERROR_TOO_MANY_OBJECTS) {
    throw OutOfMemoryError(fmt::format("out of memory: {} gives no more than {} allocations and imports",
                                       device_.label(), device_.record().max_allocation_count));
  }
  device_.check(result, "import of host memory (NEAP_VULKAN_MEMORY=mapped goes without)");
  return block;
}

MemoryPtr MemoryPool::import(std::byte* data, size_t bytes) {
  const uint64_t page = device_.record().imported_host_alignment;
  if (page == 0) {
    throw DeviceError(fmt::format("{}: imports no host memory (VK_EXT_external_memory_host)", device_.label()));
  }
  const auto at = reinterpret_cast<uintptr_t>(data);
  const uint64_t before = at % page;
  const uint64_t total = round_up(before + std::max<size_t>(bytes, 1), page);
  const uint64_t piece = largest(Use::visible) / page * page;
  auto handle = std::make_shared<Handle>(device_.self(), bytes);
  for (uint64_t done = 0; done < total; done += piece) {
    handle->own_.push_back(import_block(data - before + done, std::min(piece, total - done)));
    if (handle->own_.back()->address != handle->own_.front()->address + done) {
      throw DeviceError(fmt::format("{}: {} of host memory do not fit one import of at most {}", device_.label(),
                                    format_bytes(bytes), format_bytes(piece)));
    }
  }
  handle->place(handle->own_.front()->address + before, data);
  return handle;
}

size_t MemoryPool::available() const {
  const DeviceRecord& record = device_.record();
  if (record.type == "cpu") {  // its heap is the host's memory, whatever size the driver gives it
    if (const auto bytes = os::available_memory()) return *bytes + cached();
  }
  const Use use = device_.choices().memory == Choices::Memory::staged ? Use::device : Use::visible;
  const std::vector<uint32_t> types = types_for(~0u, use);
  if (types.empty()) return 0;
  const uint32_t heap = properties_.memoryTypes[types.front()].heapIndex;
  uint64_t all = properties_.memoryHeaps[heap].size, used = held_[heap];
  if (record.memory_budget) {
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    properties.pNext = &budget;
    vkGetPhysicalDeviceMemoryProperties2(device_.physical().handle, &properties);
    all = budget.heapBudget[heap];
    used = budget.heapUsage[heap];
  }
  {
    const std::lock_guard lock(kept_mutex_);
    for (const auto& [key, block] : kept_) used -= block->heap == heap ? std::min<uint64_t>(used, block->bytes) : 0;
  }
  return all > used ? all - used : 0;
}

}  // namespace neap::vk
