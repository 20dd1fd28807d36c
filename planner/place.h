// Where each buffer of the arena lies: offsets such that buffers alive together do not overlap, in as few bytes as can
// be found. Tested in tests/planner/place_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace neap::planner {

/// Needed in steps first..last, inclusive; never where last < first.
struct Block {
  int first = 0;
  int last = 0;
  size_t bytes = 0;
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
};

/// Largest sum of bytes needed at once: no placement is smaller.
size_t live_bytes_bound(std::span<const Block> blocks);

/// Places greedily (place_fit.h). Where that is above the bound and not enough, searches (place_search.h) for a
/// placement at the bound, then between, until it is proven the lowest or the limits are reached: the best so far.
/// Only greedily where too many blocks are alive together to search.
Placement place(std::span<const Block> blocks, const PlaceLimits& limits = {});

}  // namespace neap::planner
