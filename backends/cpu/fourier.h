// Fourier transforms, compiled for each instruction set (core/isa.h). Tested in tests/backends/cpu_fourier_test.cpp.
#pragma once

#include <cstddef>
#include <vector>

#include "planner/kernels/fourier.h"

namespace neap::cpu {

/// Returns what is known of a form before it is run, laid out as fourier_layout() says: roots of unity, and where
/// passes leave results. It belongs to the code, as its constants do.
std::vector<std::byte> fourier_tables(const planner::FourierForm& form);

/// Writes the transforms of `in` to `out`; of pairs, they may be the same. The bits depend on the elements of a
/// transform alone, not on threads or on how many there are. `scratch` has fourier_layout(form).scratch_bytes(),
/// aligned to 64; nothing is allocated.
void transform(const planner::FourierForm& form, const std::byte* tables, const void* in, void* out,
               std::byte* scratch);

}  // namespace neap::cpu
