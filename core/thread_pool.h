// Parallel loops over oneTBB. Calls may nest. An exception that a body throws reaches the caller.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/function_ref.h"

namespace neap {

// The most threads that a user may ask for: it bounds what a mistaken NEAP_NUM_THREADS can start.
inline constexpr int kMostThreads = 1024;

// Returns the number of threads that a loop may use, the caller among them. At first it is NEAP_NUM_THREADS, else the
// hardware's. Throws OptionError where the variable is no number from 1 to kMostThreads.
int num_threads();
// Sets that number, clamped to [1, kMostThreads]. Loops that already run keep the threads that they began with.
void set_num_threads(int n);

// Calls body(begin, end) on disjoint ranges that cover [0, n). Ranges start at multiples of `grain` and have `grain`
// elements or more. It runs on the calling thread alone if fewer than 2 * grain elements are given or there is one
// thread. The split may depend on the number of threads, so a result that must not depend on it must not depend on the
// split.
void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body);

// Calls task(i) for each i in [0, n), each on whichever thread is free.
void parallel_tasks(int n, FunctionRef<void(int i)> task);

// Hands out [0, n) to tasks, each of which begins with a share of its own and goes on with what others left. So what
// lies side by side is mostly done by one thread, as parallel_for has it, and often in its core's cache where the next
// loop reads it.
class Shares {
 public:
  Shares(int64_t n, int count) : n_(n), count_(std::clamp(count, 1, kMost)) {
    for (int i = 0; i < count_; ++i) next_[i].place = begin(i);
  }

  // Calls visit(begin, end) with parts of so many elements, in ascending order within a share, until none is left.
  template <class Visit>
  void take(int own, int64_t part, const Visit& visit) {
    for (int i = 0; i < count_; ++i) {
      const int share = (own + i) % count_;
      const int64_t stop = begin(share + 1);
      for (int64_t at; (at = next_[share].place.fetch_add(part)) < stop;) visit(at, std::min(at + part, stop));
    }
  }

 private:
  static constexpr int kMost = 16;
  struct alignas(64) Next {  // a cache line each
    std::atomic<int64_t> place;
  };
  int64_t begin(int share) const { return n_ / count_ * share + std::min<int64_t>(share, n_ % count_); }

  const int64_t n_;
  const int count_;
  Next next_[kMost];
};

// Calls task(i, slot) for each i in [0, n), as many at once as there are slots at most; no two at once have one slot.
template <class Task>
void parallel_in_slots(int64_t n, int slots, const Task& task) {
  const int count = static_cast<int>(std::min<int64_t>(slots, n));
  Shares shares(n, count);
  parallel_tasks(count, [&](int slot) { shares.take(slot, 1, [&](int64_t i, int64_t) { task(i, slot); }); });
}

}  // namespace neap
