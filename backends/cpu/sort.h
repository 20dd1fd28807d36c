// Rows are sorted stably. A stable order is unique, so the result does not depend on the number of threads.
#pragma once

#include <cstddef>

#include "planner/kernels/sort_form.h"

namespace neap::cpu {

/// Writes each row of `in` sorted to `out`, or (form.indices) the i32 positions that sort it, or the ranks of either
/// that the form names (backends/cpu/select.h). Rows are spread over
/// threads, and the blocks of long rows. `scratch` is as planner/kernels/sort.h lays it out; nothing is allocated.
void sort(const planner::SortForm& form, const void* in, void* out, std::byte* scratch);

}  // namespace neap::cpu
