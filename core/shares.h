// How the parts of a parallel loop are handed out.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace neap {

// Hands out [0, n) to tasks, each of which begins with a share of its own and goes on with what others left. So what
// lies side by side is mostly done by one thread, as parallel_for has it, and often in its core's cache where the next
// loop reads it.
class Shares {
 public:
  static constexpr int kMost = 16;

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
  struct alignas(64) Next {  // a cache line each
    std::atomic<int64_t> place;
  };
  int64_t begin(int share) const { return n_ / count_ * share + std::min<int64_t>(share, n_ % count_); }

  const int64_t n_;
  const int count_;
  Next next_[kMost];
};

}  // namespace neap
