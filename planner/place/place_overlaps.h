// Which blocks are alive with a block. Blocks are in the order of their first steps here: those that start while it is
// alive lie side by side; of those that started before, the ones still alive are listed for some places of the order.
// Tested in tests/planner/place_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/place/place.h"

namespace neap::planner {

class Overlaps {
 public:
  /// Takes blocks of which each needs bytes at some step.
  explicit Overlaps(std::span<const Block> blocks);

  int size() const { return static_cast<int>(blocks_.size()); }
  const Block& operator[](int i) const { return blocks_[i]; }
  /// Where the i-th block is among those that were taken.
  int original(int i) const { return order_[i]; }
  /// How many pairs of blocks are alive together.
  int64_t pairs() const { return pairs_; }

  /// Calls visit(other) for each other block alive with the i-th; returns how many were looked at.
  template <class Visit>
  int64_t visit(int i, Visit visit) const {
    const Block& own = blocks_[i];
    const int list = i / spacing_;
    const auto look = [&](int other) {
      if (blocks_[other].last >= own.first && other != i) visit(other);
    };
    for (int k = begins_[list]; k < begins_[list + 1]; ++k) look(alive_[k]);
    for (int other = list * spacing_; other < ends_[i]; ++other) look(other);
    return begins_[list + 1] - begins_[list] + ends_[i] - list * spacing_;
  }

 private:
  std::vector<Block> blocks_;
  std::vector<int> order_;
  int64_t pairs_ = 0;
  std::vector<int> ends_;            // of each block: the first that starts after its last step
  int spacing_ = 1;                  // a list for each so many blocks:
  std::vector<int> alive_, begins_;  // the blocks before it that are alive when it starts
};

}  // namespace neap::planner
