#include "backends/cpu/sanitize.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backends/kernel.h"
#include "core/sanitize.h"

#if defined(NEAP_ASAN) || defined(NEAP_TSAN) || defined(NEAP_UBSAN)
#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Instrumentation/AddressSanitizer.h>
#include <llvm/Transforms/Instrumentation/ThreadSanitizer.h>
#endif

namespace neap::cpu {

#if defined(NEAP_ASAN) || defined(NEAP_TSAN) || defined(NEAP_UBSAN)

namespace {

void run(llvm::ModulePassManager passes, llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  passes.run(module, modules);
}

[[maybe_unused]] void typed_as_kernel(void* const*, const int64_t*, int64_t, int64_t, int64_t, int64_t, int64_t) {}

// A call through a pointer checks the two words before the function, which say its type: those that the compiler
// gives a function of the type of kernels.
[[maybe_unused]] void tell_type(llvm::Function& function) {
  const backends::KernelFunction sample = typed_as_kernel;
  std::array<uint32_t, 2> words;
  std::memcpy(words.data(), reinterpret_cast<const char*>(sample) - sizeof words, sizeof words);
  llvm::LLVMContext& context = function.getContext();
  const auto constant = [&](uint32_t word) {
    return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), word));
  };
  function.setMetadata(llvm::LLVMContext::MD_func_sanitize,
                       llvm::MDNode::get(context, {constant(words[0]), constant(words[1])}));
}

}  // namespace

void instrument(llvm::Module& module, llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
#ifdef NEAP_UBSAN
    tell_type(function);
#endif
#ifdef NEAP_ASAN
    function.addFnAttr(llvm::Attribute::SanitizeAddress);
#endif
#ifdef NEAP_TSAN
    function.addFnAttr(llvm::Attribute::SanitizeThread);
#endif
  }
  llvm::ModulePassManager passes;
#ifdef NEAP_ASAN
  llvm::AddressSanitizerOptions options;
  options.UseAfterReturn = llvm::AsanDetectStackUseAfterReturnMode::Never;
  // No constructor, as nothing would run it: kernels have no globals that it would have to register.
  passes.addPass(llvm::AddressSanitizerPass(options, false, false, llvm::AsanDtorKind::None, llvm::AsanCtorKind::None));
#endif
#ifdef NEAP_TSAN
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::ThreadSanitizerPass()));
#endif
  run(std::move(passes), module, machine);
}

#else

void instrument(llvm::Module&, llvm::TargetMachine&) {}

#endif

}  // namespace neap::cpu
