// Reductions over ranks as operations on arrays.
#pragma once

#include "trace/tracing/tracing.h"

namespace neap::tracing {

/// Returns what psum, pmax or pmin gives of the rows of x along axis 0, one of each rank, in its tree and to the bit
/// (trace/graph/collective.h).
Array tree_over_ranks(Op reduction, const Array& x);

}  // namespace neap::tracing
