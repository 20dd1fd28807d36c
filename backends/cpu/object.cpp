#include "backends/cpu/object.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <fmt/format.h>
#include <neap/bytes.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "backends/cpu/emit.h"
#include "backends/cpu/jit.h"
#include "backends/cpu/program.h"
#include "backends/cpu/runtime/forms.h"
#include "backends/cpu/target.h"
#include "core/check.h"

namespace neap::cpu {
namespace {

using backends::Kernel;
using backends::Object;
using backends::Parameter;
using llvm::Value;
using planner::PlanData;

// Writes the function that runs a program's steps.
class Driver {
 public:
  Driver(const Lowered& lowered, const CodeTarget& target, llvm::Module& module)
      : lowered_(lowered), target_(target), module_(module), b_(module.getContext()) {}

  void emit(const PlanData& plan, const std::string& name, const Object& object,
            const std::vector<BufferPtr>& constants) {
    const std::vector<llvm::Type*> types(object.parameters.size() + 1, b_.getPtrTy());
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                       llvm::Function::ExternalLinkage, name, module_);
    emit_kernels();
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    entry_ = llvm::BasicBlock::Create(b_.getContext(), "entry", function_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "steps", function_));
    llvm::BasicBlock* const steps = b_.GetInsertBlock();
    const Program& program = *lowered_.program;
    Memory memory(plan.buffers.size(), nullptr);
    Value* const arena = function_->getArg(static_cast<unsigned>(object.parameters.size()));
    for (const auto& [buffer, offset] : program.in_arena) memory[buffer] = at(arena, offset);
    for (unsigned i = 0; i < object.parameters.size(); ++i) {
      const Parameter& p = object.parameters[i];
      Value* const pointer = function_->getArg(i);
      pointer->setName(fmt::format("{}{}", p.kind == Parameter::Kind::result ? "result" : "argument", p.number));
      if (p.kind != Parameter::Kind::result) {
        memory[input(plan, p)] = pointer;
      } else if (!p.copied) {
        memory[program.root[plan.outputs[p.number]]] = pointer;
      }
    }
    const int first_captured = static_cast<int>(plan.inputs.size()) - plan.num_captured;
    for (size_t i = 0; i < constants.size(); ++i) {
      memory[plan.inputs[static_cast<size_t>(first_captured) + i]] =
          constant({constants[i]->data(), constants[i]->requested()});  // what is behind may be anything
    }
    finish(program, plan, memory, arena);
    run(program, memory);
    return_results(plan, object, memory);
    b_.CreateRetVoid();
    b_.SetInsertPoint(entry_);
    b_.CreateBr(steps);
  }

  // Tells whether the function's own name is that of one that it calls.
  bool calls_itself() const { return !function_->use_empty(); }

  // Tells whether it calls a function of another file whose name begins so.
  bool calls(llvm::StringRef prefix) const {
    return std::ranges::any_of(
        module_, [&](const llvm::Function& f) { return f.isDeclaration() && f.getName().starts_with(prefix); });
  }

 private:
  using Memory = std::vector<Value*>;  // where each buffer lies

  static int input(const PlanData& plan, const Parameter& p) {
    const int captured = static_cast<int>(plan.inputs.size()) - plan.num_captured;
    return plan.inputs[p.kind == Parameter::Kind::captured ? captured + p.number : p.number];
  }

  Value* at(Value* pointer, int64_t bytes) {
    return bytes == 0 ? pointer : b_.CreateConstGEP1_64(b_.getInt8Ty(), pointer, static_cast<uint64_t>(bytes));
  }

  Value* integer(int64_t n) { return b_.getInt64(static_cast<uint64_t>(n)); }

