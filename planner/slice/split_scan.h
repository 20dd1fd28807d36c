// This finds how a loop runs on a slice of a batch: which of its operands, results and body's values are slices, and
// along which axes. Inside a region (planner/slice/chunk.h) the loop then runs once for each slice, all its iterations
// on that slice, so that carries, stacked inputs and stacked results are only ever slices too.
//
// What the body computes falls apart: what is the same for all elements of the batch (a counter, a key; each slice
// computes it again), what is computed element by element, and what follows from reductions over the batch alone.
// The reductions become totals, one for each iteration, to which each slice adds; what follows from them is a loop of
// its own after all slices. What needs totals to go on element by element mixes the batch: no slices then.
// Tested in tests/planner/split_scan_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "planner/slice/split_axis.h"
#include "trace/graph/graph.h"

namespace neap::planner {

inline constexpr Cut kUnused{.kind = Cut::Kind::unused};
inline constexpr Cut kAfter{.kind = Cut::Kind::after};

/// Holds the cuts of the body's inputs, outputs and values; those of stacked arrays count axes behind the loop's.
struct ScanCut {
  std::vector<Cut> inputs;               // a cut, kWhole or kUnused
  std::vector<Cut> outputs;              // a cut, kWhole, kUnused or kAfter
  std::vector<std::vector<Cut>> wanted;  // of each value of the body: the forms in which slices need it
  std::vector<tracing::ValueId> sums;    // reductions over the batch that give totals, ascending
  std::vector<Cut> summed;               // how the first operand of each is sliced
  std::vector<bool> after;               // of the body's values: needed by the loop after all slices, inputs too
  std::map<tracing::NodeId, std::shared_ptr<const ScanCut>> scans;  // in the body
  int64_t unit = 1;                                                 // slices are multiples of it: whole blocks of sums
  size_t visits = 0;                                                // values looked at
};

/// Cuts the scan into slices of a batch of `extent` elements. `inputs` and `outputs` are cuts that are known, kUnused
/// for the others. Returns nullopt where the body mixes elements of the batch.
std::optional<ScanCut> cut_scan(const tracing::Node& node, const std::vector<Cut>& inputs,
                                const std::vector<Cut>& outputs, int64_t extent);

/// These tell whether operand or result `i` of a scan is stacked along the loop's axis.
bool is_stacked_input(const tracing::Node& scan, size_t i);
bool is_stacked_output(const tracing::Node& scan, size_t i);

/// These convert the cut of what the body sees of a stacked array to the cut of the array, and back (kImpossible where
/// it is along the loop's axis).
Cut stacked_cut(Cut cut);
Cut unstacked_cut(Cut cut);

}  // namespace neap::planner
