// LLVM's code generator as kernels need it: started once in a process, without passes that do nothing for them, put
// together once for many kernels.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "backends/cpu/llvm_memory.h"
#include "backends/cpu/target.h"
#include "backends/kernel.h"

namespace neap::cpu {

/// LLVM's passes of code generation without those that have nothing to do in kernels.
class Passes : public llvm::legacy::PassManager {
 public:
  void add(llvm::Pass* pass) override;
};

/// Makes files of some kernels each, one after the other.
struct Unit : Kept {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream stream{out};
  Passes passes;
  size_t files = 0;

  void begin(const llvm::TargetMachine& machine, const CodeTarget& target);
  void emit(const backends::Kernel& kernel, const std::string& symbol);
  void add_passes(llvm::TargetMachine& machine, llvm::CodeGenFileType type);
  std::string generate();
  std::string generate(llvm::TargetMachine& machine, llvm::CodeGenFileType type);
};

/// What a thread compiles kernels with. Putting the passes together takes an eighth of the time of a small kernel, so
/// that they are used again; passes and contexts keep what they have grown to, megabytes, which is therefore bounded.
struct Worker {
  static constexpr size_t kMostFiles = 64;

  explicit Worker(std::unique_ptr<llvm::TargetMachine> machine) : machine(std::move(machine)) {}

  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<Unit> unit;

  std::string compile(const backends::Kernel& kernel, const std::string& symbol);
};

/// LLVM's state of the process, as far as it can be made at once: each of its passes would otherwise be registered by
/// the first compilation that needs it, and some tables filled, under locks. Where memory runs out meanwhile a lock
/// stays taken, so that LLVM can never be used again; it is refused then.
/// Returns a machine that has made code, or one that has not.
std::unique_ptr<llvm::TargetMachine> initialize_llvm();

}  // namespace neap::cpu
