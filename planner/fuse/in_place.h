// A step runs in place where an output takes the buffer of an operand that dies with the step, or of a donated
// argument.
//
// This is sound only if the step reads the operand's element i for nothing but the output's element i, so that no
// iteration needs what another has overwritten. Tested in tests/planner/in_place_test.cpp.
#pragma once

#include "planner/plan/plan.h"

namespace neap::planner {

/// Tells whether `step` may write buffer `out` over buffer `in`, which it reads.
bool can_alias(const PlanStep& step, int in, int out);

/// Notes in step `s` that it writes over buffer `in`, if it reads that. A scatter whose operand that is then
/// updates it where it lies; its scratch is set to what this needs, which may add a buffer.
void mark_in_place(PlanData& plan, int s, int in);

/// Makes outputs aliases of operands wherever that is sound. It needs live ranges, and extends them to those of the
/// shared bytes. A donated argument is taken before any other operand, which planner/order/order_plan.cpp counts on. A
/// buffer that is an output or donated argument owns the bytes; others point to it.
void alias_in_place(PlanData& plan);

/// Lets the carries of a loop's body be written in place where every read of the old value comes before the write, or
/// in it at the same element. It needs first and last of the buffers, and sets alias_of.
void alias_carries(PlanData& body, int num_consts, int num_carry);

}  // namespace neap::planner
