// Placing where one allocation holds only so many bytes, so that the arena is several.
#pragma once

#include <span>
#include <vector>

#include "planner/place/place.h"

namespace neap::planner {

struct SplitPlacement {
  std::vector<int64_t> offsets;  // of each block, in all allocations one after the other
  std::vector<size_t> extents;   // of each allocation
};

/// Each block lies in one allocation; none is larger than `limit`, but that of a block that itself is. Allocations are
/// filled one after the other, each placed as place() does. Tested in tests/planner/place_split_test.cpp.
SplitPlacement place_split(std::span<const Block> blocks, size_t limit);

}  // namespace neap::planner
