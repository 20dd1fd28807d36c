#include "backends/vulkan/residence.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <unordered_map>

#include "core/check.h"
#include "core/heap.h"

namespace neap::vk {

std::byte* VulkanResidence::arrive(const Buffer& buffer) {
  device_->wait(ticket_);
  if (memory_->mapped()) return memory_->mapped();
  if (!mirror_) mirror_ = neap::allocate(buffer.requested(), "copy of a device's array");
  device_->download(*memory_, 0, mirror_->data(), buffer.requested());
  return mirror_->data();
}

void VulkanResidence::fill(const std::byte* from, size_t bytes) const {
  if (memory_->mapped()) {
    std::memcpy(memory_->mapped(), from, bytes);
  } else {
    device_->upload(from, *memory_, 0, bytes);
  }
}

/// Memory of the device that counts in its store.
struct Store::Counted final : Memory {
  Counted(Store& store, MemoryPtr memory, size_t bytes) : store_(store), memory_(std::move(memory)) {
    address_ = memory_->address();
    mapped_ = memory_->mapped();
    bytes_ = bytes;
    store_.count(bytes_);
  }
  ~Counted() override { store_.discount(bytes_); }
  const Memory& given() const override { return memory_->given(); }

  Store& store_;
  MemoryPtr memory_;
};

namespace {

// Stores are few and live as long as the process: buffers may outlive everything else.
struct Stores {
  std::mutex mutex;
  std::map<const Device*, Store*> open;
  std::vector<Store*> lost;
};

Stores& stores() {
  static auto& stores = *new Stores;
  return stores;
}

}  // namespace

Store& Store::of(const std::shared_ptr<Device>& device) {
  Stores& all = stores();
  const std::lock_guard lock(all.mutex);
  Store*& store = all.open[device.get()];
  if (store) return *store;
  try {
    store = new Store(device);
  } catch (...) {
    all.open.erase(device.get());  // others walk over them
    throw;
  }
  std::erase_if(all.open, [&](const auto& entry) {
    Store& other = *entry.second;
    if (&other == store || other.device_->index() != device->index()) return false;
    other.retire();  // its device was lost, and has been opened anew
    all.lost.push_back(&other);
    return true;
  });
  return *store;
}

void Store::drain_all() {
  std::vector<Store*> open;
  {
    const std::lock_guard lock(stores().mutex);
    for (const auto& [device, store] : stores().open) open.push_back(store);
  }
  for (Store* store : open) {
    try {
      store->drain();
    } catch (const DeviceError&) {  // it is lost, and with it what ran there
      const std::lock_guard lock(stores().mutex);
      if (stores().open.erase(store->device_.get()) > 0) stores().lost.push_back(store);
      store->retire();
      throw;
    }
  }
}

void Store::retire() {
  if (device_->hangs()) return;
  device_->release_cached();
  std::vector<Kept> all;
  const std::lock_guard lock(mutex_);
  all.swap(kept_);
}

void Store::count(size_t bytes) {
  const std::lock_guard lock(mutex_);
  live_ += bytes;
  peak_ = std::max(peak_, live_);
}

void Store::discount(size_t bytes) {
  const std::lock_guard lock(mutex_);
  live_ -= bytes;
}

size_t Store::live_bytes() const {
  const std::lock_guard lock(mutex_);
  return live_;
}

size_t Store::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

void Store::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = live_;
}

BufferPtr Store::allocate(size_t bytes, std::string_view what) {
  if (in_place()) {
    BufferPtr buffer = neap::allocate(bytes, what);
    return bring(buffer, what);
  }
  const size_t rounded = round_up_64(bytes);
  detail::Heap::instance().pass(rounded, what);
  MemoryPtr memory =
      device_->allocate(std::max<size_t>(rounded, 64), device_->choices().memory == Choices::Memory::mapped, what);
  auto counted = std::make_shared<Counted>(*this, std::move(memory), rounded);
  return remote(bytes, std::make_shared<VulkanResidence>(device_, std::move(counted)));
}

