// Linked code lies in blocks of memory, filled one kernel after the other. Kernels have no data but constants, which
// lie among the code. So all pages of code have the same rights, and the system, which allows a process only so many
// ranges of memory with rights of their own (65,530 of Linux), counts each block as one range or two; LLVM's way takes
// three for each compilation.
#pragma once

#include <llvm/ExecutionEngine/Orc/IRCompileLayer.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <memory>

namespace neap::cpu {

std::unique_ptr<llvm::orc::ObjectLinkingLayer> new_linking_layer(llvm::orc::ExecutionSession& session);

/// Makes the compiler of a session that links objects alone: it refuses.
std::unique_ptr<llvm::orc::IRCompileLayer::IRCompiler> new_refusal();

}  // namespace neap::cpu
