#include "backends/cpu/jit.h"

#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "backends/cpu/code_cache.h"
#include "backends/cpu/code_memory.h"
#include "backends/cpu/codegen.h"
#include "backends/cpu/llvm_memory.h"
#include "core/check.h"
#include "core/dump.h"
#include "core/os/os.h"
#include "core/thread_pool.h"
#include "trace/scalar/scalar_eval.h"

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

// Bytes that must be free before a compilation, and more for each of its kernels (llvm_memory.h): an estimate, not a
// measurement.
constexpr size_t kMemory = size_t{32} << 20, kMemoryOfKernel = size_t{128} << 10;

// A kernel's name in lists.
std::string listed(size_t number) { return fmt::format("neap_kernel_{}", number); }

// What lasts from one compilation to the next. The code that a session has linked is valid for as long as it lives.
struct Session : Kept {
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<Worker*> idle;  // of those
  llvm::orc::LLJITBuilder builder;
  std::unique_ptr<llvm::orc::LLJIT> llvm;
  llvm::orc::SymbolMap symbols;  // of our functions that kernels call
  bool ready = false;
  bool out_of_memory = false;  // as LLVM says where it does not throw, but reports and goes on

  // Starts LLVM, for the first worker: what an earlier process has compiled is linked without.
  void start_llvm() {
    if (workers.empty()) add(initialize_llvm());
  }

  // Some that nobody else has. After an exception they are not given back.
  std::vector<Worker*> take_workers(size_t count) {
    start_llvm();
    while (idle.size() < count) add(new_machine(host_target()));
    std::vector<Worker*> taken(idle.end() - static_cast<std::ptrdiff_t>(count), idle.end());
    idle.resize(idle.size() - count);
    return taken;
  }

  // Few are kept, and what they have grown to of one at most.
  void give_back(std::span<Worker* const> taken, const Worker* grown) {
    idle.insert(idle.end(), taken.begin(), taken.end());
    for (Worker* worker : idle) {
      if (worker != grown) worker->unit.reset();
    }
    for (const auto most = static_cast<size_t>(num_threads()); idle.size() > most; idle.erase(idle.begin())) {
      std::erase_if(workers, [&](const auto& worker) { return worker.get() == idle.front(); });
    }
  }

  void add(std::unique_ptr<llvm::TargetMachine> machine) {
    workers.push_back(std::make_unique<Worker>(std::move(machine)));
    idle.push_back(workers.back().get());
  }

  void start() {
    if (!os::load_unwinder()) throw std::bad_alloc();  // objects are linked by std::call_once, which is C within
    const llvm::Triple triple(host_target().triple);
    llvm = take(builder.setJITTargetMachineBuilder(llvm::orc::JITTargetMachineBuilder(triple))
                    .setDataLayout(llvm::DataLayout(triple.isOSBinFormatMachO() ? "m:o" : "m:e"))  // names of symbols
                    .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                    .setCompileFunctionCreator([](llvm::orc::JITTargetMachineBuilder) { return new_refusal(); })
                    .setObjectLinkingLayerCreator([](llvm::orc::ExecutionSession& session, const llvm::Triple&) {
                      return new_linking_layer(session);
                    })
                    .create());
    llvm->getExecutionSession().setErrorReporter([this](llvm::Error error) {
      llvm::handleAllErrors(std::move(error), [this](const llvm::ErrorInfoBase& info) {
        if (info.convertToErrorCode() == std::errc::not_enough_memory) {
          out_of_memory = true;
        } else {
          llvm::errs() << "LLVM: " << info.message() << '\n';
        }
      });
    });
    auto& library = llvm->getMainJITDylib();
    library.addGenerator(
        take(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(llvm->getDataLayout().getGlobalPrefix())));
    // Conversions of halves on processors without them: a module of Python has that library for itself.
    if (auto own =
            llvm::orc::DynamicLibrarySearchGenerator::Load("libgcc_s.so.1", llvm->getDataLayout().getGlobalPrefix())) {
      library.addGenerator(std::move(*own));
    } else {
      llvm::consumeError(own.takeError());
    }
    for (int f = 0; f <= static_cast<int>(scalar::Function::nextafter); ++f) {
      const auto function = static_cast<scalar::Function>(f);
      symbols[llvm->mangleAndIntern(scalar::symbol(function))] = {
          llvm::orc::ExecutorAddr::fromPtr(scalar::address(function)),
          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    }
    check(library.define(llvm::orc::absoluteSymbols(std::move(symbols))));
    ready = true;
  }
};

class Jit {
 public:
  Jit() { host_target(); }  // which has an LlvmMemory of its own

