// Where each buffer of the arena lies: offsets such that buffers alive together do not overlap, in as few bytes as the
// heuristics find. Tested in tests/planner/place_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace neap::planner {

/// Needed in steps first..last, inclusive; never where last < first. Bytes are multiples of 64.
struct Block {
  int first = 0;
  int last = 0;
  size_t bytes = 0;
};

struct Placement {
  std::vector<int64_t> offsets;  // of each block
  size_t extent = 0;             // the highest end
};

/// Largest sum of bytes needed at once: no placement is smaller.
size_t live_bytes_bound(std::span<const Block> blocks);

/// Tries several orders, best fit and first fit, improves the best of them, and gives the lowest; ends early at the
/// bound. Thousands of blocks are placed in sweeps through the steps first, and more than 20,000 so alone: nearly
/// linear.
Placement place(std::span<const Block> blocks);

}  // namespace neap::planner
