// A kernel becomes LLVM IR with explicit vectors. Start reading at emitter.h.
#pragma once

#include <string>

#include "backends/cpu/analysis.h"
#include "backends/kernel.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace neap::cpu {

/// Adds a function `name` of type KernelFunction to the module.
void emit_kernel(const backends::Kernel& kernel, const std::string& name, const VectorUnit& unit, llvm::Module& module);

/// Says that the function has the registers of the unit, of which some machines are described as preferring half.
void prefer_wide_vectors(llvm::Function& function, const VectorUnit& unit);

}  // namespace neap::cpu