  std::vector<KernelFunction> compile(std::span<const Kernel* const> kernels, const std::string& dump_name) {
    std::vector<std::string> texts;
    for (const Kernel* kernel : kernels) texts.push_back(kernel->print());
    Lock lock(mutex_);
    if (!dump_name.empty() && dump_dir()) dump(kernels, texts, dump_name);
    make_known(lock, kernels, texts);
    std::vector<KernelFunction> result;
    for (const std::string& text : texts) result.push_back(known_.at(text));
    return result;
  }

  void compile_ahead(const Kernel& kernel, const std::stop_token& stop) {
    const std::string text = kernel.print();
    Lock lock(mutex_);
    enter_process();
    if (known_.contains(text) || is_being_made(text)) return;
    Code code = code_of(kernel, text);
    if (!code.object) in_llvm(1, [](Session& session) { session.start_llvm(); });
    if (!stop.stop_requested()) make(lock, {&code, 1});
  }

  std::string list(std::span<const Kernel* const> kernels, Listing what) {
    const std::lock_guard lock(mutex_);
    return list_unlocked(kernels, what);
  }

  CodeTarget target(const std::string& op, const std::string& triple, const std::string& cpu) {
    const std::lock_guard lock(mutex_);
    return in_llvm(1, [&](Session& session) {
      session.start_llvm();
      return named_target(op, triple, cpu);
    });
  }

