// Stencils in a loop: several iterations in one sweep over the arrays, band by band, so that what one iteration wrote
// is still in the cache when the next reads it ("time skewing"; Wolf and Lam 1991, Wonnacott 2000). Each element is
// computed by the same kernel from the same numbers as without, so bits and memory are the same.
//
// An instance is one kernel of one iteration; they are numbered in the order in which a loop would run them. Places in
// the arrays are counted in units, such as rows. Of a block of units [begin, end), whose neighbours are
// worked on at the same time, instance q computes
//
//   first   [begin + ahead[q], end - back[q]), in bands, each of which lies back[q] behind where the sweep has come,
//   then    the triangles between blocks: [b - back[q], b + ahead[q]) around each border b,
//
// with ahead and back so large that nothing is read before it is written, or overwritten before it is read. At the
// arrays' ends nothing is left out, unless one end follows the other: then they are a border as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backends/cpu/analysis.h"
#include "backends/cpu/placement.h"
#include "backends/kernel.h"
#include "planner/plan/plan.h"

namespace neap::cpu {

struct LaunchCode;
struct ScanCode;

struct TimeBlocks {
  struct Part {
    const LaunchCode* launch = nullptr;
    Placement placement;
  };
  std::vector<Part> parts;  // the kernels of an iteration, in their order
  int64_t units = 0;
  std::vector<int64_t> ahead, back;  // of the instances of kMostIterations
  double unit_bytes = 0;             // of all arrays that are touched
  bool circular = false;             // the first unit follows the last
  bool spreads = false;              // whether kernels are worth more than one thread
};

/// The most iterations of a sweep.
inline constexpr int64_t kMostIterations = 64;

/// Returns how the loop's iterations can be run together, or nullopt. `launches` are those of the body, in the order of
/// its steps.
std::optional<TimeBlocks> time_blocks_of(const ScanCode& scan, const planner::PlanData& body,
                                         std::span<const backends::Launch> launches, const VectorUnit& vectors);

/// Says how a loop of `length` iterations is cut, on this machine; 1 iteration where there is nothing to gain.
struct SweepSize {
  int64_t iterations = 1;  // of a sweep
  int64_t band = 1;        // units
  int64_t blocks = 1;
};
SweepSize sweep_size(const TimeBlocks& blocks, int64_t length);

/// Runs iterations that follow one another, from an even or an odd one on as memory says: memory[i] is where the body's
/// buffers lie in the i-th.
void sweep(const TimeBlocks& blocks, const SweepSize& size, std::span<std::byte* const* const> memory);

}  // namespace neap::cpu
