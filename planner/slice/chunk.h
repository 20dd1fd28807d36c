// In a `chunked` plan a part of the graph runs slice by slice, so that what it makes on the way is only ever a slice.
//
// A region is a set of nodes whose values are all sliced along one axis each, the same number of elements. It becomes a
// scan over K slices; random bits inside take their counters at an offset, so the bits do not change. Values that the
// rest of the graph needs leave the scan joined again, reductions over the sliced axis as totals
// (planner/slice/partial_sums.h). Bits depend neither on the number of slices nor on where they end: sums of slices are
// added up in an order that the whole has fixed, products keep theirs. Loops run once for each slice
// (planner/slice/split_scan.h). What is left when K does not divide the axis is a copy of the region of its own. Tested
// in tests/planner/chunk_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/slice/split_axis.h"
#include "planner/slice/split_scan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Holds the cut of each of some values, in their order.
class Cuts {
 public:
  using Item = std::pair<tracing::ValueId, Cut>;

  Cuts() = default;
  /// Each value may be there once.
  explicit Cuts(std::vector<Item> items);

  /// Returns nullptr where there is none.
  const Cut* find(tracing::ValueId v) const;
  bool contains(tracing::ValueId v) const { return find(v) != nullptr; }
  const Cut& at(tracing::ValueId v) const;
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<Item> items_;
};

struct Region {
  int64_t extent = 0;                    // elements of the sliced axis
  int64_t unit = 1;                      // slices are multiples of it: whole blocks of sums
  Cuts cut;                              // of each value computed in slices
  std::vector<tracing::ValueId> inputs;  // values from outside, ascending: in slices if they are in `cut`
  std::vector<tracing::ValueId> met;     // of these, read whole too, or in slices along another axis (ascending)
  std::vector<tracing::ValueId> joined;  // values that leave, joined along their axis
  std::vector<tracing::ValueId> summed;  // reductions and products over the sliced axis, which leave
  std::map<tracing::NodeId, std::shared_ptr<const ScanCut>> scans;  // loops that run once for each slice
  std::vector<tracing::ValueId> inside;  // other values without the axis that each slice computes again (ascending)
};

/// Holds loops that were cut before, by what was known of their operands and results; null where they cannot be cut.
using KnownScans = std::map<std::tuple<tracing::NodeId, int64_t, std::vector<Cut>>, std::shared_ptr<const ScanCut>>;

/// Says what is known of a value in the region that is found at last: each number is that of a region.
struct Grown {
  int hidden = 0, met = 0, cut = 0, computed = 0, derived = 0;
  Cut as;  // if it is cut
};

/// Finds regions of one graph. `stored` says what the plan of the graph stores. Both outlive this object.
class RegionFinder {
 public:
  RegionFinder(const tracing::Graph& graph, const std::vector<bool>& stored);

  /// Finds the region that computes `hidden` in slices, the first of them by `cut`, so that none of them is ever whole.
  /// All that is computed for them in registers is in it, and all their readers. Returns nullopt where no axis carries
  /// through. Without `hide` the values are results of the region (as outputs of the graph are).
  std::optional<Region> find(const std::vector<tracing::ValueId>& hidden, Cut cut, bool hide = true) const;

  /// Counts the values looked at so far, which is what finding has cost.
  size_t visits() const { return visits_; }

 private:
  const tracing::Graph& graph_;
  const std::vector<bool>& stored_;
  std::vector<std::vector<tracing::NodeId>> readers_;
  std::vector<bool> is_output_;
  mutable size_t visits_ = 0;
  mutable KnownScans known_scans_;
  mutable std::vector<Grown> grown_;  // of each value
  mutable int regions_ = 0;           // found so far, or not found
};

/// Cuts the region into stages that can run one after the other: a value that leaves it and is needed to compute what
/// comes in again (a gradient needs the result) ends one. What several stages need inside, each rematerializes.
std::vector<Region> stages_of(const tracing::Graph& graph, Region region);

/// Returns the elements of a slice when the region is cut into `chunks`.
int64_t slice_length(const Region& region, int64_t chunks);

/// Returns the graph with the regions in slices of ceil(extent / chunks) elements, rounded up to their units; nullopt
/// where a region would need its own results. No value may leave two of the regions.
std::optional<tracing::Graph> chunk(const tracing::Graph& graph, const std::vector<Region>& regions, int64_t chunks);

}  // namespace neap::planner