  std::string object(const CodeTarget& target, size_t kernels, FunctionRef<void(llvm::Module&)> fill) {
    const std::lock_guard lock(mutex_);
    return in_llvm(kernels, [&](Session& session) {
      session.start_llvm();
      const std::unique_ptr<llvm::TargetMachine> machine = new_machine(target);
      machine->Options.FunctionSections = true;
      return with_fragile<Unit>([&](Unit& unit) {
        unit.begin(*machine, target);
        fill(*unit.module);
        return unit.generate(*machine, llvm::CodeGenFileType::ObjectFile);
      });
    });
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  // f(session), with memory in reserve. After an allocation in LLVM has failed the next one has a new session.
  template <class F>
  std::invoke_result_t<F, Session&> in_llvm(size_t kernels, F&& f) {
    if (process_ends_) refuse();
    enter_process();
    const LlvmMemory memory(kMemory + kMemoryOfKernel * kernels);
    const Session* session = nullptr;
    try {
      if (!session_ || !session_->ready) session_ = std::make_unique<Session>();
      session = session_.get();
      if (!session_->ready) session_->start();
      if constexpr (std::is_void_v<std::invoke_result_t<F, Session&>>) {
        f(*session_);
        end_before_llvm();
      } else {
        auto result = f(*session_);
        end_before_llvm();
        return result;
      }
    } catch (const std::bad_alloc&) {
      give_up(session, kernels);
    } catch (const InternalError&) {
      if (!session || !session->out_of_memory) throw;
      give_up(session, kernels);
    }
  }

  [[noreturn]] static void refuse() {
    throw DeviceError(
        "cpu: the process is about to end, and LLVM's own static objects are gone: nothing new can be compiled; call "
        "the function with such arguments once before");
  }

  // A child of fork() waits for no other thread of its parent, as far as none held the lock then.
  void enter_process() {
    if (process_ == os::process()) return;
    if (process_ != 0) {
      auto made = std::make_unique<std::condition_variable>();
      static_cast<void>(made_.release());  // of threads that are not there: it can neither be used nor end
      made_ = std::move(made);
      being_made_.clear();
    }
    process_ = os::process();
  }

  // LLVM makes static objects of its own as it first needs them. So at_exit comes before the end of each of them.
  static void end_before_llvm() {
    if (std::atexit(at_exit) != 0) throw std::bad_alloc();
  }

  // Another thread may have begun a new session meanwhile.
  [[noreturn]] void give_up(const Session* session, size_t kernels) {
    if (session && session_.get() == session) keep_for_ever(session_.release());
    throw OutOfMemoryError(fmt::format("out of memory: compiling {} kernels", kernels));
  }

  struct Code {
    const Kernel* kernel;
    const std::string* text;
    std::string symbol;
    std::optional<std::string> object;
    bool is_found = false;  // it is of an earlier process
  };

  // Kernels that a thread makes code for, so that no other does. It has the lock as this begins and ends.
  class Claim {
   public:
    Claim(Jit& jit, std::span<const Code> codes) : jit_(jit), codes_(codes) {
      jit_.being_made_.reserve(jit_.being_made_.size() + codes.size());
      for (const Code& code : codes_) jit_.being_made_.push_back(*code.text);
    }
    ~Claim() {
      for (const Code& code : codes_) std::erase(jit_.being_made_, *code.text);
      jit_.made_->notify_all();
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

   private:
    Jit& jit_;
    const std::span<const Code> codes_;
  };

  bool is_being_made(const std::string& text) const { return std::ranges::count(being_made_, text) > 0; }

  static Code code_of(const Kernel& kernel, const std::string& text) {
    std::string symbol = code_symbol(text, host_target());
    std::optional<std::string> object = load_code(symbol, text);
    const bool is_found = object.has_value();
    return {&kernel, &text, std::move(symbol), std::move(object), is_found};
  }

  // Where another thread makes some of them, this one makes the others meanwhile. What the other fails at, it tries.
  void make_known(Lock& lock, std::span<const Kernel* const> kernels, const std::vector<std::string>& texts) {
    enter_process();
    for (bool others = true; others;) {
      others = false;
      std::vector<Code> missing;
      std::unordered_set<std::string_view> seen;
      for (size_t i = 0; i < kernels.size(); ++i) {
        if (known_.contains(texts[i]) || !seen.insert(texts[i]).second) continue;
        if (is_being_made(texts[i])) {
          others = true;
        } else {
          missing.push_back(code_of(*kernels[i], texts[i]));
        }
      }
      if (!missing.empty()) {
        const bool alone = being_made_.empty();
        try {
          make(lock, missing);
        } catch (const OutOfMemoryError&) {
          if (alone) throw;
          made_->wait(lock, [&] { return being_made_.empty(); });  // then there is more memory
          others = true;
        }
      } else if (others) {
        made_->wait(lock);
      }
    }
  }

  void make(Lock& lock, std::span<Code> codes) {
    if (ends_soon_) refuse();
    const Claim claim(*this, codes);
    generate(lock, codes);
    try {
      link(codes);
    } catch (const InternalError&) {
      // The session has some of it, which it cannot link twice. What was found on disk is made anew.
      if (session_) keep_for_ever(session_.release());
      const bool found = std::ranges::any_of(codes, [](const Code& code) { return code.is_found; });
      if (!found) throw;
      for (Code& code : codes) code.object.reset(), code.is_found = false;
      generate(lock, codes);
      link(codes);
    }
  }

  // Each kernel is an object of its own, so that other programs find it. Code generation is what takes the time: it is
  // done without the lock, and several threads have a part, the longest first, so that none waits for long in the end.
  void generate(Lock& lock, std::span<Code> codes) {
    std::vector<Code*> fresh;
    for (Code& code : codes) {
      if (!code.object) fresh.push_back(&code);
    }
    if (fresh.empty()) return;
    std::ranges::sort(fresh, std::ranges::greater(), [](const Code* code) { return code->kernel->dag.size(); });
    const size_t threads = std::min(fresh.size(), static_cast<size_t>(num_threads()));
    in_llvm(fresh.size(), [&](Session& session) {
      const std::vector<Worker*> workers = session.take_workers(threads);
      end_before_llvm();
      {
        const Unlocked unlocked(lock);
        std::atomic<size_t> next{0};
        parallel_tasks(static_cast<int>(threads), [&](int slot) {
          for (size_t i; (i = next.fetch_add(1)) < fresh.size();) {
            const LlvmThread at_work;
            fresh[i]->object = workers[static_cast<size_t>(slot)]->compile(*fresh[i]->kernel, fresh[i]->symbol);
          }
        });
      }
      session.give_back(workers, fresh.size() == 1 ? workers[0] : nullptr);  // one alone, ahead: others come after it
    });
  }

  struct Unlocked {
    explicit Unlocked(Lock& lock) : lock(lock) { lock.unlock(); }
    ~Unlocked() { lock.lock(); }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
    Lock& lock;
  };

  void link(std::span<Code> codes) {
    in_llvm(codes.size(), [&](Session& session) {
      for (const Code& code : codes) {
        std::unique_ptr<llvm::MemoryBuffer> buffer = llvm::MemoryBuffer::getMemBufferCopy(*code.object, code.symbol);
        if (!buffer) throw std::bad_alloc();
        check(session.llvm->addObjectFile(std::move(buffer)));
      }
      std::vector<KernelFunction> functions;
      for (const Code& code : codes) {
        functions.push_back(take(session.llvm->lookup(code.symbol)).toPtr<KernelFunction>());
      }
      for (const Code& code : codes) {
        if (!code.is_found) store_code(code.symbol, *code.text, *code.object);
      }
      // What a session has linked must be known: it cannot link it twice.
      for (size_t i = 0; i < codes.size(); ++i) known_.emplace(*codes[i].text, functions[i]);
    });
  }

  std::string list_unlocked(std::span<const Kernel* const> kernels, Listing what) {
    return in_llvm(kernels.size(), [&](Session& session) {
      return with_fragile<Unit>([&](Unit& unit) {
        const std::vector<Worker*> workers = session.take_workers(1);
        llvm::TargetMachine& machine = *workers[0]->machine;
        unit.begin(machine, host_target());
        for (size_t i = 0; i < kernels.size(); ++i) unit.emit(*kernels[i], listed(i));
        std::string text;
        if (what == Listing::ir) {
          llvm::raw_string_ostream stream(text);
          unit.module->print(stream, nullptr);
        } else {
          text = unit.generate(machine, llvm::CodeGenFileType::AssemblyFile);
        }
        session.give_back(workers, nullptr);
        return text;
      });
    });
  }

  void dump(std::span<const Kernel* const> kernels, const std::vector<std::string>& texts, const std::string& name) {
    std::string all;
    for (size_t i = 0; i < texts.size(); ++i) all += fmt::format("# {}\n{}\n", listed(i), texts[i]);
    dump_text(name + ".kernels.txt", all);
    if (process_ends_) return;
    dump_text(name + ".ll", list_unlocked(kernels, Listing::ir));
    dump_text(name + ".s", list_unlocked(kernels, Listing::assembly));
  }

  static void at_exit();

  std::mutex mutex_;
  std::unique_ptr<Session> session_;
  std::unordered_map<std::string, KernelFunction> known_;
  std::vector<std::string_view> being_made_;  // kernels, by whoever has a Claim
  std::unique_ptr<std::condition_variable> made_ = std::make_unique<std::condition_variable>();  // or not
  bool ends_soon_ = false;  // what is begun is waited for
  std::atomic<bool> process_ends_ = false;
  std::atomic<long> process_ = 0;  // that compiled last
};

// Never destroyed: code may run in the destructor of a static object.
Jit& jit() {
  static Jit& instance = *new Jit;
  return instance;
}

// Waits for what other threads compile. A child of fork() has none of them, and what they locked stays locked there.
void Jit::at_exit() {
  Jit& self = jit();
  if (self.process_ends_) return;
  Lock lock(self.mutex_, std::defer_lock);
  if (!LlvmMemory::inside() && self.process_ == os::process()) {
    lock.lock();
    self.ends_soon_ = true;
    self.made_->wait(lock, [&] { return self.being_made_.empty(); });
  }
  self.process_ends_ = true;
}

}  // namespace

const VectorUnit& host_unit() { return host_target().unit; }

std::vector<KernelFunction> compile_kernels(std::span<const Kernel* const> kernels, const std::string& dump_name) {
  return kernels.empty() ? std::vector<KernelFunction>{} : jit().compile(kernels, dump_name);
}

void compile_kernel_ahead(const Kernel& kernel, const std::stop_token& stop) { jit().compile_ahead(kernel, stop); }

CodeTarget find_target(const std::string& op, const std::string& triple, const std::string& cpu) {
  return jit().target(op, triple, cpu);
}

std::string compile_module(const CodeTarget& target, size_t kernels, FunctionRef<void(llvm::Module&)> fill) {
  return jit().object(target, kernels, fill);
}

std::string list(std::span<const Kernel* const> kernels, Listing what) { return jit().list(kernels, what); }

}  // namespace neap::cpu