  llvm::GlobalVariable* global(llvm::Constant* value, size_t alignment) {
    auto* const variable =
        new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::InternalLinkage, value);
    variable->setAlignment(llvm::Align(alignment));
    return variable;
  }

  Value* constant(std::span<const std::byte> data) {
    const llvm::StringRef bytes(reinterpret_cast<const char*>(data.data()), data.size());
    return global(llvm::ConstantDataArray::getRaw(bytes, bytes.size(), b_.getInt8Ty()), 64);
  }

  void emit_kernels() {
    std::map<std::string, llvm::Function*> known;
    for (const Kernel* kernel : lowered_.kernels) {
      llvm::Function*& function = known[kernel->print()];
      if (!function) {
        const std::string name = fmt::format("kernel.{}", known.size() - 1);
        emit_kernel(*kernel, name, target_.unit, module_);
        function = module_.getFunction(name);
        function->setLinkage(llvm::GlobalValue::InternalLinkage);
      }
      kernels_.push_back(function);
    }
  }

  // What nothing has placed so far: aliases, and buffers without elements, which are never looked at.
  void finish(const Program& program, const PlanData& plan, Memory& memory, Value* arena) {
    for (size_t i = 0; i < memory.size(); ++i) {
      const auto root = static_cast<size_t>(program.root[i]);
      if (root == i && !memory[i] && plan.buffers[i].aval.bytes() == 0) memory[i] = arena;
    }
    for (size_t i = 0; i < memory.size(); ++i) {
      const auto root = static_cast<size_t>(program.root[i]);
      if (root != i && memory[root]) memory[i] = at(memory[root], program.shift[i]);
    }
  }

  Value* place(const Memory& memory, int buffer) const {
    Value* const pointer = memory[static_cast<size_t>(buffer)];
    NEAP_CHECK(pointer, "buffer {} has no place", buffer);
    return pointer;
  }

  void run(const Program& program, const Memory& memory) {
    for (const StepCode& step : program.steps) run(step, memory);
  }

  void run(const StepCode& step, const Memory& memory) {
    using Kind = planner::PlanStep::Kind;
    switch (step.kind) {
      case Kind::scan: return loop(step.scan, memory);
      case Kind::fourier: return fourier(step.fourier, memory);
      case Kind::sort: return sort(step.sort, memory);
      case Kind::cumulative: return cumulative(step.cumulative, memory);
      case Kind::factor: return factor(step.factor, memory);
      case Kind::dot: return product("gemm", step.dot, memory);
      case Kind::convolution: return product("convolve", step.convolution, memory);
      default:
        for (const LaunchCode& launch : step.launches) this->launch(launch, memory);
    }
  }

  // The pointers of a kernel's buffers. One launch at a time runs, so one table serves all of a length.
  Value* table(const std::vector<int>& buffers, const Memory& memory, int replaced = -1, int by = -1) {
    llvm::AllocaInst*& table = tables_[buffers.size()];
    if (!table) {
      const llvm::IRBuilder<>::InsertPointGuard guard(b_);
      b_.SetInsertPoint(entry_);
      table = b_.CreateAlloca(llvm::ArrayType::get(b_.getPtrTy(), std::max<size_t>(buffers.size(), 1)));
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
      const int buffer = static_cast<int>(i) == replaced ? by : buffers[i];
      Value* const pointer = memory[static_cast<size_t>(buffer)];
      if (pointer) b_.CreateStore(pointer, b_.CreateConstGEP1_64(b_.getPtrTy(), table, i));
    }
    return table;
  }

  void call(const LaunchCode& launch, Value* buffers, std::array<std::array<Value*, 2>, 2> range, Value* part) {
    b_.CreateCall(kernels_[launch.kernel], {buffers, llvm::ConstantPointerNull::get(b_.getPtrTy()), range[0][0],
                                            range[0][1], range[1][0], range[1][1], part});
  }

  std::array<std::array<Value*, 2>, 2> whole(const LaunchCode& launch) {
    return {{{integer(0), integer(launch.extent[0])}, {integer(0), integer(launch.extent[1])}}};
  }

  void launch(const LaunchCode& launch, const Memory& memory) {
    for (const auto& [buffer, bytes] : launch.zero_fill) {
      b_.CreateMemSet(place(memory, buffer), b_.getInt8(0), bytes, llvm::MaybeAlign(1));
    }
    if (launch.split == Split::partials) return partials(launch, memory);
    Value* const buffers = table(launch.buffers, memory);
    if (launch.split != Split::tiles) return call(launch, buffers, whole(launch), integer(0));
    const auto [rows, columns] = launch.extent;
    const auto [tile_rows, tile_columns] = launch.tile;
    repeat(integer(0), integer(rows), tile_rows,
           [&, &rows = rows, &columns = columns, &tile_rows = tile_rows, &tile_columns = tile_columns](Value* row) {
             repeat(integer(0), integer(columns), tile_columns, [&](Value* column) {
               call(launch, buffers,
                    {{{row, least(rows, row, tile_rows)}, {column, least(columns, column, tile_columns)}}}, integer(0));
             });
           });
  }

  // min(most, begin + length).
  Value* least(int64_t most, Value* begin, int64_t length) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, integer(most), b_.CreateAdd(begin, integer(length)));
  }

  void partials(const LaunchCode& launch, const Memory& memory) {
    const auto level = static_cast<size_t>(launch.part_level);
    const int64_t extent = launch.extent[level];
    int first = 0;
    if (launch.part0_buffer >= 0) {  // part 0 has a table of its own
      auto range = whole(launch);
      range[level][1] = integer(std::min(extent, launch.grain));
      call(launch, table(launch.buffers, memory, launch.table, launch.part0_buffer), range, integer(0));
      first = 1;
    }
    Value* const buffers = table(launch.buffers, memory);
    repeat(integer(first), integer(launch.partials), 1, [&](Value* part) {
      auto range = whole(launch);
      Value* const begin = b_.CreateMul(part, integer(launch.grain));
      range[level] = {b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, integer(extent), begin),
                      least(extent, begin, launch.grain)};
      call(launch, buffers, range, b_.CreateSub(part, integer(first)));
    });
  }

  // for (i = begin; i < end; i += step) body(i).
  template <class Body>
  void repeat(Value* begin, Value* end, int64_t step, const Body& body) {
    repeat_while(begin, end, step, [] { return std::optional<Value*>(); }, body);
  }

  // The same while condition() yields true, where it yields a value.
  template <class Condition, class Body>
  void repeat_while(Value* begin, Value* end, int64_t step, const Condition& condition, const Body& body) {
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    const auto block = [&](const char* label) { return llvm::BasicBlock::Create(b_.getContext(), label, function_); };
    llvm::BasicBlock *const head = block("head"), *const inside = block("inside"), *const after = block("after");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* const i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(begin, before);
    Value* goes_on = b_.CreateICmpSLT(i, end);
    if (const std::optional<Value*> more = condition()) goes_on = b_.CreateAnd(goes_on, *more);
    b_.CreateCondBr(goes_on, inside, after);
    b_.SetInsertPoint(inside);
    body(i);
    i->addIncoming(b_.CreateAdd(i, integer(step)), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
  }

  void copy(Value* to, Value* from, size_t bytes) {
    if (to != from && bytes > 0) b_.CreateMemMove(to, llvm::MaybeAlign(1), from, llvm::MaybeAlign(1), bytes);
  }

  void loop(const ScanCode& scan, const Memory& memory) {
    const Program& body = *scan.body;
    for (const auto& c : scan.initial) copy(place(memory, c.to), place(memory, c.from), c.bytes);
    Memory inner(body.root.size(), nullptr);
    if (!body.in_arena.empty()) {
      Value* const arena = place(memory, scan.arena);
      for (const auto& [buffer, offset] : body.in_arena) inner[buffer] = at(arena, offset);
    }
    for (const auto& [buffer, outer] : scan.fixed) inner[buffer] = memory[outer];
    for (const auto& [buffer, root] : scan.aliases) {
      if (inner[root]) inner[buffer] = at(inner[root], body.shift[buffer]);
    }
    const auto go_to = [&](Value* t) {
      for (const auto& s : scan.sliced) {
        inner[s.body_buffer] = b_.CreateGEP(b_.getInt8Ty(), place(memory, s.plan_buffer),
                                            b_.CreateMul(t, integer(static_cast<int64_t>(s.bytes))));
      }
      for (const auto& [buffer, root] : scan.sliced_aliases) inner[buffer] = at(inner[root], body.shift[buffer]);
    };
    if (scan.at_once) {
      go_to(integer(0));
      return run(body, inner);
    }
    const auto condition = [&]() -> std::optional<Value*> {
      if (scan.condition < 0) return {};
      return b_.CreateICmpNE(b_.CreateLoad(b_.getInt8Ty(), place(memory, scan.condition)), b_.getInt8(0));
    };
    repeat_while(integer(0), integer(scan.length), 1, condition, [&](Value* i) {
      go_to(scan.reverse ? b_.CreateSub(integer(scan.length - 1), i) : i);
      run(body, inner);
      for (const auto& c : scan.carried) copy(place(memory, c.to), place(inner, c.from), c.bytes);
    });
  }

  void call_runtime(const std::string& name, std::span<const int64_t> form, std::vector<Value*> pointers) {
    pointers.insert(
        pointers.begin(),
        global(llvm::ConstantDataArray::get(
                   b_.getContext(), llvm::ArrayRef(reinterpret_cast<const uint64_t*>(form.data()), form.size())),
               8));
    const std::vector<llvm::Type*> types(pointers.size(), b_.getPtrTy());
    b_.CreateCall(module_.getOrInsertFunction(name, llvm::FunctionType::get(b_.getVoidTy(), types, false)), pointers);
  }

  Value* place_or_null(const Memory& memory, int buffer) {
    return buffer < 0 ? llvm::ConstantPointerNull::get(b_.getPtrTy()) : place(memory, buffer);
  }

  template <class Form>
  void product(std::string_view function, const ProductCode<Form>& code, const Memory& memory) {
    if (code.initial >= 0) copy(place(memory, code.out), place(memory, code.initial), code.bytes);
    call_runtime(fmt::format("neap_runtime_{}_{}_{}", function, neap::name(code.form.dtype), name(target_.isa)),
                 runtime::encode(code.form),
                 {place(memory, code.lhs), place(memory, code.rhs), place(memory, code.out),
                  place_or_null(memory, code.scratch)});
  }

  void fourier(const FourierCode& code, const Memory& memory) {
    call_runtime(fmt::format("neap_runtime_transform_{}_{}", neap::name(code.form.dtype), name(target_.isa)),
                 runtime::encode(code.form),
                 {constant(code.tables), place(memory, code.in), place(memory, code.out), place(memory, code.scratch)});
  }

  void sort(const SortCode& sort, const Memory& memory) {
    if (sort.scratch < 0) return;
    call_runtime("neap_runtime_sort", runtime::encode(sort.form),
                 {place(memory, sort.in), place(memory, sort.out), place(memory, sort.scratch)});
  }

  void cumulative(const CumulativeCode& code, const Memory& memory) {
    call_runtime("neap_runtime_cumulate", runtime::encode(code.form),
                 {place(memory, code.in), place(memory, code.out), place_or_null(memory, code.scratch)});
  }

  void factor(const FactorCode& factor, const Memory& memory) {
    call_runtime(fmt::format("neap_runtime_factor_{}", name(target_.isa)), runtime::encode(factor.form),
                 {place_or_null(memory, factor.triangle), place(memory, factor.in), place(memory, factor.out),
                  place_or_null(memory, factor.scratch)});
  }

  void return_results(const PlanData& plan, const Object& object, const Memory& memory) {
    for (unsigned i = 0; i < object.parameters.size(); ++i) {
      const Parameter& p = object.parameters[i];
      if (!p.copied) continue;
      copy(function_->getArg(i), place(memory, plan.outputs[p.number]), p.aval.bytes());
    }
  }

  const Lowered& lowered_;
  const CodeTarget& target_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;  // tables
  std::vector<llvm::Function*> kernels_;
  std::map<size_t, llvm::AllocaInst*> tables_;  // by length
};

}  // namespace

