// The shape of a canonical sort, as planner/kernels/sort.h defines it, and how a CPU lays out what it sorts with.
#pragma once

#include <neap/dtype.h>

#include <cstddef>
#include <cstdint>

namespace neap::planner {

/// Describes a canonical sort or argsort.
struct SortForm {
  int64_t rows = 1, length = 0;  // of a row
  DType dtype = DType::f32;
  bool indices = false;  // argsort
  bool descending = false;
  bool operator==(const SortForm&) const = default;
};

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

}  // namespace neap::planner
