// Sorting rows. A stable order is unique, so the result does not depend on the number of threads.
#pragma once

#include <cstddef>

#include "planner/kernels/sort.h"

namespace neap::cpu {

/// out = each row of `in` sorted, or (form.indices) the i32 positions that sort it. Rows are spread over threads, and
/// of long rows their blocks. `scratch` is as planner/kernels/sort.h lays it out; nothing is allocated.
void sort(const planner::SortForm& form, const void* in, void* out, std::byte* scratch);

}  // namespace neap::cpu
