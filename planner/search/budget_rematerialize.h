// Plans that compute again instead of keeping (planner/search/rematerialize.h), for a budget. Tested in
// tests/planner/budget_test.cpp.
#pragma once

#include "planner/search/budget_ledger.h"
#include "planner/search/budget_slices.h"

namespace neap::planner {

/// A plan, and the fusion that it was made with.
struct FusedPlan {
  const Planned& planned;
  FuseOptions fuse_options;
};

/// Enters the fastest of those that fit, or the lowest: of values with several readers computed by each, which is
/// `again`, and of checkpoints in it and in the usual plan. `graph`: simplified, of which both are.
void enter_rematerialized(BudgetLedger& ledger, const tracing::Graph& graph, const FusedPlan& usual,
                          const FusedPlan& again);

/// Drops a little of what waits in a plan, what is large, waits long and is soon computed again (kept_but), then of
/// what waits where the peak is then, as long as that lowers it, and enters all that.
void enter_dropped(BudgetLedger& ledger, SlicedPlan from);

}  // namespace neap::planner
