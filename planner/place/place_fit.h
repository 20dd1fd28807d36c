// Offsets by greedy rules: sweeps, and best and first fit in several orders. Tested in tests/planner/place_test.cpp.
#pragma once

#include <span>

#include "planner/place/place.h"

namespace neap::planner {

/// The lowest placement of several orders, best fit and first fit, the best of them improved by moving blocks that end
/// too high; sweeps through the steps, from their ends and from the peak step, come
/// first, and are all for more than 20,000 blocks: nearly linear. Ends early at
/// an extent of `goal`.
Placement place_greedily(std::span<const Block> blocks, size_t goal);

}  // namespace neap::planner
