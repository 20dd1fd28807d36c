// cumsum and its kin on the CPU (planner/kernels/cumulative.h).
#pragma once

#include <cstddef>

#include "planner/kernels/cumulative_form.h"

namespace neap::cpu {

/// Writes the cumulation of `in` to `out`, which may be the same. Tasks are spread over threads; the bits do not depend
/// on how. `scratch` is as cumulative_layout() says; nothing is allocated.
void cumulate(const planner::CumulativeForm& form, const void* in, void* out, std::byte* scratch);

}  // namespace neap::cpu
