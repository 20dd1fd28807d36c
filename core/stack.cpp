#include "core/stack.h"

#include <algorithm>
#include <cstdint>

#include "core/os/os.h"

namespace neap::detail {

bool stack_nearly_full() {
  thread_local const os::Stack stack = os::stack();
  const size_t reserve = std::min<size_t>(stack.size / 8, size_t{1} << 20);
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here >= stack.low && here - stack.low < reserve;
}

}  // namespace neap::detail
