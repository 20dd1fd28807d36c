#include "core/stack.h"

#include <pthread.h>

#include <algorithm>
#include <cstdint>

namespace neap::detail {

namespace {

struct Stack {
  uintptr_t low = 0, reserve_end = 0;  // it grows down; both are 0 where nothing is known
};

Stack stack_of_this_thread() {
  Stack stack;
#ifdef __linux__
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    const auto begin = reinterpret_cast<uintptr_t>(low);
    stack = {begin, begin + std::min<size_t>(size / 8, size_t{1} << 20)};
  }
  pthread_attr_destroy(&attributes);
#endif
  return stack;
}

}  // namespace

bool stack_nearly_full() {
  thread_local const Stack stack = stack_of_this_thread();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here >= stack.low && here < stack.reserve_end;
}

}  // namespace neap::detail