backends::Object compile_object(const PlanData& plan, const backends::ObjectRequest& request) {
  const std::vector<BufferPtr>& constants = request.constants;
  NEAP_CHECK(!plan.naive && (constants.empty() || static_cast<int>(constants.size()) == plan.num_captured),
             "{}: not a plan for an object", plan.name);
  const CodeTarget target = find_target("save", request.triple, request.cpu);
  size_t bytes = 0;
  for (const BufferPtr& constant : constants) bytes += constant->bytes();
  if (bytes > kMostConstants) {
    throw UserError(fmt::format("save: got {} of captured arrays; expected at most {}; pass them as arguments",
                                format_bytes(bytes), format_bytes(kMostConstants)));
  }
  Object object;
  object.triple = target.triple;
  object.cpu = target.cpu;
  object.arena_bytes = plan.arena_bytes;
  const int arguments = static_cast<int>(plan.inputs.size()) - plan.num_captured;
  for (int i = 0; i < static_cast<int>(plan.inputs.size()); ++i) {
    const bool captured = i >= arguments;
    if (captured && !constants.empty()) break;
    object.parameters.push_back({captured ? Parameter::Kind::captured : Parameter::Kind::argument,
                                 captured ? i - arguments : i, plan.buffers[plan.inputs[i]].aval,
                                 static_cast<size_t>(i) < plan.donated.size() && plan.donated[i]});
  }
  const std::vector<int> copied = backends::copied_results(plan);
  std::vector<int> taken;  // donated arguments that hold a result
  for (int i = 0; i < static_cast<int>(plan.outputs.size()); ++i) {
    const int home = backends::argument_of(plan, i);
    if (home >= 0 && std::ranges::count(taken, home) == 0) {
      taken.push_back(home);
      object.in_arguments.push_back({i, home});
      continue;
    }
    const bool is_copied = std::ranges::count(copied, i) > 0;
    NEAP_CHECK(is_copied || plan.buffers[plan.root(plan.outputs[i])].offset < 0, "result {} lies in the arena", i);
    object.parameters.push_back({Parameter::Kind::result, i, plan.output_avals[i], true, is_copied});
  }
  const Lowered lowered = lower_program(plan, target.unit, 1);
  object.code = compile_module(target, lowered.kernels.size(), [&](llvm::Module& module) {
    Driver driver(lowered, target, module);
    driver.emit(plan, request.function, object, constants);
    if (driver.calls_itself()) {
      throw UserError("save: got the name " + request.function +
                      ", which is a function that this one calls; expected another");
    }
    object.needs_runtime = driver.calls("neap_");
    object.needs_cxx = driver.calls("neap_runtime_factor_");
  });
  return object;
}

}  // namespace neap::cpu

namespace neap::backends {

Object object_cpu(const planner::PlanData& plan, const ObjectRequest& request) {
  return cpu::compile_object(plan, request);
}

}  // namespace neap::backends
