// Matrix products, compiled for each instruction set (core/isa.h). Tested in tests/backends/cpu_gemm_test.cpp.
#pragma once

#include <cstddef>

#include "planner/kernels/dot.h"

namespace neap::cpu {

/// Computes out[batch, m, n] = lhs x rhs (with form.adds: added to out), as planner/kernels/dot.h defines the canonical
/// form and the order of its sums: the bits depend on the operands alone, not on threads or on how a product is cut
/// along m and n, or along k where that says so. What is packed lies in `scratch` (planner/kernels/dot_scratch.h says
/// how much), and nothing is allocated. Products of bf16 are made in tiles where they are used (core/isa.h), with other
/// roundings, unless told otherwise.
void gemm(const planner::DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch,
          bool may_use_tiles = true);

}  // namespace neap::cpu
