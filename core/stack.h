// How much of a thread's stack is left; endless recursion uses it up.
#pragma once

#include <cstddef>

namespace neap::detail {

// Returns whether this thread's stack is so nearly used up that a further call should be refused: the last eighth, of
// at most 1 MiB, is kept for what an operation needs itself (a compiler, for one). Returns false where the stack is not
// known to be this thread's own, as on that of a coroutine.
bool stack_nearly_full();

}  // namespace neap::detail
