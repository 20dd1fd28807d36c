// Offsets by greedy rules: sweeps, and best and first fit in several orders. Tested in tests/planner/place_test.cpp.
#pragma once

#include <span>

#include "planner/place.h"

namespace neap::planner {

/// The lowest placement of several orders, best fit and first fit, the best of them improved by moving blocks that end
/// too high; ends early at an extent of `goal`. Thousands of blocks are placed in sweeps through the steps first, and
/// more than 20,000 so alone: nearly linear.
Placement place_greedily(std::span<const Block> blocks, size_t goal);

}  // namespace neap::planner
