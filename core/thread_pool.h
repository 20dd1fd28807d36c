// Parallel loops over oneTBB. Calls may nest. An exception that a body throws reaches the caller.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/function_ref.h"
#include "core/shares.h"

namespace neap {

// The most threads that a user may ask for: it bounds what a mistaken NEAP_NUM_THREADS can start.
inline constexpr int kMostThreads = 1024;

// Returns the number of threads that a loop may use, the caller among them. At first it is NEAP_NUM_THREADS, else the
// hardware's. Throws OptionError where the variable is no number from 1 to kMostThreads.
int num_threads();
// Sets that number, clamped to [1, kMostThreads]. Loops that already run keep the threads that they began with.
void set_num_threads(int n);

// Calls body(begin, end) on disjoint ranges that cover [0, n). Ranges start at multiples of `grain` and have `grain`
// elements or more. It runs on the calling thread alone if fewer than 2 * grain elements are given, there is one
// thread, or, of brief loops, in which so many take a few microseconds, the others sleep and would wake up too late.
// The split may depend on the number of threads, so a result that must not depend on it must not depend on the split.
void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body, bool brief = false);

// Calls task(i) for each i in [0, n), each on whichever thread is free.
void parallel_tasks(int n, FunctionRef<void(int i)> task);

// Calls task(i, slot) for each i in [0, n), as many at once as there are slots at most; no two at once have one slot.
template <class Task>
void parallel_in_slots(int64_t n, int slots, const Task& task) {
  const int count = static_cast<int>(std::min<int64_t>(slots, n));
  Shares shares(n, count);
  parallel_tasks(count, [&](int slot) { shares.take(slot, 1, [&](int64_t i, int64_t) { task(i, slot); }); });
}

}  // namespace neap
