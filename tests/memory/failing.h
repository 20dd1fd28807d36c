// Allocations that fail on demand: this header replaces malloc and its like, and mmap, for the program that includes it
// (once), the libraries it uses among them. operator new comes to malloc.
#pragma once

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/sanitize.h"

namespace neap::failing {

// Those of all threads. The allocations first, ..., first + many - 1 from arm() on fail; first = 0: none, only counted.
inline std::atomic<bool> armed = false;
inline std::atomic<size_t> seen = 0, first = 0, many = 0;

inline void arm(size_t n, size_t count) {
  seen = 0;
  first = n;
  many = count;
  armed = true;
}

inline void disarm() { armed = false; }

inline bool fails() {
  if (!armed.load(std::memory_order_relaxed)) return false;
  const size_t number = seen.fetch_add(1, std::memory_order_relaxed) + 1;
  const size_t from = first.load(std::memory_order_relaxed);
  const bool failing = from > 0 && number >= from && number - from < many.load(std::memory_order_relaxed);
  if (failing) errno = ENOMEM;
  return failing;
}

// Sanitizers have a malloc of their own.
#if defined(NEAP_ASAN) || defined(NEAP_TSAN)
inline constexpr bool kCanFail = false;
#else
inline constexpr bool kCanFail = true;
#endif

}  // namespace neap::failing

#if !defined(NEAP_ASAN) && !defined(NEAP_TSAN)
#pragma GCC visibility push(default)  // shared libraries must find them
extern "C" {
void* __libc_malloc(size_t);            // NOLINT: glibc's names
void* __libc_calloc(size_t, size_t);    // NOLINT
void* __libc_realloc(void*, size_t);    // NOLINT
void* __libc_memalign(size_t, size_t);  // NOLINT

void* malloc(size_t bytes) { return neap::failing::fails() ? nullptr : __libc_malloc(bytes); }
void* calloc(size_t n, size_t bytes) { return neap::failing::fails() ? nullptr : __libc_calloc(n, bytes); }
void* realloc(void* old, size_t bytes) { return neap::failing::fails() ? nullptr : __libc_realloc(old, bytes); }
void* memalign(size_t to, size_t bytes) { return neap::failing::fails() ? nullptr : __libc_memalign(to, bytes); }
void* aligned_alloc(size_t to, size_t bytes) { return neap::failing::fails() ? nullptr : __libc_memalign(to, bytes); }
int posix_memalign(void** result, size_t to, size_t bytes) {
  if (neap::failing::fails()) return ENOMEM;
  *result = __libc_memalign(to, bytes);
  return *result ? 0 : ENOMEM;
}
void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  if (neap::failing::fails()) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
}
#pragma GCC visibility pop
#endif
