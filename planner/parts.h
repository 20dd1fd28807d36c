// How many partial results a reduction or scatter keeps: fixed by shape and budget, never by threads, so that the bits
// of a result do not depend on the machine. Tested in tests/planner/parts_test.cpp.
#pragma once

#include <vector>

#include "planner/plan.h"

namespace neap::planner {

/// Sets parts, form and table_dtype of a reduce or scatter step. `table_budget`: the most that tables may take.
void choose_parts(PlanStep& step, size_t table_budget, const Target& target = {});

/// The scratch that a step needs, as backends/ lower it: accumulators, tables or packing space.
std::vector<Aval> scratch_of(const PlanStep& step, const Target& target = {});

}  // namespace neap::planner
