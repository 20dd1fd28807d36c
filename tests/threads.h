// The number of threads, set for a block.
#pragma once

#include "core/thread_pool.h"

namespace neap {

/// As many threads as given, until the end of the block.
class Threads {
 public:
  explicit Threads(int n) : before_(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace neap
