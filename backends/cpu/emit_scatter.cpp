// A scatter computes indices, values and validity in lanes; then they update the table one by one, in order, or, where
// they lie side by side, as vectors.
#include <algorithm>

#include "backends/cpu/emitter.h"
#include "core/check.h"

namespace neap::cpu {

using backends::Combine;
using backends::Scatter;

namespace {

constexpr int64_t kBlockOfUpdates = 256;  // whose indices and values lie in the nearest cache, a multiple of all lanes
constexpr int64_t kUnrolledUpdates = 8;
constexpr size_t kFarBytes = size_t{8} << 20;  // of a table for which a cache has no room beside all else

}  // namespace

void Emitter::scatter_one(const Scatter& s, Value* table, Value* index, Value* v, Value* mask) {
  const DType type = k.buffers[s.buffer].type;
  llvm::Type* e = memory_element(type);
  const llvm::Align align(size_of(type));
  Value* cell = b.CreateGEP(e, table, index);
  const auto store = [&](Value* x) {
    if (mask) {
      b.CreateMaskedStore(x, cell, align, mask);
    } else {
      b.CreateAlignedStore(x, cell, align);
    }
  };
  if (s.combine == Combine::set) return store(v);
  llvm::Type* const all = like(e, v);
  Value* old = mask ? static_cast<Value*>(b.CreateMaskedLoad(all, cell, align, mask, llvm::Constant::getNullValue(all)))
                    : b.CreateAlignedLoad(all, cell, align);
  const bool half = type == DType::f16 || type == DType::bf16;
  const DType working = half ? DType::f32 : type;
  Value* result = combine(s.combine, working, convert(old, type, working), convert(v, type, working));
  store(convert(result, working, type));
}

// Neighbouring elements, all or none of which are valid, are one update of as many lanes. All that are valid lie in the
// table, so that they are neighbours there too, although the index need not be exact.
bool Emitter::is_row(const Scatter& s) const {
  const Linear* linear = a.linear(s.index);
  return W > 1 && linear && a.stride(*linear) == 1 && (s.valid < 0 || !a.varying(s.valid));
}

void Emitter::scatter_at_once(Body& body, const Scatter& s) {
  const DType type = k.buffers[s.buffer].type;
  Value* v = to_memory(lanes(body, s.value), type);
  Value* valid = s.valid < 0 ? nullptr : value(body, s.valid);
  const DType index_type = k.dag[s.index].type;
  Value* index = W == 1 ? value(body, s.index) : sum(body, *a.linear(s.index));
  Value* table = table_of(body, s);
  at(body, 2);
  index = b.CreateIntCast(b.CreateIntCast(index, element(index_type), false), b.getInt64Ty(), is_signed(index_type));
  std::vector<Value*> none;
  Value* const mask = body.count ? body.mask : nullptr;
  const auto update = [&](std::vector<Value*>&) { scatter_one(s, table, index, v, mask); };
  if (valid) {
    branch(valid, none, update, "update");
  } else {
    update(none);
  }
  body.blocks[2] = b.GetInsertBlock();
}

Value* Emitter::table_of(Body& body, const Scatter& s) {
  const DType type = k.buffers[s.buffer].type;
  NEAP_CHECK(k.dag[s.value].type == type, "{}: {} scattered into {}", k.name, name(k.dag[s.value].type), name(type));
  const llvm::IRBuilder<>::InsertPointGuard guard(b);
  at(body, 0);
  Value* before = b.CreateMul(part_, b.getInt64(static_cast<uint64_t>(s.table_elements)));
  return b.CreateGEP(memory_element(type), buffers_[s.buffer], before);
}

Emitter::Updates Emitter::room_for(Body& body, const Scatter& s, int64_t count) {
  const DType type = k.buffers[s.buffer].type;
  const auto room = [&](llvm::Type* of, const char* label) {
    llvm::AllocaInst* result = stack(llvm::ArrayType::get(of, static_cast<uint64_t>(count)), label);
    result->setAlignment(llvm::Align(64));
    return result;
  };
  return {.scatter = s,
          .count = count,
          .table = table_of(body, s),
          .indices = room(element(k.dag[s.index].type), "indices"),
          .values = room(memory_element(type), "values"),
          .valids = s.valid < 0 ? nullptr : room(b.getInt8Ty(), "valids")};
}

Value* Emitter::keep(Body& body, const Updates& u, Value* first) {
  const Scatter& s = u.scatter;
  const DType type = k.buffers[s.buffer].type;
  Value* index = lanes(body, s.index);
  Value* v = lanes(body, s.value);
  Value* valid = s.valid < 0 ? nullptr : lanes(body, s.valid);
  at(body, 2);
  const auto put = [&](Value* lanes, llvm::Type* of, llvm::AllocaInst* room) {
    const llvm::Align align(std::max<uint64_t>(1, static_cast<uint64_t>(of->getPrimitiveSizeInBits() / 8)));
    b.CreateAlignedStore(lanes, b.CreateGEP(of, room, first), align);
  };
  put(index, element(k.dag[s.index].type), u.indices);
  put(to_memory(v, type), memory_element(type), u.values);
  if (!valid) return nullptr;
  put(b.CreateZExt(valid, like(b.getInt8Ty(), valid)), b.getInt8Ty(), u.valids);
  return b.CreateAndReduce(valid);
}

void Emitter::apply(const Updates& u, Value* all_valid, Value* count) {
  const Scatter& s = u.scatter;
  const DType index_type = k.dag[s.index].type;
  llvm::Type *of_index = element(index_type), *of_value = memory_element(k.buffers[s.buffer].type);
  std::vector<Value*> none;
  const auto update = [&](Value* i) {
    Value* index = b.CreateLoad(of_index, b.CreateGEP(of_index, u.indices, i));
    scatter_one(s, u.table, b.CreateIntCast(index, b.getInt64Ty(), is_signed(index_type)),
                b.CreateLoad(of_value, b.CreateGEP(of_value, u.values, i)));
  };
  const auto one_by_one = [&](Value* end) {
    loop(
        b.getInt64(0), end, 1, none,
        [&](Value* i, std::vector<Value*>&) {
          if (!u.valids) return update(i);
          Value* ok = b.CreateLoad(b.getInt8Ty(), b.CreateGEP(b.getInt8Ty(), u.valids, i));
          branch(b.CreateICmpNE(ok, b.getInt8(0)), none, [&](std::vector<Value*>&) { update(i); }, "update");
        },
        "lane");
  };
  if (count) return one_by_one(count);
  // All are valid, which is what good input has: no test for each.
  llvm::BasicBlock* some = all_valid ? new_block("some_valid") : nullptr;
  llvm::BasicBlock* after = all_valid ? new_block("after") : nullptr;
  if (all_valid) {
    llvm::BasicBlock* every = new_block("all_valid");
    b.CreateCondBr(all_valid, every, some);
    b.SetInsertPoint(every);
  }
  const int64_t unrolled = std::min<int64_t>(u.count, kUnrolledUpdates);
  const auto several = [&](Value* first, std::vector<Value*>&) {
    for (int64_t i = 0; i < unrolled; ++i) update(b.CreateAdd(first, b.getInt64(static_cast<uint64_t>(i))));
  };
  loop(b.getInt64(0), b.getInt64(static_cast<uint64_t>(u.count)), unrolled, none, several, "updates");
  if (!all_valid) return;
  b.CreateBr(after);
  b.SetInsertPoint(some);
  one_by_one(b.getInt64(static_cast<uint64_t>(u.count)));
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void Emitter::scatter_lanes(Body& body) {
  for (const Scatter& s : k.scatters) {
    if (W == 1 || (is_row(s) && (!body.count || has_masks(k.buffers[s.buffer].type)))) {
      scatter_at_once(body, s);
      continue;
    }
    const Updates updates = room_for(body, s, W);
    Value* all_valid = keep(body, updates, b.getInt64(0));
    apply(updates, all_valid, body.count);
    body.blocks[2] = b.GetInsertBlock();
  }
}

bool Emitter::scatters_blocks() const {
  return k.kind == backends::Kernel::Kind::scatter && a.vector_depth == 2 && W > 1 &&
         k.extent[a.inner] >= 4 * kBlockOfUpdates &&
         std::ranges::none_of(k.scatters, [&](const Scatter& s) { return is_row(s); });
}

std::vector<Emitter::FarPlace> Emitter::far_places(Body& body) {
  const auto is_far = [&](int64_t elements, DType type) {
    return static_cast<size_t>(elements) * size_of(type) >= kFarBytes;
  };
  std::vector<FarPlace> places;
  for (const Scatter& s : k.scatters) {
    const DType type = k.buffers[s.buffer].type;
    if (is_far(s.table_elements, type)) places.push_back({table_of(body, s), type, s.index, true});
  }
  if (places.empty()) return places;
  std::vector<bool> after_gather(static_cast<size_t>(k.dag.size()));
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    const Inst& i = k.dag[id];
    for (const int32_t operand : {i.a, i.b, i.c})
      after_gather[id] = after_gather[id] || (operand >= 0 && after_gather[operand]);
    if (i.op != Opcode::load || !a.needed(id) || !a.varying(id) || a.linear(i.a)) continue;
    if (!after_gather[i.a]) places.push_back({buffers_[static_cast<int>(i.imm)], i.type, i.a, false});
    after_gather[id] = true;
  }
  std::erase_if(places, [&](const FarPlace& p) { return after_gather[p.index] || !a.varying(p.index); });
  return places;
}

void Emitter::fetch(Body& body, const std::vector<FarPlace>& places) {
  std::vector<bool> wanted(static_cast<size_t>(k.dag.size()));
  for (const FarPlace& p : places) wanted[p.index] = true;
  for (int32_t id = k.dag.size(); id-- > 0;) {
    if (!wanted[id]) continue;
    const Inst& i = k.dag[id];
    for (const int32_t operand : {i.a, i.b, i.c}) {
      if (operand >= 0) wanted[operand] = true;
    }
  }
  compute(body, &wanted);
  for (const FarPlace& p : places) {
    Value* index = lanes(body, p.index);
    at(body, 2);
    for (int lane = 0; lane < W; ++lane) {
      Value* i = b.CreateExtractElement(index, static_cast<uint64_t>(lane));
      i = b.CreateIntCast(i, b.getInt64Ty(), is_signed(k.dag[p.index].type));
      b.CreateIntrinsic(
          llvm::Intrinsic::prefetch, {b.getPtrTy()},
          {b.CreateGEP(memory_element(p.type), p.base, i), b.getInt32(p.written), b.getInt32(3), b.getInt32(1)});
    }
  }
}

// Indices and values of a block first, so that what its updates wait for overlaps: gathers of the next ones with
// arithmetic, and updates, of which as many fit the processor's window as it has room for, with each other.
void Emitter::scatter_blocks(Value* row) {
  std::vector<Value*> none;
  Value* const end = bounds_[a.inner][1];
  Value* const rest = loop(
      bounds_[a.inner][0], end, kBlockOfUpdates, none,
      [&](Value* first, std::vector<Value*>&) {
        std::vector<Updates> all;
        std::vector<Value*> valid;
        Body outside = body_at(row, first);
        for (const Scatter& s : k.scatters) {
          all.push_back(room_for(outside, s, kBlockOfUpdates));
          valid.push_back(b.getTrue());
        }
        if (const auto far = far_places(outside); !far.empty()) {
          loop(
              b.getInt64(0), b.getInt64(kBlockOfUpdates), W, none,
              [&](Value* i, std::vector<Value*>&) {
                Body body = body_at(row, b.CreateAdd(first, i));
                fetch(body, far);
              },
              "fetch");
        }
        const auto lanes = [&](Value* i, std::vector<Value*>& carried) {
          Body body = body_at(row, b.CreateAdd(first, i));
          compute(body);
          for (size_t s = 0; s < all.size(); ++s) {
            if (Value* ok = keep(body, all[s], i)) carried[s] = b.CreateAnd(carried[s], ok);
          }
        };
        loop(b.getInt64(0), b.getInt64(kBlockOfUpdates), W, valid, lanes, "lanes");
        for (size_t s = 0; s < all.size(); ++s) apply(all[s], all[s].valids ? valid[s] : nullptr, nullptr);
      },
      "block");
  tail_loop(rest, end, none, [&](Emitter&, Value* index, Value* count, std::vector<Value*>&) {
    Body body = body_at(row, index);
    start_tail(body, count);
    compute(body);
    scatter_lanes(body);
  });
}

}  // namespace neap::cpu
