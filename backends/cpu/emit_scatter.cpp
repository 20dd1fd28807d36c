// A scatter computes indices, values and validity in lanes; then the rows update the table one by one, in order.
#include "backends/cpu/emitter.h"
#include "core/check.h"

namespace neap::cpu {

using backends::Combine;
using backends::Scatter;

void Emitter::scatter_one(const Scatter& s, Value* table, Value* index, Value* v) {
  const DType type = k.buffers[s.buffer].type;
  llvm::Type* e = memory_element(type);
  const llvm::Align align(size_of(type));
  Value* cell = b.CreateGEP(e, table, index);
  if (s.combine == Combine::set) {
    b.CreateAlignedStore(v, cell, align);
    return;
  }
  Value* old = b.CreateAlignedLoad(e, cell, align);
  const bool half = type == DType::f16 || type == DType::bf16;
  const DType working = half ? DType::f32 : type;
  Value* result = combine(s.combine, working, convert(old, type, working), convert(v, type, working));
  b.CreateAlignedStore(convert(result, working, type), cell, align);
}

void Emitter::scatter_rows(Body& body) {
  for (const Scatter& s : k.scatters) {
    const DType type = k.buffers[s.buffer].type;
    NEAP_CHECK(k.dag[s.value].type == type, "{}: {} scattered into {}", k.name, name(k.dag[s.value].type), name(type));
    llvm::Type* e = memory_element(type);
    const DType index_type = k.dag[s.index].type;
    Value* index = lanes(body, s.index);
    Value* v = lanes(body, s.value);
    Value* valid = s.valid < 0 ? nullptr : value(body, s.valid);
    at(body, 0);
    Value* table =
        b.CreateGEP(e, buffers_[s.buffer], b.CreateMul(part_, b.getInt64(static_cast<uint64_t>(s.table_elements))));
    at(body, 2);
    v = to_memory(v, type);
    std::vector<Value*> none;
    const auto wide = [&](Value* i) { return b.CreateIntCast(i, b.getInt64Ty(), is_signed(index_type)); };
    if (W == 1) {
      if (valid) {
        branch(valid, none, [&](std::vector<Value*>&) { scatter_one(s, table, wide(index), v); }, "update");
      } else {
        scatter_one(s, table, wide(index), v);
      }
      body.blocks[2] = b.GetInsertBlock();
      continue;
    }
    llvm::AllocaInst* indices = stack(index->getType(), "indices");
    b.CreateStore(index, indices);
    const bool uniform = !a.varying(s.value);
    llvm::AllocaInst* values = nullptr;
    if (!uniform) {
      values = stack(v->getType(), "values");
      b.CreateStore(v, values);
    }
    Value* one_value = uniform ? to_memory(value(body, s.value), type) : nullptr;
    const auto update = [&](Value* lane) {
      llvm::Type* i = element(index_type);
      Value* place = wide(b.CreateLoad(i, b.CreateGEP(i, indices, lane)));
      scatter_one(s, table, place, uniform ? one_value : b.CreateLoad(e, b.CreateGEP(e, values, lane)));
    };
    llvm::AllocaInst* valids = nullptr;
    const auto one_by_one = [&](Value* count) {
      loop(
          b.getInt64(0), count, 1, none,
          [&](Value* lane, std::vector<Value*>&) {
            if (!valid) return update(lane);
            Value* ok = b.CreateLoad(b.getInt8Ty(), b.CreateGEP(b.getInt8Ty(), valids, lane));
            branch(b.CreateICmpNE(ok, b.getInt8(0)), none, [&](std::vector<Value*>&) { update(lane); }, "update");
          },
          "lane");
    };
    if (valid) {
      Value* bytes = b.CreateZExt(a.varying(s.valid) ? valid : splat(valid), with_lanes(b.getInt8Ty(), W));
      valids = stack(bytes->getType(), "valids");
      b.CreateStore(bytes, valids);
    }
    if (body.count) {
      one_by_one(body.count);
    } else {
      // All lanes valid, which is what good input has: no test for each.
      llvm::BasicBlock* some = valid ? new_block("some_valid") : nullptr;
      llvm::BasicBlock* after = new_block("after");
      if (valid) {
        llvm::BasicBlock* every = new_block("all_valid");
        Value* all = a.varying(s.valid) ? b.CreateAndReduce(valid) : valid;
        b.CreateCondBr(all, every, some);
        b.SetInsertPoint(every);
      }
      for (int lane = 0; lane < W; ++lane) update(b.getInt64(static_cast<uint64_t>(lane)));
      b.CreateBr(after);
      if (valid) {
        b.SetInsertPoint(some);
        one_by_one(b.getInt64(static_cast<uint64_t>(W)));
        b.CreateBr(after);
      }
      b.SetInsertPoint(after);
    }
    body.blocks[2] = b.GetInsertBlock();
  }
}

}  // namespace neap::cpu
