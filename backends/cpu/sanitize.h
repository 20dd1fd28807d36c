// Kernels run under the sanitizer that the program is built with. Tested in tests/backends/cpu_sanitize_test.cpp.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace neap::cpu {

/// Makes the kernels' loads and stores be checked as the program's own are. It does nothing in a build without a
/// sanitizer.
void instrument(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace neap::cpu
