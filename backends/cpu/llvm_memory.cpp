#include "backends/cpu/llvm_memory.h"

#include <fmt/format.h>
#include <llvm/Support/ErrorHandling.h>
#include <neap/bytes.h>
#include <neap/error.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/os/os.h"

namespace neap::cpu {
namespace {

// A mapping that begins with its size.
std::byte* map_reserve(size_t bytes) {
  std::byte* const data = os::map(bytes, os::page_bytes());
  if (data) std::memcpy(data, &bytes, sizeof bytes);
  return data;
}

size_t size_of_reserve(const std::byte* data) {
  size_t bytes = 0;
  std::memcpy(&bytes, data, sizeof bytes);
  return bytes;
}

void unmap_reserve(std::byte* data) { os::unmap(data, size_of_reserve(data)); }

std::mutex mutex;  // of these
size_t users = 0;

// Whoever takes the address gives the mapping back.
std::atomic<std::byte*> reserve = nullptr;
std::atomic<std::new_handler> outer_handler = nullptr;
thread_local bool at_work = false;

bool give_back_reserve() {
  std::byte* const data = reserve.exchange(nullptr);
  if (data) unmap_reserve(data);
  return data != nullptr;
}

void on_failing_new() {
  if (at_work && give_back_reserve()) return;
  const std::new_handler outer = outer_handler;
  if (!outer) throw std::bad_alloc();
  outer();
}

void on_failing_malloc(void*, const char*, bool) {
  if (at_work) throw std::bad_alloc();
  std::abort();  // what LLVM does for others that use it
}

}  // namespace

LlvmMemory::LlvmMemory(size_t bytes) {
  const std::lock_guard lock(mutex);
  std::byte* const other = reserve.exchange(nullptr);  // another thread's
  const bool suffices = other && size_of_reserve(other) >= bytes;
  std::byte* const data = suffices ? other : map_reserve(bytes);
  std::byte* const more = data ? os::map(bytes, os::page_bytes()) : nullptr;
  if (!more) {
    if (data && data != other) unmap_reserve(data);
    reserve = other;
    throw OutOfMemoryError(
        fmt::format("out of memory: compiling needs {}; the system refuses the mapping", format_bytes(2 * bytes)));
  }
  os::unmap(more, bytes);
  if (other && other != data) unmap_reserve(other);
  reserve = data;
  if (users++ == 0) {
    outer_handler = std::get_new_handler();
    std::set_new_handler(on_failing_new);
    llvm::install_bad_alloc_error_handler(on_failing_malloc);
  }
  at_work = true;
}

LlvmMemory::~LlvmMemory() {
  at_work = false;
  const std::lock_guard lock(mutex);
  if (--users > 0) return;
  llvm::remove_bad_alloc_error_handler();
  if (std::get_new_handler() == on_failing_new) std::set_new_handler(outer_handler);
  give_back_reserve();
}

bool LlvmMemory::inside() { return at_work; }

LlvmThread::LlvmThread() : outer_(std::exchange(at_work, true)) {}
LlvmThread::~LlvmThread() { at_work = outer_; }

void keep_for_ever(Kept* object) noexcept {
  static std::atomic<Kept*> all = nullptr;  // which makes them no leaks
  object->next_ = all.load();
  while (!all.compare_exchange_weak(object->next_, object)) {}
}

}  // namespace neap::cpu
