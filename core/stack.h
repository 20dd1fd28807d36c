// How much of a thread's stack is left: what recursion without end runs into.
#pragma once

#include <cstddef>

namespace neap::detail {

// Whether so much of this thread's stack is used that what calls the caller should be refused: the last eighth, of at
// most 1 MiB, is kept for what an operation needs itself (a compiler, for one). False where the stack is not known to
// be this thread's own, as on that of a coroutine.
bool stack_nearly_full();

}  // namespace neap::detail
