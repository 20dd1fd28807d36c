// Blocks that end too high take the place of others, which look for a place of their own then, and so on: what is in
// the way most often costs most to move. A block is looked at with those alive with it alone, so that this goes on
// where a complete search (place_search.h) has too many blocks alive together. Tested in tests/planner/place_test.cpp.
#pragma once

#include <random>
#include <span>
#include <vector>

#include "planner/place/place.h"
#include "planner/place/place_search.h"

namespace neap::planner {

class Eviction {
 public:
  /// Takes blocks of which each needs bytes at some step, and a placement of theirs.
  Eviction(std::span<const Block> blocks, const Placement& placement);

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
  void put(int block, int64_t offset);
  void remove(int block);
  void find_neighbours(int block);
  void sort_events(int64_t capacity);
  Spot cheapest_spot(int block, int64_t capacity);
  double cost(int block) const;
  int take_waiting();

  std::span<const Block> blocks_;
  Placement best_;
  std::vector<int64_t> offsets_;           // kNowhere of a block that waits
  std::vector<double> weights_, evicted_;  // of each block: how hard it is to place, how often it lost its place
  std::vector<std::vector<int>> buckets_;  // of some steps each: blocks alive there that have a place
  std::vector<int> waiting_, neighbours_, seen_;
  std::vector<Event> events_, unsorted_;
  std::vector<int> ends_;  // of ranges of offsets, among the events
  std::minstd_rand random_{1};
  int looks_ = 0;
  int64_t work_ = 0;  // since the meter was told
};

}  // namespace neap::planner
