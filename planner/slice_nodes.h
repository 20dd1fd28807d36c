// Writes nodes for a slice of what they work on: `size` elements of the sliced axis from `offset` on, an i64 scalar in
// the graph that is written. Tested in tests/planner/chunk_test.cpp and tests/planner/split_scan_test.cpp.
#pragma once

#include <vector>

#include "planner/split_axis.h"
#include "planner/split_scan.h"
#include "trace/graph.h"

namespace neap::planner {

struct SliceAt {
  trace::ValueId offset = trace::no_value;
  int64_t size = 0;
};

/// `v` as another dtype.
trace::ValueId convert_to(trace::Graph& g, trace::ValueId v, DType dtype);

/// The shape of a slice by `cut`.
Shape sliced_shape(Shape shape, Cut cut, int64_t size);

/// A slice by `cut` of `v`, which is whole.
trace::ValueId slice_of(trace::Graph& g, trace::ValueId v, Cut cut, SliceAt at);

/// The slice by `cut` of the result of a node of `from`, not a scan. `inputs`: slices of its operands, in `g`.
trace::ValueId write_slice(trace::Graph& g, const trace::Graph& from, const trace::Node& node,
                           std::vector<trace::ValueId> inputs, Cut cut, SliceAt at);

/// What a scan makes of a slice; no_value where it makes nothing.
struct ScanSlice {
  std::vector<trace::ValueId> outputs, totals;
};
/// The scan, cut as `cut` says. `inputs`: slices of its operands, no_value where unused. `totals`: what the slices
/// before came to, for each of cut.folds an array of all iterations.
ScanSlice write_scan_slice(trace::Graph& g, const trace::Node& node, const ScanCut& cut,
                           const std::vector<trace::ValueId>& inputs, const std::vector<trace::ValueId>& totals,
                           SliceAt at);

/// What totals are before the first slice.
std::vector<trace::ValueId> write_initial_totals(trace::Graph& g, const trace::Node& node, const ScanCut& cut);

/// The scan's results that follow from totals; no_value for the others. `inputs`: its operands, whole.
std::vector<trace::ValueId> write_after(trace::Graph& g, const trace::Node& node, const ScanCut& cut,
                                        const std::vector<trace::ValueId>& inputs,
                                        const std::vector<trace::ValueId>& totals);

}  // namespace neap::planner
