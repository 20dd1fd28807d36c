// Where one allocation holds only so many bytes, the arena is several, and blocks are placed in them.
#pragma once

#include <span>
#include <vector>

#include "planner/place/place.h"

namespace neap::planner {

struct SplitPlacement {
  std::vector<int64_t> offsets;  // of each block, in all allocations one after the other
  std::vector<size_t> extents;   // of each allocation
};

/// Places each block in one allocation, the largest first and each in the first allocation that has room; place() then
/// lowers the allocations. None is larger than `limit`, but that of a block that itself is. Tested in
/// tests/planner/place_split_test.cpp.
SplitPlacement place_split(std::span<const Block> blocks, size_t limit);

}  // namespace neap::planner
