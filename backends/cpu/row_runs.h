// Steps that follow one another and go through the same rows: the maxima, sums and quotients of a softmax, the moments
// and the result of a normalisation. Each task runs all of them on a band of rows before the next band, so that what
// one step reads of a row is still in the cache where the step before left it, and threads meet once for all of them.
// Each element is computed by the same kernel from the same numbers as step by step, so bits and memory are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backends/cpu/analysis.h"
#include "backends/kernel.h"
#include "planner/plan/plan.h"

namespace neap::cpu {

struct LaunchCode;
struct Program;

struct RowRun {
  struct Part {
    const LaunchCode* launch = nullptr;
    int level = 0;        // whose iterations are the rows,
    int64_t per_row = 1;  // so many of them each
  };
  // Two places that no rows tell apart; one of them is written.
  struct Apart {
    int first, second;  // plan buffers
    size_t first_bytes, second_bytes;
  };
  size_t steps = 0;
  std::vector<Part> parts;
  std::vector<double> shares;  // what each step takes of the time, about
  std::vector<Apart> apart;
  int64_t rows = 0, unit = 1;  // bands begin at multiples of `unit`
  double row_bytes = 0;        // of all that is read and written, about
  double row_seconds = 0;      // on one thread, about
};

/// Tells for each step of a plan which run begins there, if one does; runs have two steps or more and do not overlap.
/// `launches` are those of the program, in the order of its steps, without those of loops' bodies.
std::vector<std::optional<RowRun>> row_runs_of(const Program& program, const planner::PlanData& plan,
                                               std::span<const backends::Launch* const> launches,
                                               const VectorUnit& unit);

/// Says how rows are cut.
struct RowBands {
  int64_t rows = 1, grain = 1;  // of a band; of the smallest task
  bool is_brief = false;        // so many take a few microseconds
};
/// Returns nullopt where memory lies so that the steps may not run band by band, where a band is more than a cache
/// holds, or where there is work for several threads but not rows enough.
std::optional<RowBands> row_bands(const RowRun& run, std::byte* const* memory);
void run_rows(const RowRun& run, const RowBands& bands, std::byte* const* memory);

}  // namespace neap::cpu
