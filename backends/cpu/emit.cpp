#include "backends/cpu/emit.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "backends/cpu/emitter.h"
#include "core/check.h"

namespace neap::cpu {

Emitter::Emitter(const backends::Kernel& kernel, const std::string& name, const VectorUnit& unit, llvm::Module& module)
    : a(kernel, unit),
      k(kernel),
      unit_(unit),
      W(a.lanes),
      module_(module),
      context_(module.getContext()),
      b(context_),
      shared_(static_cast<size_t>(kernel.dag.size())) {
  llvm::Type* i64 = b.getInt64Ty();
  llvm::Type* pointer = b.getPtrTy();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, i64, i64, i64, i64, i64}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  prefer_wide_vectors(*function_, unit);
  const char* names[] = {"buffers", "params", "begin0", "end0", "begin1", "end1", "part"};
  for (unsigned i = 0; i < 7; ++i) function_->getArg(i)->setName(names[i]);
  params_ = function_->getArg(1);
  for (unsigned level = 0; level < 2; ++level) {
    for (unsigned end = 0; end < 2; ++end) bounds_[level][end] = function_->getArg(2 + 2 * level + end);
  }
  part_ = function_->getArg(6);

  entry_ = new_block("entry");
  b.SetInsertPoint(entry_);
  // Those that the code uses: a piece of a large concatenation reads one of very many.
  std::vector<bool> used(k.buffers.size(), false);
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    if (k.dag[id].op == Opcode::load) used[k.dag[id].imm] = true;
  }
  for (const auto& s : k.stores) used[s.buffer] = true;
  for (const auto& r : k.reductions) {
    used[r.buffer] = true;
    if (r.initial >= 0) used[r.initial] = true;
  }
  for (const auto& s : k.scatters) used[s.buffer] = true;
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    Value* place = used[i] ? b.CreateConstGEP1_64(pointer, function_->getArg(0), i) : nullptr;
    buffers_.push_back(place ? b.CreateLoad(pointer, place, k.buffers[i].label) : nullptr);
  }
}

llvm::BasicBlock* Emitter::new_block(const char* label) { return llvm::BasicBlock::Create(context_, label, function_); }

llvm::AllocaInst* Emitter::stack(llvm::Type* type, const char* label) {
  const llvm::IRBuilder<>::InsertPointGuard guard(b);
  b.SetInsertPoint(entry_, entry_->begin());
  return b.CreateAlloca(type, nullptr, label);
}

Value* Emitter::loop(Value* begin, Value* end, int64_t step, std::vector<Value*>& carried,
                     const std::function<void(Value*, std::vector<Value*>&)>& body, const char* label,
                     bool to_the_end) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* head = new_block(label);
  llvm::BasicBlock* after = new_block("after");
  Value* limit = step == 1 || to_the_end ? end : b.CreateSub(end, b.getInt64(static_cast<uint64_t>(step - 1)));
  b.CreateCondBr(b.CreateICmpSLT(begin, limit), head, after);
  b.SetInsertPoint(head);
  llvm::PHINode* index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(begin, before);
  std::vector<llvm::PHINode*> phis;
  std::vector<Value*> inside;
  for (Value* v : carried) {
    phis.push_back(b.CreatePHI(v->getType(), 2));
    phis.back()->addIncoming(v, before);
    inside.push_back(phis.back());
  }
  body(index, inside);
  llvm::BasicBlock* last = b.GetInsertBlock();
  Value* next = b.CreateAdd(index, b.getInt64(static_cast<uint64_t>(step)), "", false, true);
  b.CreateCondBr(b.CreateICmpSLT(next, limit), head, after);
  index->addIncoming(next, last);
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(inside[i], last);

  b.SetInsertPoint(after);
  const auto join = [&](Value* from_before, Value* from_last) {
    llvm::PHINode* phi = b.CreatePHI(from_before->getType(), 2);
    phi->addIncoming(from_before, before);
    phi->addIncoming(from_last, last);
    return phi;
  };
  Value* stopped = join(begin, next);
  for (size_t i = 0; i < carried.size(); ++i) carried[i] = join(carried[i], inside[i]);
  return stopped;
}

void Emitter::branch(Value* condition, std::vector<Value*>& carried,
                     const std::function<void(std::vector<Value*>&)>& then, const char* label) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* yes = new_block(label);
  llvm::BasicBlock* after = new_block("after");
  b.CreateCondBr(condition, yes, after);
  b.SetInsertPoint(yes);
  std::vector<Value*> inside = carried;
  then(inside);
  llvm::BasicBlock* last = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  for (size_t i = 0; i < carried.size(); ++i) {
    llvm::PHINode* phi = b.CreatePHI(carried[i]->getType(), 2);
    phi->addIncoming(carried[i], before);
    phi->addIncoming(inside[i], last);
    carried[i] = phi;
  }
}

