// Slices that cost nothing are taken without a budget: where a large value is made and read one head, one row or one
// example after the other anyway, a loop over them holds one of them and takes no longer.
// Tested in tests/planner/free_slices_test.cpp.
#pragma once

#include <optional>

#include "planner/pipeline/pipeline.h"

namespace neap::planner {

/// A plan with a region of `usual`, else of `plain` (whose layout may differ, and which makes nothing again), in slices
/// (planner/search/slices.h) that lowers the peak by a third or more in about the same predicted time; nullopt where
/// there is none. Slices that split a sum of floats, whose last bit may differ then (docs/how-it-works.md), are taken
/// only where they lower the peak to a quarter.
std::optional<PlanData> slice_for_free(const Planned& plain, const Planned& usual, const PlanOptions& options);

}  // namespace neap::planner
