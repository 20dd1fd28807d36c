// Some ranks of sorted rows, without sorting them: the best few (top-k), or those around a quantile. Same elements, in
// the same order, as sort() gives.
#pragma once

#include <cstddef>

#include "planner/kernels/sort_form.h"

namespace neap::cpu {

/// Writes the ranks [form.start, form.limit) of each row of `in`, sorted, to `out`, or the i32 positions of their
/// elements. Nothing is allocated. Tested in tests/conformance/sort_test.cpp.
void select(const planner::SortForm& form, const void* in, void* out, std::byte* scratch);

}  // namespace neap::cpu
