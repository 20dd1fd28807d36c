// What could run in slices: regions around what is large at the peak step of a graph, or of the body of a loop there.
// Tested in tests/planner/budget_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/fuse/fuse.h"
#include "planner/pipeline/pipeline.h"
#include "planner/slice/chunk.h"
#include "trace/graph/graph.h"
#include "trace/graph/loop.h"

namespace neap::planner {

/// A graph with its plan: the whole, or the body of a loop.
struct Level {
  tracing::GraphPtr body;  // as the loop around names it; null: the whole graph
  std::optional<tracing::CountedLoop> loop;
  Planned planned;
  std::vector<bool> stored;  // of the values of planned.graph
};

/// The whole graph, then the body of the loop at its peak step, the body of the loop at that one's, ...
std::vector<Level> levels_of(const Planned& planned, const PlanOptions& options, const FuseOptions& fuse_options);

/// The graph in which loops over `from`, also in bodies, are loops over `to`.
tracing::Graph with_body(const tracing::Graph& graph, const tracing::GraphPtr& from, const tracing::GraphPtr& to);

/// Regions to slice the same way: one around a value, in its stages, and others around values like it.
struct Slicing {
  std::vector<Region> regions;
  tracing::ValueId value = tracing::no_value;  // the large one
  Cut cut;                                     // of it
  size_t alike = 1;                            // from here on regions are around others
  size_t number = 0;                           // in the order in which they were found
  double gain = 0;                             // bytes that would not be there at the peak step, at best
  bool splits_sums = false;                    // of floats, so that their bits change
};

/// What could be sliced to keep large values alive at the level's peak step out of memory; with `outputs` instead the
/// outputs, whose slices are written where they belong. None twice, those with most to gain first. Adds the work done
/// to `visits` (RegionFinder).
std::vector<Slicing> slicings(const Level& level, bool outputs, size_t& visits);

/// What the region is about: its random numbers if it draws any, else the value.
const tracing::Node& subject_of(const Level& level, const Slicing& slicing);

/// Bytes alive at the peak step when bodies of loops needed nothing: where slicing inside them could lead.
size_t peak_outside_bodies(const PlanData& plan);

}  // namespace neap::planner
