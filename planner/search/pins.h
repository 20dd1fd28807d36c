// Pinned strategies that a plan must show: what is pinned is in the plan, or an OptionError says that there is nothing
// to do so. Tested in tests/planner/choices_test.cpp.
#pragma once

#include "planner/plan/plan.h"
#include "planner/search/program.h"

namespace neap::planner {

/// Slices and keys where PlanOptions::chunks does not say how many.
constexpr int64_t kDefaultChunks = 8;

/// Whether the plan, or the body of one of its loops, does what a pin asks for:
/// - inplace: a step writes its result over an operand;
/// - nocopy_gather_grad: a scatter-add adds updates that are computed where they are added, and never stored;
/// - recompute: steps compute again what others have computed;
/// - chunked: a part runs slice by slice;
/// - fused and naive are kinds of plans, which every program has, and subkey a rewrite of the graph.
bool shows(const PlanData& plan, Strategy strategy);

/// Plans a program without a pin, within the options' budget.
using PlanFreely = PlanData (*)(const Program& program, const PlanOptions& options);

/// Plans a program by options.strategy, which is pinned, and not naive. Where the program cannot show it, the plan may
/// be one that does not.
PlanData plan_pinned(const Program& program, const PlanOptions& options, PlanFreely plan_freely);

/// OptionError where `plan`, made of `program` for options.strategy, does not show it.
void check_pin(const PlanData& plan, const Program& program, const PlanOptions& options);

}  // namespace neap::planner