void Emitter::vector_loop(int level, std::vector<Value*>& carried,
                          const std::function<void(Value*, Value*, std::vector<Value*>&)>& body) {
  Value* begin = bounds_[level][0];
  Value* end = bounds_[level][1];
  const int64_t extent = k.extent[level];
  if (extent >= a.lanes) {
    begin = loop(
        begin, end, a.lanes, carried, [&](Value* index, std::vector<Value*>& inside) { body(index, nullptr, inside); },
        "lanes");
  }
  if (extent % a.lanes != 0) tail_loop(begin, end, carried, body);
}

void Emitter::tail_loop(Value* begin, Value* end, std::vector<Value*>& carried,
                        const std::function<void(Value*, Value*, std::vector<Value*>&)>& body) {
  W = a.tail_lanes;
  loop(
      begin, end, W, carried,
      [&](Value* index, std::vector<Value*>& inside) {
        Value* rest = b.CreateSub(end, index);
        Value* lanes = b.getInt64(static_cast<uint64_t>(W));
        body(index, b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rest, lanes), inside);
      },
      "tail", true);
  W = a.lanes;
}

Body Emitter::body_at(Value* outer, Value* inner) {
  Body body(static_cast<size_t>(k.dag.size()));
  body.blocks[0] = start_;
  body.blocks[1] = row_block_;
  body.blocks[2] = b.GetInsertBlock();
  body.index[a.outer] = outer;
  body.index[a.inner] = inner;
  return body;
}

// A lane past the end repeats the last element.
void Emitter::start_tail(Body& body, Value* count) {
  body.count = count;
  Value* last = b.CreateTrunc(b.CreateSub(count, b.getInt64(1)), b.getInt32Ty());
  body.offsets = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, lane_numbers(b.getInt32Ty()), splat(last));
}

void Emitter::compute(Body& body, const std::vector<bool>* wanted) {
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    if (!a.needed(id) || (wanted && !(*wanted)[id])) continue;
    Value*& v = cache(body, a.depth(id)).values[id];
    if (!v) v = instruction(body, id);
  }
  at(body, 2);
}

void Emitter::emit_map() {
  start_ = new_block("start");
  Value* some =
      b.CreateAnd(b.CreateICmpSLT(bounds_[0][0], bounds_[0][1]), b.CreateICmpSLT(bounds_[1][0], bounds_[1][1]));
  b.CreateCondBr(some, start_, return_);
  b.SetInsertPoint(start_);  // of hoisted loads, which must not run for an empty range
  std::vector<Value*> none;
  loop(
      bounds_[a.outer][0], bounds_[a.outer][1], 1, none,
      [&](Value* row, std::vector<Value*>&) {
        row_block_ = b.GetInsertBlock();
        const auto write = [&](Value* index, Value* count, std::vector<Value*>&) {
          Body body = body_at(row, index);
          if (count) start_tail(body, count);
          compute(body);
          if (k.kind == backends::Kernel::Kind::scatter) {
            scatter_lanes(body);
          } else {
            for (const auto& s : k.stores) store(body, s);
          }
        };
        if (scatters_blocks()) {
          scatter_blocks(row);
        } else {
          vector_loop(a.inner, none, write);
        }
      },
      "row");
  b.CreateBr(return_);
}

void Emitter::emit() {
  return_ = new_block("return");
  {
    const llvm::IRBuilder<>::InsertPointGuard guard(b);
    b.SetInsertPoint(return_);
    b.CreateRetVoid();
  }
  if (k.kind == backends::Kernel::Kind::reduce) {
    emit_reduce();
  } else {
    emit_map();
  }
}

void emit_kernel(const backends::Kernel& kernel, const std::string& name, const VectorUnit& unit,
                 llvm::Module& module) {
  Emitter(kernel, name, unit, module).emit();
#ifndef NDEBUG
  std::string message;
  llvm::raw_string_ostream stream(message);
  NEAP_CHECK(!llvm::verifyFunction(*module.getFunction(name), &stream), "{}: {}", kernel.name, message);
#endif
}

void prefer_wide_vectors(llvm::Function& function, const VectorUnit& unit) {
  if (unit.bits != 512) return;
  function.addFnAttr("prefer-vector-width", "512");
  function.addFnAttr("min-legal-vector-width", "512");
}

}  // namespace neap::cpu
