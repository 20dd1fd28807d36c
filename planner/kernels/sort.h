// Backends implement one form of sorting, and every sort and argsort becomes it (planner/rewrite/lower_sort.h).
//
// Canonical: along the last axis, so that rows lie one behind the other. All backends sort long rows by radix,
// lowest digit first, which is stable: a pass moves elements (argsort: keys and their indices) by one digit of their
// keys, unsigned integers in the order of the elements. Tested in tests/planner/sort_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/kernels/sort_form.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Returns the form of a canonical sort or argsort node.
SortForm sort_form(const tracing::Graph& graph, const tracing::Node& node);
/// On a GPU, rows of up to so many elements need no scratch: each element counts those before it, which is work of the
/// square of the length. Longer rows are sorted in blocks by digits of so many bits. No measurement is recorded.
inline constexpr int64_t kSortByCounting = 128;
inline constexpr int kSortDigitBits = 4;
/// Rows of so many elements and more are not sorted on a GPU, where places have 32 bits.
inline constexpr int64_t kSortTooLong = int64_t{1} << 31;
/// Throws UserError for such rows.
void check_gpu_sort(const tracing::Graph& graph, const tracing::Node& node);
/// Returns the elements that a workgroup of a GPU moves at once, through shared memory: 8 KiB.
int64_t sort_tile(const SortForm& form);
/// Returns the elements of a block on a GPU, a multiple of that: so many that one workgroup can add up the counts of
/// all blocks.
int64_t sort_block(const SortForm& form);

/// Returns the scratch of a sort step. On a CPU it is the slots of sort_layout. On a GPU it is counts u32
/// [rows, 16, blocks + 1], of which the last are of whole rows, then what lies between passes: elements, and for
/// argsort elements once more (given three passes) and indices i32.
std::vector<Aval> sort_scratch(const SortForm& form, bool gpu);

}  // namespace neap::planner
