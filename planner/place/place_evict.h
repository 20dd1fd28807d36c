// Blocks that end too high take the place of others, which look for a place of their own then, and so on: what is in
// the way most often costs most to move. A block is looked at with those alive with it alone, so that this goes on
// where a complete search (place_search.h) has too many blocks alive together. Tested in tests/planner/place_test.cpp.
#pragma once

#include <random>
#include <span>
#include <vector>

#include "planner/place/place.h"
#include "planner/place/place_overlaps.h"
#include "planner/place/place_search.h"

namespace neap::planner {

class Eviction {
 public:
  /// What moving a block costs: bytes and steps alive, each to a power.
  struct Weight {
    double of_bytes, of_steps;
  };
  static constexpr Weight kUsual{1, 0.75}, kOfPuzzles{0.5, 0.5};

  Eviction(const Overlaps& blocks, const Placement& placement, Weight weight);

  /// Places the blocks anew, the largest first, each at an offset that is free; where the meter has too little
  /// work left for that, or the extent is no lower, the offsets are as before.
  void place_largest_first(Meter& meter);
  /// Looks for offsets within `capacity` until so much work is spent or the meter is exhausted; where it fails, the
  /// offsets are as before.
  bool fit(size_t capacity, int64_t work, Meter& meter);
  const Placement& placement() const { return best_; }

 private:
  struct Spot {
    int64_t offset;
    double cost;
  };
  struct Event {
    int64_t offset;
    double change;
  };
  void sort_events(int64_t capacity);
  Spot cheapest_spot(int block, int64_t capacity);
  double cost(int block) const;
  void keep();
  void go_back();
  int take_waiting();

  const Overlaps& blocks_;
  Placement best_;                         // of the blocks as they were taken; the rest is in the order of Overlaps
  std::vector<int64_t> offsets_;           // kNowhere of a block that waits
  std::vector<double> weights_, evicted_;  // of each block: how hard it is to place, how often it lost its place
  std::vector<int> waiting_, neighbours_;
  std::vector<Event> events_, unsorted_;
  std::vector<int> ends_;  // of ranges of offsets, among the events
  std::minstd_rand random_{1};
  int64_t work_ = 0;  // since the meter was told
};

}  // namespace neap::planner
