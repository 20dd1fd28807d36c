// Convolutions, compiled for each instruction set (core/isa.h). Tested in tests/backends/cpu_convolution_test.cpp.
#pragma once

#include <cstddef>

#include "planner/kernels/convolution.h"

namespace neap::cpu {

/// Computes out = lhs convolved with rhs (with form.adds: added to out), in the order of sums that
/// planner/kernels/convolution.h defines: the bits depend on the operands alone, not on threads or on how a convolution
/// is cut. `scratch` has convolution_scratch_bytes(form), aligned to 64; nothing is allocated.
void convolve(const planner::ConvolutionForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch);

}  // namespace neap::cpu
