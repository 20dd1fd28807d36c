// Tells the sanitizers what they cannot see for themselves: memory that we hand out in pieces, and work that oneTBB,
// which is not instrumented, hands from thread to thread. In other builds these functions do nothing.
#pragma once

#include <cstddef>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if __has_feature(address_sanitizer) || defined(__SANITIZE_ADDRESS__)
#define NEAP_ASAN 1
#include <sanitizer/asan_interface.h>
#endif
#if __has_feature(thread_sanitizer) || defined(__SANITIZE_THREAD__)
#define NEAP_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif
#if __has_feature(undefined_behavior_sanitizer)
#define NEAP_UBSAN 1
#endif

namespace neap::sanitize {

#ifdef NEAP_ASAN
inline constexpr bool kAddress = true;
#else
inline constexpr bool kAddress = false;
#endif

// Makes it an error to touch the range from now on. The memory must come from allocate().
inline void forbid([[maybe_unused]] const void* data, [[maybe_unused]] size_t bytes) {
#ifdef NEAP_ASAN
  __asan_poison_memory_region(data, bytes);
#endif
}

// Allows the range to be touched again.
inline void permit([[maybe_unused]] const void* data, [[maybe_unused]] size_t bytes) {
#ifdef NEAP_ASAN
  __asan_unpoison_memory_region(data, bytes);
#endif
}

// What this thread does before release(p) happens before what another thread does after acquire(p).
inline void release([[maybe_unused]] const void* where) {
#ifdef NEAP_TSAN
  __tsan_release(const_cast<void*>(where));
#endif
}

inline void acquire([[maybe_unused]] const void* where) {
#ifdef NEAP_TSAN
  __tsan_acquire(const_cast<void*>(where));
#endif
}

}  // namespace neap::sanitize
