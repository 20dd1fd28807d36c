// A complete search tells whether blocks fit within a capacity at all, and at which offsets. Tested in
// tests/planner/place_test.cpp.
//
// The search builds placements from below. Without loss, every block lies at 0 or on top of a block alive with it
// (canonical placements: Moffitt, "MiniMalloc", ASPLOS 2023). Time is cut into sections, the maximal sets of blocks
// alive together; each unplaced block has a lowest offset, each section a floor, the lowest offset of its blocks. Where
// the floor is lowest among neighbours, a block whose lowest offset is the floor lies either right there or higher;
// higher only above a block that is alive outside its sections too, else it could change places with all below it. A
// section from which the blocks cannot be stacked within the capacity any more, each from its lowest offset, ends a
// branch. Sections that no unplaced block joins are searched apart: what fails in one is not tried again for each
// placement of another. The section to branch on is the one with the fewest choices for the failures it has seen;
// searches start anew after a while, remember those failures, and try blocks in another order.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "planner/place/place.h"

namespace neap::planner {

/// Counts what searches may spend: units of work, about a nanosecond each and the same on every machine, and time if
/// there is a deadline.
class Meter {
 public:
  using Clock = std::chrono::steady_clock;
  Meter(int64_t work, std::optional<Clock::time_point> deadline) : left_(work), deadline_(deadline) {}
  void spend(int64_t work) { left_ -= work; }
  bool spent();
  int64_t left() const { return left_; }

 private:
  static constexpr int64_t kLookEvery = 1'000'000;             // units between looks at the clock
  int64_t left_, look_ = std::numeric_limits<int64_t>::max();  // look at the clock below
  std::optional<Clock::time_point> deadline_;
  bool late_ = false;
};

class PlaceSearch {
 public:
  /// Takes blocks of which each needs bytes at some step.
  explicit PlaceSearch(std::span<const Block> blocks);
  ~PlaceSearch();

  enum class Answer : uint8_t { found, impossible, gave_up };
  /// Looks for offsets within `capacity` until `work` or the meter is exhausted. What earlier calls learnt helps.
  Answer fit(size_t capacity, int64_t work, Meter& meter);
  /// Returns what the last successful call found.
  const Placement& placement() const;

  /// Tells whether so much work is worth starting: whether few enough pairs of blocks are alive together.
  static bool is_worth(std::span<const Block> blocks, int64_t work);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace neap::planner
