// Messages of collectives that are under way while other steps run.
//
// A collective begins as soon as its operand is there, and what needs its result waits while there is something else to
// do: steps get another order, in which a collective is two of them, and values live longer than they would. That is
// taken where the plan then holds no more, or keeps to its budget. What a function of the program does on the host is
// never beside messages, as it may send some itself. Tested in tests/spmd/overlap_test.cpp.
#pragma once

#include "planner/plan/plan.h"

namespace neap::planner {

/// Gives the plan such an order where that saves time, with a decision that says so. A plan without collectives, for a
/// GPU, or naive, stays as it is.
void overlap_messages(PlanData& plan, const PlanOptions& options);
/// Gives back what that needs of a plan and its bodies (PlanData::ordered).
void drop_ordered(PlanData& plan);

}  // namespace neap::planner
