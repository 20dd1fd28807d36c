// A graph needs copies so that every carry of a loop, and every output, has memory of its own (planner/plan/plan.h says
// how loops run). Tested in tests/planner/scan_test.cpp.
#pragma once

#include <vector>

#include "trace/graph/graph.h"

namespace neap::planner {

/// Gives each loop carries of its own: an initial value is copied (an op `stop_gradient`, which moves bits) unless the
/// loop alone reads it. Outputs that are constants are copied too; in a body (`is_body`) also those that are inputs or
/// the same as another output.
///
/// With `joins`, it marks each concatenate of whole blocks of memory of which some are stored anyway (a scan's ys, a
/// product): those pieces are then written where they belong (Mark::join), and the others are copied there.
///
/// With `joins`, a scatter whose updates or indices are computed from its operand gets them stored before it
/// (Mark::separate), where they are small and the operand may be overwritten: a result that is stored anyway, or an
/// input that `overwritable` flags. So the operand can be updated in place.
tracing::Graph insert_copies(tracing::Graph graph, bool is_body, bool joins,
                             const std::vector<bool>& overwritable = {});

}  // namespace neap::planner
