// Copies that a graph needs so that every carry of a loop, and every output, has memory of its own (planner/plan/plan.h
// says how loops run). Tested in tests/planner/scan_test.cpp.
#pragma once

#include <vector>

#include "trace/graph/graph.h"

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

}  // namespace neap::planner
