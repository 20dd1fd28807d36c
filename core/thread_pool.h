// Parallel loops over oneTBB. Nested calls are fine. An exception of a body reaches the caller.
#pragma once

#include <cstdint>

#include "core/function_ref.h"

namespace neap {

inline constexpr int kMostThreads = 1024;

// The number of threads that a loop may use, the caller among them. At first: NEAP_NUM_THREADS, else the hardware's.
// OptionError where the variable is no number from 1 to kMostThreads.
int num_threads();
// n < 1 is taken as 1, more than kMostThreads as that. Loops that run keep the threads that they began with.
void set_num_threads(int n);

// Calls body(begin, end) on disjoint ranges that cover [0, n). Ranges start at multiples of `grain` and have `grain`
// elements or more. Runs on the calling thread alone if n <= grain or there is one thread;
// the split may depend on the number of threads, so a result that must not depend on it must not depend on the split.
void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body);

// Calls task(i) for each i in [0, n), each on whichever thread is free.
void parallel_tasks(int n, FunctionRef<void(int i)> task);

}  // namespace neap
