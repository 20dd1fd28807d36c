// Matrix products. Compiled for the machine's own vector units, as Eigen chooses its kernels at compile time.
#pragma once

#include <cstddef>

#include "planner/dot.h"

namespace neap::cpu {

/// out[batch, m, n] = lhs x rhs, as planner/dot.h defines the canonical form. The product is cut into tiles whose sizes
/// depend on the shape alone and whose work is packed into `scratch` (planner/dot_scratch.h says how much): the bits do
/// not depend on the number of threads, and nothing is allocated. k = 0 gives zeros.
void gemm(const planner::DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch);

}  // namespace neap::cpu
