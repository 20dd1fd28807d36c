#include "backends/cpu/llvm_memory.h"

#include <fmt/format.h>
#include <llvm/Support/ErrorHandling.h>
#include <neap/bytes.h>
#include <neap/error.h>

#include <atomic>
#include <cstdlib>

#include "core/os/os.h"

namespace neap::cpu {
namespace {

std::mutex one_at_a_time;
// Whoever takes the address gives the mapping back.
std::atomic<void*> reserve = nullptr;
std::atomic<size_t> reserve_bytes = 0;
std::atomic<std::new_handler> outer_handler = nullptr;
thread_local bool at_work = false;

bool give_back_reserve() {
  void* data = reserve.exchange(nullptr);
  if (!data) return false;
  os::unmap(static_cast<std::byte*>(data), reserve_bytes);
  return true;
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

LlvmMemory::LlvmMemory(size_t bytes) : lock_(one_at_a_time) {
  std::byte* const data = os::map(bytes, os::page_bytes());
  std::byte* const more = data ? os::map(bytes, os::page_bytes()) : nullptr;
  if (!more) {
    if (data) os::unmap(data, bytes);
    throw OutOfMemoryError(
        fmt::format("out of memory: compiling needs {}; the system refuses the mapping", format_bytes(2 * bytes)));
  }
  os::unmap(more, bytes);
  reserve_bytes = bytes;
  reserve = data;
  outer_ = std::get_new_handler();
  outer_handler = outer_;
  std::set_new_handler(on_failing_new);
  llvm::install_bad_alloc_error_handler(on_failing_malloc);
  at_work = true;
}

LlvmMemory::~LlvmMemory() {
  at_work = false;
  llvm::remove_bad_alloc_error_handler();
  if (std::get_new_handler() == on_failing_new) std::set_new_handler(outer_);
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