namespace {

const VulkanResidence* residence_on(const Buffer& buffer, const Device& device) {
  const auto* residence = dynamic_cast<const VulkanResidence*>(buffer.residence().get());
  return residence && &residence->device() == &device ? residence : nullptr;
}

}  // namespace

BufferPtr Store::bring(const BufferPtr& buffer, std::string_view what) {
  {
    // One lock for all devices: a buffer has one residence, whichever device comes first.
    static std::mutex attaching;
    const std::lock_guard lock(attaching);
    if (residence_on(*buffer, *device_)) return buffer;
    if (in_place() && !buffer->residence()) {
      MemoryPtr memory = device_->import(buffer->block(), std::max<size_t>(buffer->requested(), 1));
      buffer->set_residence(std::make_shared<VulkanResidence>(device_, std::move(memory)));
      return buffer;
    }
  }
  const std::byte* from = buffer->data();  // of another device: by way of the host
  if (in_place()) return bring(wrap(const_cast<std::byte*>(from), buffer->requested(), buffer), what);
  BufferPtr copy = allocate(buffer->requested(), what);
  const auto& residence = static_cast<const VulkanResidence&>(*copy->residence());
  if (buffer->requested() > 0) residence.fill(from, buffer->requested());
  return copy;
}

const MemoryPtr& Store::memory(const Buffer& buffer) const {
  const VulkanResidence* residence = residence_on(buffer, *device_);
  NEAP_CHECK(residence, "a buffer that was not brought to {}", device_->record().name);
  return residence->memory();
}

void Store::written(Buffer& buffer, Ticket ticket) {
  static_cast<VulkanResidence&>(*buffer.residence()).written_by(ticket);
  buffer.await_residence();
}

void Store::keep(Ticket ticket, std::vector<BufferPtr> buffers, BufferPtr arena) {
  const std::lock_guard lock(mutex_);
  kept_.push_back({ticket, std::move(buffers), std::move(arena)});
}

void Store::abandon(std::vector<BufferPtr> buffers) noexcept {
  try {
    device_->drain();
  } catch (const std::exception&) {
    if (device_->hangs()) keep(std::numeric_limits<Ticket>::max(), std::move(buffers), nullptr);
  }
}

BufferPtr Store::make_room(size_t arena) {
  for (;;) {
    std::vector<Kept> finished;  // dropped without the lock: what dies here is counted under it
    Ticket wait_for = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto over = std::ranges::partition(kept_, [&](const Kept& k) { return !device_->reached(k.ticket); });
      finished.assign(std::move_iterator(over.begin()), std::move_iterator(over.end()));
      kept_.erase(over.begin(), over.end());
      std::unordered_map<const Buffer*, long> holds;  // a buffer may be kept for several submissions
      for (const Kept& kept : kept_) {
        for (const BufferPtr& buffer : kept.buffers) ++holds[buffer.get()];
      }
      BufferPtr* fits = nullptr;
      for (Kept& kept : kept_) {
        for (const BufferPtr& buffer : kept.buffers) {
          if (buffer.use_count() == holds[buffer.get()]) wait_for = std::max(wait_for, kept.ticket);
        }
        if (!kept.arena) continue;
        if (!fits && arena > 0 && kept.arena->requested() == arena) {
          fits = &kept.arena;
        } else {
          wait_for = std::max(wait_for, kept.ticket);
        }
      }
      if (wait_for == 0) return fits ? std::move(*fits) : nullptr;
    }
    finished.clear();
    device_->wait(wait_for);
  }
}

void Store::drain() {
  device_->drain();
  std::vector<Kept> finished;
  const std::lock_guard lock(mutex_);
  // Other threads may have submitted more since.
  const auto over = std::ranges::partition(kept_, [&](const Kept& k) { return !device_->reached(k.ticket); });
  finished.assign(std::move_iterator(over.begin()), std::move_iterator(over.end()));
  kept_.erase(over.begin(), over.end());
}

}  // namespace neap::vk
