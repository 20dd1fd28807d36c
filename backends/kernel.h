// The kernel IR is one loop nest of two levels over element expressions. Every backend reads it.
//
// A kernel runs over extent[0] x extent[1]. Expressions (kernel.dag) refer to the two loop indices (Opcode::index 0 and
// 1), to run-time parameters, and to elements of buffers by flat index. Which level becomes vector lanes is
// `vector_level`: expressions that do not depend on the inner index are computed once outside the inner loop.
//
//   map      for i0, for i1: each store writes value at index
//   reduce   for i0 (kept), for i1 (reduced): accumulate; then write the accumulators at part * extent[0] + i0,
//            or, when `finish`, the result converted to the output's type at i0
//            (with `initial`, vector_level is 0 and there is one part)
//   scatter  for i0, for i1, in this order: table[part * table_elements + index] combined with value, where valid; no
//            value or index reads a table, and no two scatters have the same one
//
// A caller may run any sub-range that, along vector_level, begins at a multiple of 64 and ends at one or at the extent;
// the ranges of map kernels are independent, those of reduce are independent between different `part` and different i0.
// Where `any_range`, ranges of a map begin and end anywhere. Those of a map with `carried` buffers run one after the
// other.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/plan/plan.h"
#include "trace/scalar/scalar.h"

namespace neap::backends {

/// Where ranges of a kernel may be cut along its vector level: at multiples of the most lanes of any machine's vectors.
inline constexpr int64_t kRangeUnit = 64;

/// Elements from lane to lane from which on lanes jump through memory, and from row to row up to which they lie near:
/// tiles of rows and lanes then share cache lines (neap-cost "transpose").
inline constexpr int64_t kJump = 16, kNear = 8;

enum class Combine : uint8_t { set, add, mul, max, min, any, all, bit_xor, argmax, argmin };
/// Returns the name of a combination, such as "add".
std::string_view name(Combine combine);

struct KernelBuffer {
  DType type;
  bool written = false;
  std::string label;
};

struct Store {
  int buffer;
  int32_t index, value;  // instruction ids
};

struct Reduction {
  Combine combine;
  int32_t value;
  DType accumulator;  // of sums and products planner::accumulator_of(); else that of the value
  DType output;       // type written when `finish` (i32 for argmax and argmin)
  int buffer;         // written: accumulators, or the output when `finish`
  int initial = -1;   // buffer: the accumulator that each row begins with; its elements are then combined in order
};

struct Scatter {
  Combine combine;
  int buffer;  // the table
  int64_t table_elements;
  int32_t index, value;
  int32_t valid = -1;           // bool instruction; -1: always valid
  bool unique_indices = false;  // no two valid updates have the same index
};

struct Kernel {
  enum class Kind : uint8_t { map, reduce, scatter };
  std::string name;
  Kind kind = Kind::map;
  scalar::Dag dag;
  std::array<int64_t, 2> extent{1, 1};
  int vector_level = 1;
  bool any_range = false;  // map
  // map of one column: an element of a buffer that is read and of one that is written, which lie in the same place:
  // what a row reads there is what the row before it wrote. Where nobody reads it the written one is named twice.
  // Indices of carried elements are constants. With vector_level 0: what each row reads and writes there is its own
  // element, and what a column reads is what the column before it wrote.
  struct Carried {
    int read, written;
    int64_t element;
  };
  std::vector<Carried> carried;
  bool finish = true;      // reduce
  int64_t whole_rows = 0;  // reduce: extent[0] of what this is a slice of, which decides the order of combination; or 0
  std::vector<KernelBuffer> buffers;
  std::vector<Store> stores;
  std::vector<Reduction> reductions;
  std::vector<Scatter> scatters;
  int num_params = 0;
  double cost_per_element = 1;  // vector instructions, for the choice of grain

  /// Writes the kernel as text without its name, which is also the cache key of the compiled code.
  std::string print() const;
};

/// A compiled kernel runs rows [begin0, end0) by columns [begin1, end1).
using KernelFunction = void (*)(void* const* buffers, const int64_t* params, int64_t begin0, int64_t end0,
                                int64_t begin1, int64_t end1, int64_t part);

/// Holds one kernel of a step and how to split it over threads. buffers[i] of the kernel is operands[i] of the step's
/// list (reads, then writes, then scratch).
struct Launch {
  Kernel kernel;
  std::vector<int> operands;
  int partials = 1;        // > 1: part p of level-1 (or flat, for scatter) range p; each part runs whole on one thread
  bool in_order = false;   // scatter: the updates of a part are made one after the other (a CPU always does)
  int part0_operand = -1;  // >= 0: part 0 writes its table here, part p writes table p - 1 of the scratch
  std::vector<int> zero_fill;  // operands cleared before the kernel runs (scatter tables)
};

/// Lowers a map, reduce or scatter step to its kernels, in order of execution.
std::vector<Launch> lower(const planner::PlanStep& step);

}  // namespace neap::backends
