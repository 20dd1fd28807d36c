// A kernel becomes LLVM IR with explicit vectors. Start reading at emitter.h.
#pragma once

#include <string>

#include "backends/cpu/analysis.h"
#include "backends/kernel.h"

namespace llvm {
class Module;
}

namespace neap::cpu {

/// Adds a function `name` of type KernelFunction to the module.
void emit_kernel(const backends::Kernel& kernel, const std::string& name, const VectorUnit& unit, llvm::Module& module);

}  // namespace neap::cpu
