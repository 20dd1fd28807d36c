// Loops in a plan. A scan step runs the plan of its body once for each iteration; this page is its contract. That of a
// while_loop runs it while carry 0 is true, but not more often than Attr::length where there is one: so a branch of a
// cond runs (lower_cond in planner/simplify.h).
//
// The step: reads are (consts, carries, xs), writes are (carries, ys). Carry j is one buffer: the step's read and write
// of it are the same number, an earlier step puts its initial value there, and nothing else reads that value.
// scratch[0], if there, is the arena of the body.
//
// The body's plan (PlanData, never naive about memory): body.inputs[i] is bound, before each iteration, to the const,
// to the carry's buffer, or to slice t of xs (t = length - 1 - iteration when reversed). body.outputs:
//   carry j   either alias_of body.inputs[num_consts + j]: written in place; or a buffer at an offset of the arena:
//             after the last step of the iteration its bytes are copied to the carry's buffer
//   y k       offset -1, no alias: bound to slice t of the step's write, written where it belongs
// All outputs are distinct buffers and none is an input. Everything else lies in the arena. Slices are as long as the
// array's own bytes (not rounded), so a bound pointer is aligned to its element only.
// Tested in tests/planner/scan_test.cpp.
#pragma once

#include "planner/plan.h"
#include "trace/graph.h"

namespace neap::planner {

/// Gives each scan carries of its own: the initial value is copied (an op `stop_gradient`, which moves bits) unless the
/// scan alone reads it. In a body (`is_body`) also the outputs that are inputs, constants or doubles of others.
///
/// With `joins`, marks each concatenate of blocks of memory of which some are stored anyway (a scan's ys, a product):
/// its pieces are then written where they belong (Mark::join), the others of them by copies.
///
/// A scatter whose updates or indices are computed from its operand gets them stored before it (Mark::separate), where
/// they are small and the operand is ours to overwrite: a carry, a result of an opaque step, or an input that `donated`
/// flags. So it can be updated in place.
tracing::Graph insert_copies(tracing::Graph graph, bool is_body, bool joins,
                             const std::vector<bool>& overwritable = {});

/// Of a body: lets carry j be written in place where every read of the old value comes before the write or at it, at
/// the same element. Needs first and last of the buffers; sets alias_of.
void alias_carries(PlanData& body, int num_consts, int num_carry);

}  // namespace neap::planner
