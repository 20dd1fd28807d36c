// These functions write nodes for a slice of what they work on: `size` elements of the sliced axis from `offset` on, an
// i64 scalar in the graph that is written. Tested in tests/planner/chunk_test.cpp and
// tests/planner/split_scan_test.cpp.
#pragma once

#include <vector>

#include "planner/slice/split_axis.h"
#include "planner/slice/split_scan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

struct SliceAt {
  tracing::ValueId offset = tracing::no_value;
  int64_t size = 0;
};

/// Converts `v` to another dtype, where it has another.
tracing::ValueId convert_to(tracing::Graph& g, tracing::ValueId v, DType dtype);

/// Returns the shape of a slice by `cut`, of `size` of the region's elements.
Shape sliced_shape(Shape shape, Cut cut, int64_t size);

/// Writes i64[rank] with `offset`, a scalar, at `axis` and zeros elsewhere: where a dynamic slice begins.
tracing::ValueId start_of(tracing::Graph& g, tracing::ValueId offset, int64_t rank, int64_t axis);

/// Writes a slice by `cut` of `v`, which is whole.
tracing::ValueId slice_of(tracing::Graph& g, tracing::ValueId v, Cut cut, SliceAt at);

/// Writes the slice by `cut` of the result of a node of `from` that is no scan. `inputs` are slices of its operands in
/// `g`.
tracing::ValueId write_slice(tracing::Graph& g, const tracing::Graph& from, const tracing::Node& node,
                             std::vector<tracing::ValueId> inputs, Cut cut, SliceAt at);

/// Holds what a scan makes of a slice; no_value where it makes nothing.
struct ScanSlice {
  std::vector<tracing::ValueId> outputs, totals;
};
/// Writes the scan, cut as `cut` says. `inputs` are slices of its operands, no_value where unused. `totals` are what
/// the slices before came to, for each of cut.sums an array of all iterations.
ScanSlice write_scan_slice(tracing::Graph& g, const tracing::Node& node, const ScanCut& cut,
                           const std::vector<tracing::ValueId>& inputs, const std::vector<tracing::ValueId>& totals,
                           SliceAt at);

/// Writes what totals are before the first slice.
std::vector<tracing::ValueId> write_initial_totals(tracing::Graph& g, const tracing::Node& node, const ScanCut& cut);

/// Writes the scan's results that follow from totals, and returns no_value for the others. `inputs` are its operands,
/// whole; no_value where they are not needed.
std::vector<tracing::ValueId> write_after(tracing::Graph& g, const tracing::Node& node, const ScanCut& cut,
                                          const std::vector<tracing::ValueId>& inputs,
                                          const std::vector<tracing::ValueId>& totals);

}  // namespace neap::planner
