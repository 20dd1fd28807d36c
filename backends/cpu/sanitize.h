// Kernels under the sanitizer that the program is built with.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace neap::cpu {

/// Has the kernels' loads and stores checked as the program's own are. Does nothing in a build without a sanitizer.
void instrument(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace neap::cpu
