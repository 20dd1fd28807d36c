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

/// Enters plans in which steps run again so that what they make need not wait (planner/search/rematerialize_reruns.h):
/// for the budget and for parts of what the plan holds, then from the lowest of them on.
void enter_reruns(BudgetLedger& ledger, SlicedPlan from);

}  // namespace neap::planner
