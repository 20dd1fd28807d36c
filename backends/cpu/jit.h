// Kernels become machine code in one LLVM ORC session for the process, with a cache of what it has compiled.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "backends/cpu/analysis.h"
#include "backends/cpu/target.h"
#include "backends/kernel.h"
#include "core/function_ref.h"

namespace llvm {
class Module;
}

namespace neap::cpu {

/// Describes the vector units of the machine that runs this.
const VectorUnit& host_unit();

/// Returns the code of each kernel, valid for the life of the process. Kernels with equal text share it; those not yet
/// known are compiled together. With NEAP_DUMP it writes `dump_name`.kernels.txt, .ll and .s.
std::vector<backends::KernelFunction> compile_kernels(std::span<const backends::Kernel* const> kernels,
                                                      const std::string& dump_name);

/// Compiles a kernel for compile_kernels() to find, unless another thread does. LLVM is started for it, once in a
/// process, which takes as long as some kernels do: nothing is compiled where a stop is requested meanwhile.
void compile_kernel_ahead(const backends::Kernel& kernel, const std::stop_token& stop);

/// Returns named_target() of these (backends/cpu/target.h).
CodeTarget find_target(const std::string& op, const std::string& triple, const std::string& cpu);
/// Returns the object file of a module that `fill` writes, of about so many kernels. Nothing of it runs here.
std::string compile_module(const CodeTarget& target, size_t kernels, FunctionRef<void(llvm::Module&)> fill);

/// Names the forms in which list() writes kernels, for NEAP_DUMP and for reading while tuning.
enum class Listing { ir, assembly };
std::string list(std::span<const backends::Kernel* const> kernels, Listing what);

}  // namespace neap::cpu
