#include <cstdlib>
#include <system_error>

#include "core/os/os.h"

namespace neap::os {

namespace {

void* aligned(size_t bytes, size_t alignment) {
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
#ifdef _WIN32
  return _aligned_malloc(rounded, alignment);
#else
  return std::aligned_alloc(alignment, rounded);
#endif
}

}  // namespace

size_t page_bytes() { return 4096; }  // what most have; where pages are larger, nothing relies on it

Caches caches() { return {}; }

std::byte* map(size_t bytes, size_t alignment, size_t) { return static_cast<std::byte*>(aligned(bytes, alignment)); }
void unmap(std::byte* data, size_t) { release(data); }
void drop(std::byte*, size_t) {}
bool can_move() { return false; }
bool move_out(std::byte*, std::byte*, size_t) { return false; }
bool move_in(std::byte*, std::byte*, size_t) { return false; }

void* allocate(size_t bytes, size_t alignment) { return aligned(bytes, alignment); }

void release(void* data) {
#ifdef _WIN32
  _aligned_free(data);
#else
  std::free(data);
#endif
}

std::optional<size_t> available_memory() { return std::nullopt; }
size_t resident_bytes() { return 0; }
size_t peak_resident_bytes() { return 0; }
bool reset_peak_resident() { return false; }

void wake_on_time() {}

Stack stack() { return {}; }

int columns_of_errors() { return 0; }

long process() { return 0; }

bool load_unwinder() { return true; }

void make_private_folder(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::create_directory(path, error)) return;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
}

}  // namespace neap::os
