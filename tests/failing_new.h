// Allocations that fail on purpose. Defines the global operator new, so exactly one source of a test program includes
// it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include "core/sanitize.h"

namespace neap {

// The thread sanitizer has an operator new of its own, of which there is one: tests of failures skip.
#ifdef NEAP_TSAN
inline constexpr bool kNewCanFail = false;
#else
inline constexpr bool kNewCanFail = true;
#endif

// Of this thread: the n-th of the next calls of operator new fails, from 1, or it and all after it. 0: none.
struct FailingNew {
  size_t at = 0;
  bool all_after = false;
  size_t calls = 0;
  bool struck = false;
};
inline thread_local FailingNew failing_new;

// Calls f with its first allocation failing, then its second and so on, until none fails; `after` follows each time,
// with allocations that succeed. Once with one failure each, once with all later ones failing too, in destructors as
// well. The number of calls that failed.
template <class F, class After>
size_t fail_each_allocation(F&& f, After&& after) {
  size_t failed = 0;
  for (const bool all_after : {false, true}) {
    for (size_t n = 1; n < 100'000; ++n) {
      failing_new = {n, all_after, 0, false};
      bool thrown = false;
      try {
        f();
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      const bool struck = failing_new.struck;
      failing_new = {};
      after();
      failed += thrown;
      if (!struck) break;
    }
  }
  return failed;
}

}  // namespace neap

#ifndef NEAP_TSAN
void* operator new(std::size_t bytes) {
  neap::FailingNew& failing = neap::failing_new;
  if (failing.at != 0 && (++failing.calls == failing.at || (failing.all_after && failing.calls > failing.at))) {
    failing.struck = true;
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
// A sanitizer's own would not do: what it gives is not for std::free.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
