#include "backends/cpu/codegen.h"

#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/InitializePasses.h>
#include <llvm/PassRegistry.h>

#include <neap/error.h>

#include <algorithm>
#include <new>
#include <string_view>

#include "backends/cpu/emit.h"
#include "backends/cpu/sanitize.h"
#include "core/check.h"
#include "core/os/os.h"

namespace neap::cpu {
namespace {

// Passes that have nothing to do in kernels: what they are for is not there (exceptions, variables of threads, garbage
// collection, calls that could be lines, tiles of AMX, debuggers' variables, hardening), or is done before. Strength
// reduction turns products of a loop's index into pointers that advance: the emitter writes those (Emitter::advancing),
// and the pass takes as long as all others together where code is long (an HMC step: 88 ms, without it 44). The others
// change nothing, but each takes its time, and they need analyses: a twelfth of all instructions.
constexpr std::string_view kIdlePasses[] = {
    "Analyze Machine Code For Garbage Collection",
    "Contiguously Lay Out Funclets",
    "Exception handling preparation",
    "Expand indirectbr instructions",
    "Expand large div/rem",
    "Expand large fp convert",
    "Expand memcmp() to load/stores",
    "Fixup Statepoint Caller Saved",
    "Implement the 'patchable-function' attribute",
    "Insert KCFI indirect call checks",
    "Insert XRay ops",
    "Insert fentry calls",
    "Instrument function entry/exit with calls to e.g. mcount() (post inlining)",
    "Live DEBUG_VALUE analysis",
    "Local Dynamic TLS Access Clean-up",
    "Loop Strength Reduction",
    "Lower AMX intrinsics",
    "Lower AMX type for load/store",
    "Lower Garbage Collection Instructions",
    "Machine Sanitizer Binary Metadata",
    "Merge contiguous icmps into a memcmp",
    "Partially inline calls to library functions",
    "Prepare callbr",
    "Pseudo Probe Inserter",
    "Remove Redundant DEBUG_VALUE analysis",
    "Replace intrinsics with calls to vector library",
    "Safe Stack instrumentation pass",
    "Shadow Stack GC Lowering",
    "Stack Frame Layout Analysis",
    "StackMap Liveness Analysis",
    "TLS Variable Hoist",
    "Tile Register Configure",
    "Tile Register Pre-configure",
    "X86 Atom pad short functions",
    "X86 Discriminate Memory Operands",
    "X86 Indirect Branch Tracking",
    "X86 Indirect Thunks",
    "X86 Insert Cache Prefetches",
    "X86 Load Value Injection (LVI) Load Hardening",
    "X86 Load Value Injection (LVI) Ret-Hardening",
    "X86 Lower Tile Copy",
    "X86 Return Thunks",
    "X86 Speculative Execution Side Effect Suppression",
    "X86 Windows Fixup Buffer Security Check",
    "X86 speculative load hardening",
};
static_assert(std::ranges::is_sorted(kIdlePasses));

bool is_idle(const llvm::Pass& pass) {
  return std::ranges::binary_search(kIdlePasses, std::string_view(pass.getPassName()));
}

// Emits 16 products, and fills two tables of instructions that x86 has: one of loads that can be taken out of loops,
// and one of constants that can be shorter, which LLVM makes as it first meets a vector.
void emit_sample(const llvm::TargetMachine& machine, Unit& unit) {
  unit.begin(machine, host_target());
  llvm::IRBuilder<> b(unit.context);
  llvm::Type* const floats = llvm::FixedVectorType::get(b.getFloatTy(), 16);
  auto* const type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  auto* const f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "neap_sample", *unit.module);
  prefer_wide_vectors(*f, host_target().unit);
  b.SetInsertPoint(llvm::BasicBlock::Create(unit.context, "entry", f));
  b.CreateStore(b.CreateFMul(b.CreateLoad(floats, f->getArg(0)), llvm::ConstantFP::get(floats, 3)), f->getArg(0));
  b.CreateRetVoid();
  machine.getSubtargetImpl(*f)->getInstrInfo()->getOpcodeAfterMemoryUnfold(0, true, false);
}

}  // namespace

void Passes::add(llvm::Pass* pass) {
  const std::unique_ptr<llvm::Pass> idle(is_idle(*pass) ? pass : nullptr);
  if (!idle) PassManager::add(pass);
}

void Unit::begin(const llvm::TargetMachine& machine, const CodeTarget& target) {
  module = std::make_unique<llvm::Module>("neap", context);
  module->setDataLayout(machine.createDataLayout());
  module->setTargetTriple(target.triple);
}

void Unit::emit(const backends::Kernel& kernel, const std::string& symbol) {
  emit_kernel(kernel, symbol, host_target().unit, *module);
}

void Unit::add_passes(llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  NEAP_CHECK(!machine.addPassesToEmitFile(passes, stream, nullptr, type), "LLVM cannot emit this file type");
}

std::string Unit::generate() {
  out.clear();
  passes.run(*module);
  ++files;
  return {out.begin(), out.end()};
}

std::string Unit::generate(llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  add_passes(machine, type);
  return generate();
}

std::string Worker::compile(const backends::Kernel& kernel, const std::string& symbol) {
  if (!unit || unit->files == kMostFiles) {
    unit = std::make_unique<Unit>();
    unit->add_passes(*machine, llvm::CodeGenFileType::ObjectFile);
  }
  unit->begin(*machine, host_target());
  unit->emit(kernel, symbol);
  instrument(*unit->module, *machine);
  return unit->generate();
}

std::unique_ptr<llvm::TargetMachine> initialize_llvm() {
  static bool begun = false, done = false;
  if (done) return new_machine(host_target());
  if (begun) throw OutOfMemoryError("out of memory: LLVM could not be started, and cannot be in this process any more");
  if (!os::load_unwinder()) throw std::bad_alloc();  // passes are registered by std::call_once, which is C within
  begun = true;
  llvm::PassRegistry& registry = *llvm::PassRegistry::getPassRegistry();
  llvm::initializeCore(registry);
  llvm::initializeAnalysis(registry);
  llvm::initializeTransformUtils(registry);
  llvm::initializeScalarOpts(registry);
  llvm::initializeInstCombine(registry);
  llvm::initializeVectorization(registry);
  llvm::initializeIPO(registry);
  llvm::initializeTarget(registry);
  llvm::initializeCodeGen(registry);
  llvm::initializeGlobalISel(registry);
  add_targets();
  std::unique_ptr<llvm::TargetMachine> machine = new_machine(host_target());
  // The code generator has passes of its own, which are registered as they are put together.
  with_fragile<Unit>([&](Unit& unit) {
    emit_sample(*machine, unit);
    unit.generate(*machine, llvm::CodeGenFileType::ObjectFile);
  });
  done = true;
  return machine;
}

}  // namespace neap::cpu
