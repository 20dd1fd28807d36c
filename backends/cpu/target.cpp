#include "backends/cpu/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>
#include <llvm/TargetParser/Triple.h>

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpu/llvm_memory.h"
#include "core/ascii.h"
#include "core/check.h"

namespace neap::cpu {
namespace {

constexpr size_t kMemory = size_t{4} << 20;  // for a look at a target: an estimate, not a measurement

VectorUnit unit_of(Isa isa) {
  VectorUnit unit;
  unit.avx2 = isa != Isa::baseline;
  unit.bits = isa == Isa::avx512 ? 512 : unit.avx2 ? 256 : 128;
  return unit;
}

CodeTarget host() {
  const LlvmMemory memory(kMemory);
  CodeTarget host;
  host.triple = llvm::sys::getProcessTriple();
  host.isa = isa();
  host.unit = unit_of(host.isa);
  if (isa() != best_isa()) {
    host.cpu = host.unit.avx2 ? "x86-64-v3" : "x86-64";
    return host;
  }
  host.cpu = llvm::sys::getHostCPUName();
  llvm::SubtargetFeatures list;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) list.AddFeature(feature.first(), feature.second);
  host.features = list.getString();
  return host;
}

// Object files of systems as Linux is one, with pointers of 64 bits.
bool is_known(const llvm::Triple& triple) {
  using T = llvm::Triple;
  const bool arch = triple.getArch() == T::x86_64 || triple.getArch() == T::aarch64;
  const T::EnvironmentType abi = triple.getEnvironment();
  const bool narrow = triple.isX32() || abi == T::GNUILP32;
  return arch && triple.isOSBinFormatELF() && !narrow && !triple.isOSWindows() && triple.getOS() != T::UEFI;
}

const llvm::Target* find(const std::string& text, const llvm::Triple& triple) {
  const auto plain = [](char c) { return ascii::is_alnum(c) || c == '_' || c == '.' || c == '-'; };
  if (!std::ranges::all_of(text, plain) || !is_known(triple)) return nullptr;
  std::string message;
  return llvm::TargetRegistry::lookupTarget(triple.str(), message);
}

}  // namespace

void add_targets() {
#if LLVM_HAS_X86_TARGET
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
#endif
#if LLVM_HAS_AARCH64_TARGET
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
#endif
}

const CodeTarget& host_target() {
  static const CodeTarget& instance = *new CodeTarget(host());  // never destroyed, as Jit
  return instance;
}

CodeTarget named_target(const std::string& op, const std::string& triple, const std::string& cpu) {
  if (triple.empty() && cpu.empty()) return host_target();
  const llvm::Triple named(llvm::Triple::normalize(triple.empty() ? host_target().triple : triple));
  const llvm::Target* target = find(triple, named);
  if (!target) {
    throw UserError(
        op + ": got the target \"" + triple +
        "\"; expected a triple of x86_64 or aarch64 with 64-bit pointers and ELF files, such as aarch64-linux-gnu");
  }
  CodeTarget result;
  result.triple = named.str();
  const bool x86 = named.getArch() == llvm::Triple::x86_64;
  result.cpu = !cpu.empty() ? cpu : x86 ? "x86-64" : "generic";
  const std::unique_ptr<llvm::MCSubtargetInfo> plain(target->createMCSubtargetInfo(result.triple, "", ""));
  const bool valid = plain && plain->isCPUStringValid(result.cpu);
  const std::unique_ptr<llvm::MCSubtargetInfo> info(valid ? target->createMCSubtargetInfo(result.triple, result.cpu, "")
                                                          : nullptr);
  if (!info || (x86 && !info->checkFeatures("+64bit"))) {
    throw UserError(
        fmt::format("{}: got the processor \"{}\"; expected one of 64 bits that LLVM knows of {}, such as {}", op, cpu,
                    result.triple, x86 ? "x86-64-v3 or znver4" : "cortex-a72 or neoverse-n1"));
  }
  if (x86 && info->checkFeatures("+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe")) {
    result.isa = info->checkFeatures("+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl") ? Isa::avx512 : Isa::avx2;
  }
  result.unit = unit_of(result.isa);
  return result;
}

std::unique_ptr<llvm::TargetMachine> new_machine(const CodeTarget& code) {
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(code.triple, message);
  NEAP_CHECK(target, "LLVM: {}", message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // a * b + c is two roundings
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(code.triple, code.cpu, code.features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Less, true));
  NEAP_CHECK(machine, "LLVM makes no code for {}", code.triple);
  return machine;
}

}  // namespace neap::cpu
