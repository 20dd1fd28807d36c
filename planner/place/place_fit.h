// These offsets follow greedy rules: sweeps, and best and first fit in several orders. Tested in
// tests/planner/place_test.cpp.
#pragma once

#include <span>

#include "planner/place/place.h"

namespace neap::planner {

/// Returns the lowest of several placements, or the first with an extent of at most `goal`. Sweeps through the steps,
/// from their ends and from the peak step, come first; then best and first fit in several orders, the best of them
/// improved by moving blocks that end too high. More than 4,000 blocks get one of those orders, more than 20,000 only
/// sweeps, whose time is nearly linear.
Placement place_greedily(std::span<const Block> blocks, size_t goal);

}  // namespace neap::planner
