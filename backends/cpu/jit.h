// Kernels become machine code in one LLVM ORC session for the process, with a cache of what it has compiled.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/cpu/analysis.h"
#include "backends/kernel.h"

namespace neap::cpu {

/// Describes the vector units of the machine that runs this.
const VectorUnit& host_unit();

/// Returns the code of each kernel, valid for the life of the process. Kernels with equal text share it; those not yet
/// known are compiled together. With NEAP_DUMP it writes `dump_name`.kernels.txt, .ll and .s.
std::vector<backends::KernelFunction> compile_kernels(std::span<const backends::Kernel* const> kernels,
                                                      const std::string& dump_name);

/// Names the forms in which list() writes kernels, for NEAP_DUMP and for reading while tuning.
enum class Listing { ir, assembly };
std::string list(std::span<const backends::Kernel* const> kernels, Listing what);

}  // namespace neap::cpu
