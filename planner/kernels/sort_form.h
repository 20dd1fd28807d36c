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
  int64_t start = 0, limit = 0;  // the ranks that are written; limit 0: all
  bool operator==(const SortForm&) const = default;

  bool selects() const { return limit > 0; }
  int64_t written() const { return selects() ? limit - start : length; }  // of a row
};

/// Says how a CPU finds some ranks of a row without sorting it.
enum class Selection : uint8_t {
  none,     // the whole row is sorted
  leading,  // ranks near the beginning: one pass that holds the best so far
  last,     // near the end: the same, in the other order
  digits,   // any ranks: elements are counted by digits of their keys, highest first, until a rank's key is known
};
/// So many of the best are kept in order as a row is read: two of rows of 33 elements take an eighth of what counting
/// digits takes (Xeon, two threads).
inline constexpr int64_t kInserted = 16;
/// Digits of so many bits at most.
inline constexpr int kSelectDigitBits = 11;
/// Blocks of a row at most.
inline constexpr int kMostSortBlocks = 64;

/// Counts the digits of `digit_bits` bits in a key, which is the number of passes.
int sort_passes(const SortForm& form, int digit_bits = 8);

/// Says how a CPU sorts, by shape alone, never by threads.
struct SortLayout {
  Selection selection = Selection::none;
  bool merges = false;   // short rows: runs that are merged, which digits would not pay for
  int slots = 1;         // rows in flight at most
  int blocks = 1;        // parts of a row that are counted and moved at the same time
  size_t counts_at = 0;  // bytes in a slot: i64 [blocks, 256]; digits: i32 [blocks, 2, 2^digit_bits]
  int digit_bits = 8;
  int64_t held = 0;  // keys with their positions, in 8 bytes or, of elements of 8, 16; shared among blocks
  size_t held_at = 0;
  size_t elements_at[2] = {};  // elements (argsort: keys) between passes; argsort takes both
  size_t indices_at = 0;       // i32 [length], of argsort
  size_t slot_bytes = 0;
};
SortLayout sort_layout(const SortForm& form);

}  // namespace neap::planner
