// Backends implement one form of sorting, and every sort and argsort becomes it (planner/rewrite/lower_sort.h).
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

/// Describes a canonical sort or argsort.
struct SortForm {
  int64_t rows = 1, length = 0;  // of a row
  DType dtype = DType::f32;
  bool indices = false;  // argsort
  bool descending = false;
  bool operator==(const SortForm&) const = default;
};

/// Returns the form of a canonical sort or argsort node.
SortForm sort_form(const tracing::Graph& graph, const tracing::Node& node);
/// Counts the digits of `digit_bits` bits in a key, which is the number of passes.
int sort_passes(const SortForm& form, int digit_bits = 8);

/// Says how a CPU sorts, by shape alone, never by threads.
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

/// On a GPU, rows of up to so many elements need no scratch: each element counts those before it, which is work of the
/// square of the length. Longer rows are sorted in blocks by digits of so many bits. No measurement is recorded.
inline constexpr int64_t kSortByCounting = 128;
inline constexpr int kSortDigitBits = 4;
/// Rows of so many elements and more are not sorted on a GPU, where places have 32 bits.
inline constexpr int64_t kSortTooLong = int64_t{1} << 31;
/// Throws UserError for such rows.
void check_gpu_sort(const tracing::Graph& graph, const tracing::Node& node);
/// Returns the elements of a block on a GPU: so many that one workgroup can add up the counts of all blocks.
int64_t sort_block(const SortForm& form);

/// Returns the scratch of a sort step. On a CPU it is the slots of sort_layout. On a GPU it is counts u32
/// [rows, 16, blocks], then what lies between passes: elements, and for argsort elements once more (given three passes)
/// and indices i32.
std::vector<Aval> sort_scratch(const SortForm& form, bool gpu);

}  // namespace neap::planner
