// Where each buffer of the arena lies: offsets such that buffers alive together do not overlap, in as few bytes as can
// be found. Tested in tests/planner/place_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace neap::planner {

/// Needed in steps first..last, inclusive; never where last < first.
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
  /// Of searching, in units of about a nanosecond that are the same on every machine: so are the plans.
  /// None: the more, the further greedy placing misses the bound.
  std::optional<int64_t> work;
  /// Of everything, by the clock; then the result depends on the machine.
  std::optional<double> seconds;
  /// An extent that will do. 0: the lowest.
  size_t enough = 0;
  /// With others that are placed, or null.
  class SharedPlacing* shared = nullptr;
};

/// What many placements share, so that all of them together take a bounded time: each gets a part of the work that is
/// left, and blocks that were placed before lie as they did then.
class SharedPlacing {
 public:
  explicit SharedPlacing(int64_t work) : left_(work) {}
  int64_t left() const { return left_; }

  /// How these were placed where so much would do; null: they were not.
  const Placement* find(const std::vector<Block>& blocks, size_t goal) const;
  /// What one placement may spend, `most` at most.
  int64_t lend(int64_t most) const { return std::min(most, left_ / kPart); }
  /// It spent so much.
  void store(std::vector<Block> blocks, size_t goal, const Placement& placement, int64_t spent);

 private:
  static constexpr int64_t kPart = 16;  // of what is left, at most, for one

  int64_t left_;
  std::map<std::pair<std::vector<Block>, size_t>, Placement> known_;
};

/// Largest sum of bytes needed at once: no placement is smaller.
size_t live_bytes_bound(std::span<const Block> blocks);

/// Places greedily (place_fit.h). Where that is above the bound and not enough, searches (place_search.h) for a
/// placement at the bound, then between, until it is proven the lowest or the limits are reached: the best so far.
/// Only greedily where too many blocks are alive together to search.
Placement place(std::span<const Block> blocks, const PlaceLimits& limits = {});

}  // namespace neap::planner
