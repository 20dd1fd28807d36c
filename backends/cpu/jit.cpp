#include "backends/cpu/jit.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "backends/cpu/emit.h"
#include "backends/cpu/sanitize.h"
#include "core/check.h"
#include "core/dump.h"
#include "core/thread_pool.h"
#include "trace/scalar_eval.h"

namespace neap::cpu {
namespace {

using backends::Kernel;
using backends::KernelFunction;

template <class T>
T take(llvm::Expected<T> value) {
  if (!value) NEAP_CHECK(false, "LLVM: {}", llvm::toString(value.takeError()));
  return std::move(*value);
}

void check(llvm::Error error) {
  if (error) NEAP_CHECK(false, "LLVM: {}", llvm::toString(std::move(error)));
}

struct Host {
  std::string triple, cpu, features;
  VectorUnit unit;

  Host() : triple(llvm::sys::getProcessTriple()), cpu(llvm::sys::getHostCPUName()) {
    llvm::SubtargetFeatures list;
    const auto map = llvm::sys::getHostCPUFeatures();
    for (const auto& feature : map) list.AddFeature(feature.first(), feature.second);
    features = list.getString();
    const auto has = [&](const char* name) { return map.lookup(name); };
    unit.avx2 = has("avx2");
    unit.bits = has("avx512f") && has("avx512bw") && has("avx512vl") ? 512 : unit.avx2 ? 256 : 128;
  }
};

const Host& host() {
  static const Host instance;
  return instance;
}

class Jit {
 public:
  Jit() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    machines_.push_back(new_machine());
    session_ = take(llvm::orc::LLJITBuilder()
                        .setJITTargetMachineBuilder(llvm::orc::JITTargetMachineBuilder(llvm::Triple(host().triple)))
                        .setDataLayout(machines_[0]->createDataLayout())
                        .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                        .setObjectLinkingLayerCreator([](llvm::orc::ExecutionSession& session, const llvm::Triple&) {
                          return std::make_unique<llvm::orc::ObjectLinkingLayer>(session);
                        })
                        .create());
    auto& library = session_->getMainJITDylib();
    library.addGenerator(take(
        llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(session_->getDataLayout().getGlobalPrefix())));
    llvm::orc::SymbolMap symbols;
    for (int f = 0; f <= static_cast<int>(scalar::Function::nextafter); ++f) {
      const auto function = static_cast<scalar::Function>(f);
      symbols[session_->mangleAndIntern(scalar::symbol(function))] = {
          llvm::orc::ExecutorAddr::fromPtr(scalar::address(function)),
          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    }
    check(library.define(llvm::orc::absoluteSymbols(std::move(symbols))));
  }

  std::vector<KernelFunction> compile(std::span<const Kernel* const> kernels, const std::string& dump_name) {
    std::vector<std::string> texts;
    for (const Kernel* kernel : kernels) texts.push_back(kernel->print());
    const std::lock_guard lock(mutex_);
    std::vector<const Kernel*> missing;
    std::vector<KernelFunction*> slots;
    std::string names;
    for (size_t i = 0; i < kernels.size(); ++i) {
      const auto [entry, added] = known_.try_emplace(texts[i], nullptr);
      if (!added) continue;
      missing.push_back(kernels[i]);
      slots.push_back(&entry->second);
    }
    if (!dump_name.empty() && dump_dir()) dump(kernels, texts, dump_name);
    if (!missing.empty()) {
      try {
        add(missing, slots);
      } catch (...) {
        std::erase_if(known_, [](const auto& entry) { return entry.second == nullptr; });
        throw;
      }
    }
    std::vector<KernelFunction> result;
    for (const std::string& text : texts) result.push_back(known_.at(text));
    return result;
  }

  std::string list(std::span<const Kernel* const> kernels, Listing what) {
    const std::lock_guard lock(mutex_);
    return list_unlocked(kernels, what);
  }

 private:
  static std::string symbol(size_t number) { return fmt::format("neap_kernel_{}", number); }

  static std::unique_ptr<llvm::TargetMachine> new_machine() {
    std::string message;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(host().triple, message);
    NEAP_CHECK(target, "LLVM: {}", message);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // a * b + c is two roundings
    return std::unique_ptr<llvm::TargetMachine>(
        target->createTargetMachine(host().triple, host().cpu, host().features, options, llvm::Reloc::PIC_,
                                    llvm::CodeModel::Small, llvm::CodeGenOptLevel::Less, true));
  }

