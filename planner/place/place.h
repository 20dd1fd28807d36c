// Placing gives each buffer of the arena an offset such that buffers alive together do not overlap, in as few bytes as
// can be found. Tested in tests/planner/place_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace neap::planner {

/// A block is needed in steps first..last, inclusive; where last < first it is never needed.
struct Block {
  int first = 0;
  int last = 0;
  size_t bytes = 0;

  auto operator<=>(const Block&) const = default;
};

struct Placement {
  std::vector<int64_t> offsets;  // of each block; multiples of 64 where all bytes are; 0 of one that takes none
  size_t extent = 0;             // the highest end
  size_t lower_bound = 0;        // no placement is lower: live_bytes_bound, or what searching proved
};

struct PlaceLimits {
  /// This bounds the work of searching, in units of about a nanosecond that are the same on every machine, as are the
  /// plans. Without it, there is the more work the further greedy placing misses the bound.
  std::optional<int64_t> work;
  /// This bounds all of placing by the clock; the result then depends on the machine.
  std::optional<double> seconds;
  /// This extent will do; 0 asks for the lowest.
  size_t enough = 0;
  /// This is shared with other placements, or null.
  class SharedPlacing* shared = nullptr;
};

/// Many placements share this, so that all of them together take a bounded time: each gets a part of the work that is
/// left, and blocks that were placed before lie as they did then.
class SharedPlacing {
 public:
  explicit SharedPlacing(int64_t work) : left_(work) {}
  int64_t left() const { return left_; }

  /// Finds how these blocks were placed for an extent of `goal`; null where they were not.
  const Placement* find(const std::vector<Block>& blocks, size_t goal) const;
  /// Returns the work that one placement may spend, `most` at most.
  int64_t lend(int64_t most) const { return std::min(most, left_ / kPart); }
  /// Stores a placement that spent so much.
  void store(std::vector<Block> blocks, size_t goal, const Placement& placement, int64_t spent);

 private:
  static constexpr int64_t kPart = 16;  // one placement gets at most a 16th of what is left, so that others have some

  int64_t left_;
  std::map<std::pair<std::vector<Block>, size_t>, Placement> known_;
};

/// Returns the largest sum of bytes needed at once, which no placement is below.
size_t live_bytes_bound(std::span<const Block> blocks);

/// Places greedily (place_fit.h). Where the result is above the bound and not enough, it puts blocks that leave no byte
/// free together like a puzzle (place_pieces.h), and searches (place_search.h) for a placement at the bound, then
/// between, until the best so far is proven the lowest or the limits are reached. It does not search where too many
/// blocks are alive together; there, and where the search leaves a gap, blocks take the place of others
/// (place_evict.h).
Placement place(std::span<const Block> blocks, const PlaceLimits& limits = {});

}  // namespace neap::planner
