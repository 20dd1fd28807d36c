// For which processor code is made: the one that runs it, or one that is named. Tested in
// tests/jit/save_test.cpp.
#pragma once

#include <memory>
#include <string>

#include "backends/cpu/analysis.h"
#include "core/isa.h"

namespace llvm {
class TargetMachine;
}

namespace neap::cpu {

struct CodeTarget {
  std::string triple, cpu, features;  // as LLVM names them
  VectorUnit unit;
  Isa isa = Isa::baseline;  // of products and factorizations
};

/// Describes the machine that runs this, or what NEAP_ISA makes of it.
const CodeTarget& host_target();

/// Describes another: a triple such as "aarch64-linux-gnu" (empty: this machine's) and the name that LLVM has for a
/// processor, such as "cortex-a72" or "x86-64-v3" (empty: this one, or the oldest of another triple). Throws UserError
/// where this build makes no code for it; `op` begins the message. Only within a session of jit.cpp:
/// find_target (backends/cpu/jit.h) is for all.
CodeTarget named_target(const std::string& op, const std::string& triple, const std::string& cpu);

/// Tells LLVM of the processors that its build has of those above. jit.cpp does so once, as it starts LLVM.
void add_targets();

/// Makes LLVM's description of the target; products and sums stay two roundings.
std::unique_ptr<llvm::TargetMachine> new_machine(const CodeTarget& target);

}  // namespace neap::cpu
