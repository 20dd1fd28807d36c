// All tasks on the thread that calls, in place of core/thread_pool.cpp; and the end of a program whose saved function
// was damaged. Weak: a program that has Neap too keeps Neap's own.
#include <cstdlib>
#include <source_location>

#include "core/thread_pool.h"

namespace neap {

namespace detail {
[[noreturn, gnu::weak]] void check_failed(const char* condition, std::source_location loc);
void check_failed(const char*, std::source_location) { std::abort(); }
}  // namespace detail

[[gnu::weak]] int num_threads() { return 1; }

[[gnu::weak]] void parallel_for(int64_t n, int64_t, FunctionRef<void(int64_t begin, int64_t end)> body, bool) {
  if (n > 0) body(0, n);
}

[[gnu::weak]] void parallel_tasks(int n, FunctionRef<void(int i)> task) {
  for (int i = 0; i < n; ++i) task(i);
}

}  // namespace neap
