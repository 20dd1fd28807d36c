// In place: an output that takes the buffer of an operand that dies with the step, or of a donated argument.
//
// Sound only if the step reads the operand's element i for nothing but the output's element i, so that no iteration
// needs what another has overwritten. Tested in tests/planner/in_place_test.cpp.
#pragma once

#include "planner/plan/plan.h"

namespace neap::planner {

/// Whether `step` may write buffer `out` over buffer `in`, which it reads.
bool can_alias(const PlanStep& step, int in, int out);

/// Says in step `s` that it writes over buffer `in`, if it reads that: a scatter then keeps its operand where it lies,
/// and takes the scratch that this needs (it may add a buffer).
void mark_in_place(PlanData& plan, int s, int in);

/// Aliases wherever that is sound; needs live ranges, which it extends to those of the shared bytes. A donated argument
/// is taken before any other operand, which planner/order/order_plan.cpp counts on.
/// A buffer that is an output or donated argument owns the bytes, others point to it.
void alias_in_place(PlanData& plan);

/// Of a body: lets carry j be written in place where every read of the old value comes before the write or at it, at
/// the same element. Needs first and last of the buffers; sets alias_of.
void alias_carries(PlanData& body, int num_consts, int num_carry);

}  // namespace neap::planner
