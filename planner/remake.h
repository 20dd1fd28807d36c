// Values that are cheap to make again do not wait in memory for their second reader. An operand of a matrix product
// must be stored to be read; but where it is a copy, a gather or a few elementwise ops of what is kept anyway, it is
// stored twice for a moment each, in the forward and in the backward pass, and not once for all the time between.
// Tested in tests/planner/remake_test.cpp.
#pragma once

#include "planner/steps.h"

namespace neap::planner {

/// The usual plan, or one that makes such values again, where that lowers the peak by much for little time.
Planned remake_cheap(const Planned& usual, const PlanOptions& options);

/// The best of the usual plan, that remade one, and ones that make products of few terms again too, such as the scores
/// of attention. (Where they can be had in slices, less of them is held: planner/free_slices.h comes before.)
Planned remake_products(const Planned& usual, const Planned& remade, const PlanOptions& options);

}  // namespace neap::planner
