// The reference interpreter, with which every backend is compared. It runs plain loops, one operation at a time, in
// program order.
//
// Floats are computed in double by the `reference` column of <neap/ops.def> and rounded once to their dtype; sums and
// products of f16, bf16 and f32 accumulate in double, those of f64 in long double. Integers wrap. It never reads or
// writes outside an array, whatever an index says, also in mode promise_in_bounds. Tested in
// tests/trace/reference_test.cpp.
#pragma once

#include <source_location>
#include <span>
#include <vector>

#include "core/npy.h"
#include "trace/graph/graph.h"

namespace neap::tracing {

using HostValue = HostArray;

/// Returns the graph's outputs for these inputs. Throws InternalError where an input's aval is not the graph's.
std::vector<HostValue> evaluate_reference(const Graph& graph, std::span<const HostValue> inputs);

/// Returns the outputs of one op. Throws the errors of infer().
std::vector<HostValue> evaluate_reference(Op op, std::span<const HostValue> inputs, const Attrs& attrs,
                                          std::source_location loc = std::source_location::current());

}  // namespace neap::tracing
