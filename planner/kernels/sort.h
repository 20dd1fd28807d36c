// The one form of sorting that backends implement, and the way of every sort and argsort there.
//
// Canonical: along the last axis, so that rows lie one behind the other. All backends sort long rows by radix,
// lowest digit first, which is stable: a pass moves elements (argsort: keys and their indices) by one digit of their
// keys, unsigned integers in the order of the elements. Tested in tests/planner/sort_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/graph/graph.h"

namespace neap::planner {

/// A canonical sort or argsort.
struct SortForm {
  int64_t rows = 1, length = 0;  // of a row
  DType dtype = DType::f32;
  bool indices = false;  // argsort
  bool descending = false;
  bool operator==(const SortForm&) const = default;
};

/// Of a canonical sort or argsort node.
SortForm sort_form(const tracing::Graph& graph, const tracing::Node& node);
/// How many digits of so many bits the keys have.
int sort_passes(const SortForm& form, int digit_bits = 8);

/// How a CPU sorts: by shape alone, never by threads.
struct SortLayout {
  bool merges = false;         // short rows: runs that are merged, which digits would not pay for
  int slots = 1;               // rows in flight at most
  int blocks = 1;              // parts of a row that are counted and moved at the same time
  size_t counts_at = 0;        // bytes in a slot: i64 [blocks, 256]
  size_t elements_at[2] = {};  // elements (argsort: keys) between passes; argsort takes both
  size_t indices_at = 0;       // i32 [length], of argsort
  size_t slot_bytes = 0;
};
SortLayout sort_layout(const SortForm& form);

/// On a GPU: rows of up to so many elements need no scratch, each element counts those before it; longer ones are
/// sorted in blocks by digits of so many bits.
inline constexpr int64_t kSortByCounting = 128;
inline constexpr int kSortDigitBits = 4;
/// Rows of so many elements and more are not sorted there: places are 32 bits.
inline constexpr int64_t kSortTooLong = int64_t{1} << 31;
/// UserError for such rows.
void check_gpu_sort(const tracing::Graph& graph, const tracing::Node& node);
/// Elements of a block: not so many blocks that their counts could not be added up by one workgroup.
int64_t sort_block(const SortForm& form);

/// The scratch of a sort step. CPU: the slots of sort_layout. GPU: counts u32 [rows, 16, blocks], then what lies
/// between passes: elements, and for argsort elements once more (given three passes) and indices i32.
std::vector<Aval> sort_scratch(const SortForm& form, bool gpu);

}  // namespace neap::planner