  // Kernels first, first + step, ... of the list, under the symbols of their numbers.
  static std::unique_ptr<llvm::Module> module(llvm::LLVMContext& context, const llvm::TargetMachine& machine,
                                              std::span<const Kernel* const> kernels, size_t number, size_t first = 0,
                                              size_t step = 1) {
    auto module = std::make_unique<llvm::Module>("neap", context);
    module->setDataLayout(machine.createDataLayout());
    module->setTargetTriple(host().triple);
    for (size_t i = first; i < kernels.size(); i += step) {
      emit_kernel(*kernels[i], symbol(number + i), host().unit, *module);
    }
    return module;
  }

  static llvm::SmallVector<char, 0> generate(llvm::Module& module, llvm::TargetMachine& machine,
                                             llvm::CodeGenFileType type) {
    llvm::SmallVector<char, 0> out;
    llvm::raw_svector_ostream stream(out);
    llvm::legacy::PassManager passes;
    NEAP_CHECK(!machine.addPassesToEmitFile(passes, stream, nullptr, type), "LLVM cannot emit this file type");
    passes.run(module);
    return out;
  }

  // Several kernels are dealt to several threads: code generation is what takes the time.
  void add(std::span<const Kernel* const> kernels, std::span<KernelFunction* const> slots) {
    const auto groups = static_cast<int>(std::clamp<size_t>(kernels.size() / 2, 1, static_cast<size_t>(num_threads())));
    while (machines_.size() < static_cast<size_t>(groups)) machines_.push_back(new_machine());
    std::vector<llvm::SmallVector<char, 0>> objects(static_cast<size_t>(groups));
    parallel_tasks(groups, [&](int g) {
      const auto group = static_cast<size_t>(g);
      llvm::LLVMContext context;
      const auto m = module(context, *machines_[group], kernels, next_, group, objects.size());
      instrument(*m, *machines_[group]);
      objects[group] = generate(*m, *machines_[group], llvm::CodeGenFileType::ObjectFile);
    });
    for (size_t g = 0; g < objects.size(); ++g) {
      check(session_->addObjectFile(std::make_unique<llvm::SmallVectorMemoryBuffer>(
          std::move(objects[g]), fmt::format("neap_{}_{}", next_, g), false)));
    }
    for (KernelFunction* slot : slots) *slot = take(session_->lookup(symbol(next_++))).toPtr<KernelFunction>();
  }

  std::string list_unlocked(std::span<const Kernel* const> kernels, Listing what) {
    llvm::LLVMContext context;
    const auto m = module(context, *machines_[0], kernels, 0);
    std::string text;
    if (what == Listing::ir) {
      llvm::raw_string_ostream stream(text);
      m->print(stream, nullptr);
    } else {
      const auto out = generate(*m, *machines_[0], llvm::CodeGenFileType::AssemblyFile);
      text.assign(out.begin(), out.end());
    }
    return text;
  }

  void dump(std::span<const Kernel* const> kernels, const std::vector<std::string>& texts, const std::string& name) {
    std::string all;
    for (size_t i = 0; i < texts.size(); ++i) all += fmt::format("# {}\n{}\n", symbol(i), texts[i]);
    dump_text(name + ".kernels.txt", all);
    dump_text(name + ".ll", list_unlocked(kernels, Listing::ir));
    dump_text(name + ".s", list_unlocked(kernels, Listing::assembly));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<llvm::TargetMachine>> machines_;  // one for each thread that compiles
  std::unique_ptr<llvm::orc::LLJIT> session_;
  std::unordered_map<std::string, KernelFunction> known_;
  size_t next_ = 0;
};

// Never destroyed: code may run in the destructor of a static object.
Jit& jit() {
  static Jit& instance = *new Jit;
  return instance;
}

}  // namespace

const VectorUnit& host_unit() { return host().unit; }

std::vector<KernelFunction> compile_kernels(std::span<const Kernel* const> kernels, const std::string& dump_name) {
  return kernels.empty() ? std::vector<KernelFunction>{} : jit().compile(kernels, dump_name);
}

std::string list(std::span<const Kernel* const> kernels, Listing what) { return jit().list(kernels, what); }

}  // namespace neap::cpu
