// Which dispatches need a barrier between them: those that touch the same bytes, one of them writing.
#pragma once

#include <vector>

#include "planner/plan/plan.h"

namespace neap::vk {

class Hazards {
 public:
  explicit Hazards(const planner::PlanData& plan) : plan_(plan) {}

  /// Returns whether a dispatch that reads and writes these buffers must wait for those since the last barrier. If not,
  /// it is counted among them.
  bool needs_barrier(const std::vector<int>& reads, const std::vector<int>& writes);
  /// Forgets them all, after a barrier.
  void clear() { reads_.clear(), writes_.clear(); }

 private:
  /// Range is bytes of one memory: the arena (-1), or a buffer's own.
  struct Range {
    int memory;
    int64_t begin, end;
    bool overlaps(const Range& o) const { return memory == o.memory && begin < o.end && o.begin < end; }
  };
  Range range(int buffer) const;

  const planner::PlanData& plan_;
  std::vector<Range> reads_, writes_;
};

}  // namespace neap::vk
