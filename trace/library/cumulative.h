// Cumulative ops as what they could be made of, for their derivatives.
#pragma once

#include <neap/array.h>

#include "trace/graph/graph.h"

namespace neap::tracing {

/// Returns what cumprod, cummax or cummin of a float array give along an axis, by reductions of blocks.
/// Elements that reach an extreme share its derivative equally.
Array cumulative_by_blocks(Op op, const Array& x, int64_t axis, bool reverse);

}  // namespace neap::tracing
