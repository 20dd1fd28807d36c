// This writes operands, addresses, loads and stores.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <span>

#include "backends/cpu/emitter.h"
#include "backends/rise.h"
#include "core/check.h"

namespace neap::cpu {

void Emitter::at(Body& body, int depth) {
  llvm::BasicBlock* block = body.blocks[depth];
  if (llvm::Instruction* end = block->getTerminator()) {
    b.SetInsertPoint(end);
  } else {
    b.SetInsertPoint(block);
  }
}

Value* Emitter::value(Body& body, int32_t id) {
  Value* v = cache(body, a.depth(id)).values[id];
  NEAP_CHECK(v, "instruction {} of {} is used before it is computed", id, k.name);
  return shared(id) > 1 ? grouped(body, id, 1) : v;
}

Value* Emitter::grouped(Body& body, int32_t id, int shared) {
  Cache& where = cache(body, a.depth(id));
  const int own = this->shared(id), n = W / shared;
  Value* v = where.values[id];
  if (a.varying(id) && own == shared) return v;
  Value*& cached = where.grouped[{id, n}];
  if (cached) return cached;
  const llvm::IRBuilder<>::InsertPointGuard guard(b);
  at(body, a.depth(id));
  if (!a.varying(id)) return cached = b.CreateVectorSplat(static_cast<unsigned>(n), v);
  llvm::SmallVector<int, 64> lanes;
  for (int lane = 0; lane < n; ++lane) lanes.push_back(lane * shared / own);
  return cached = b.CreateShuffleVector(v, lanes);
}

Value* Emitter::lanes(Body& body, int32_t id) {
  Value* v = value(body, id);
  if (W == 1 || a.varying(id)) return v;
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(v)) {
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(W)), constant);
  }
  Value*& cached = cache(body, a.depth(id)).splats[{id, W}];
  if (!cached) {
    const llvm::IRBuilder<>::InsertPointGuard guard(b);
    at(body, a.depth(id));
    cached = splat(v);
  }
  return cached;
}

Value* Emitter::lane_numbers(llvm::Type* e) {
  if (W == 1) return llvm::Constant::getNullValue(e);
  llvm::SmallVector<llvm::Constant*, 64> numbers;
  for (int lane = 0; lane < W; ++lane) numbers.push_back(llvm::ConstantInt::get(e, static_cast<uint64_t>(lane)));
  return llvm::ConstantVector::get(numbers);
}

// The terms of the deepest loop are added last, so that what is left can be hoisted.
Value* Emitter::sum(Body& body, const Linear& linear) {
  const int d = a.depth(linear);
  auto& cached = cache(body, d).sums;
  const SumKey key{linear.terms, linear.constant};
  if (const auto found = cached.find(key); found != cached.end()) return found->second;
  Linear shallow;
  shallow.constant = linear.constant;
  std::vector<std::pair<int32_t, int64_t>> deep;
  for (const auto& term : linear.terms) (a.depth(term.first) < d ? shallow.terms : deep).push_back(term);
  Value* total =
      shallow.terms.empty() || deep.empty() ? b.getInt64(static_cast<uint64_t>(linear.constant)) : sum(body, shallow);
  const llvm::IRBuilder<>::InsertPointGuard guard(b);
  for (const auto& [id, coefficient] : deep) {
    const Inst& i = k.dag[id];
    Value* v = i.op == Opcode::index ? body.index[i.imm] : value(body, id);
    at(body, d);
    v = b.CreateIntCast(v, b.getInt64Ty(), is_signed(i.type));
    if (coefficient != 1) v = b.CreateMul(v, b.getInt64(static_cast<uint64_t>(coefficient)));
    total = b.CreateAdd(v, total);
  }
  return cached[key] = total;
}

Value* Emitter::address(Body& body, int buffer, const Linear& linear) {
  llvm::Type* type = memory_element(k.buffers[buffer].type);
  const int d = a.depth(linear);
  Linear shallow, deep;
  for (const auto& term : linear.terms) (a.depth(term.first) < d ? shallow : deep).terms.push_back(term);
  auto& pointers = cache(body, d).pointers;
  const std::pair<int, SumKey> key{buffer, {linear.terms, 0}};
  Value* pointer = buffers_[buffer];
  if (!linear.terms.empty()) {
    if (const auto found = pointers.find(key); found != pointers.end()) {
      pointer = found->second;
    } else {
      const llvm::IRBuilder<>::InsertPointGuard guard(b);
      if (!shallow.terms.empty()) pointer = address(body, buffer, shallow);
      const auto& [id, coefficient] = deep.terms.front();
      const bool is_index = deep.terms.size() == 1 && k.dag[id].op == Opcode::index;
      Value* there = is_index ? advancing(body.index[k.dag[id].imm], type, pointer, coefficient) : nullptr;
      if (!there) {
        Value* offset = sum(body, deep);
        at(body, d);
        there = b.CreateGEP(type, pointer, offset);
      }
      pointer = pointers[key] = there;
    }
  }
  return linear.constant == 0 ? pointer : b.CreateConstGEP1_64(type, pointer, static_cast<uint64_t>(linear.constant));
}

Value* Emitter::affine(Body& body, int32_t id) {
  const Linear& linear = *a.linear(id);
  llvm::Type* type = element(k.dag[id].type);
  Value* base = sum(body, linear);
  at(body, a.depth(id));
  base = splat(b.CreateTrunc(base, type));
  if (W == 1) return base;
  Value* offsets = body.offsets ? b.CreateIntCast(body.offsets, like(type, base), true) : lane_numbers(type);
  const int64_t stride = a.stride(linear);
  if (stride != 1) offsets = b.CreateMul(offsets, llvm::ConstantInt::getSigned(like(type, base), stride));
  return b.CreateAdd(base, offsets);
}

Value* Emitter::from_memory(Value* v, DType type) {
  return type == DType::bool_ ? b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
}

Value* Emitter::to_memory(Value* v, DType type) {
  return type == DType::bool_ ? b.CreateZExt(v, like(b.getInt8Ty(), v)) : v;
}

Value* Emitter::load(Body& body, int32_t id) {
  const Inst& i = k.dag[id];
  const int buffer = static_cast<int>(i.imm);
  // A table of counts lies where the result will.
  NEAP_CHECK(size_of(k.buffers[buffer].type) == size_of(i.type), "{}: load of {} from a buffer of {}", k.name,
             name(i.type), name(k.buffers[buffer].type));
  llvm::Type* type = memory_element(i.type);
  const llvm::Align align(size_of(i.type));
  const Access access = a.access(i.a);
  if (!a.linear(i.a) || !a.linear(i.a)->exact) {
    if (Value* v = load_pattern(body, id, type)) return from_memory(v, i.type);
    Value* index = lanes(body, i.a);
    at(body, a.depth(id));
    const Interval& range = a.range(i.a);
    const bool narrow = range.inside(range_of(DType::i32));
    const DType index_type = k.dag[i.a].type;
    if (size_of(index_type) < 4 || !narrow) {
      index = b.CreateIntCast(index, like(narrow ? b.getInt32Ty() : b.getInt64Ty(), index), is_signed(index_type));
    }
    if (W == 1) {
      Value* pointer =
          b.CreateGEP(type, buffers_[buffer], b.CreateIntCast(index, b.getInt64Ty(), narrow || is_signed(index_type)));
      return from_memory(b.CreateAlignedLoad(type, pointer, align), i.type);
    }
    if (Value* near = load_near(body, id, type, index)) return from_memory(near, i.type);
    return from_memory(gather(type, buffers_[buffer], index), i.type);
  }
  const Linear& linear = *a.linear(i.a);
  if (access == Access::strided && a.group(id) >= 0 && !body.count && W > 1) {
    if (Value* v = load_strided(body, a.groups()[a.group(id)], id)) return from_memory(v, i.type);
  }
  Value* pointer = nullptr;
  {
    at(body, a.depth(id));
    pointer = address(body, buffer, linear);
  }
  if (!a.varying(id) || W == 1) return from_memory(b.CreateAlignedLoad(type, pointer, align), i.type);
  llvm::Type* vector = with_lanes(type, W);
  if (!body.count && access == Access::contiguous) {
    prefetch(pointer, linear, static_cast<int64_t>(size_of(i.type)));
    return from_memory(b.CreateAlignedLoad(vector, pointer, align), i.type);
  }
  if (!body.count && access == Access::reversed) {
    pointer = b.CreateConstGEP1_64(type, pointer, static_cast<uint64_t>(1 - W));
    return from_memory(b.CreateVectorReverse(b.CreateAlignedLoad(vector, pointer, align)), i.type);
  }
  if (access == Access::contiguous && !a.in_address(id) && has_masks(i.type)) {
    return from_memory(b.CreateMaskedLoad(vector, pointer, align, body.mask, llvm::Constant::getNullValue(vector)),
                       i.type);
  }
  const int64_t stride = a.stride(linear);
  Value* offsets = body.offsets ? body.offsets : lane_numbers(b.getInt32Ty());
  offsets = b.CreateIntCast(offsets, like(b.getInt64Ty(), offsets), true);
  offsets = b.CreateMul(offsets, llvm::ConstantInt::getSigned(offsets->getType(), stride));
  return from_memory(gather(type, pointer, offsets, stride == 1 || stride == -1), i.type);
}

// A reduction down columns that are too few to be taken some rows at a time (takes_columns) reads a few lines of each
// row, one row after the other, and processors fetch ahead within a page only. Several rows at once are more than some
// of them follow: a product of 8192 x 8192 and a vector takes 8.7 ms for 10.7 (Xeon with AMX, two threads; as long
// where rows lie in a cache).
void Emitter::prefetch(Value* pointer, const Linear& linear, int64_t element_bytes) {
  constexpr int64_t kRowsAhead = 16, kBytesAhead = 512, kLine = 64;
  int64_t from = 0;
  if (a.vector_depth == 2 && takes_rows() && a.along(linear, 0) != 0) {
    from = kBytesAhead;
  } else if (a.jumps_down(linear, element_bytes) && !a.takes_columns()) {
    from = kRowsAhead * a.along(linear, 1) * element_bytes;
  }
  if (from == 0) return;
  for (int64_t line = 0; line < W * element_bytes; line += kLine) {
    Value* ahead = b.CreateConstGEP1_64(memory_element(DType::u8), pointer, static_cast<uint64_t>(from + line));
    b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                      {ahead, b.getInt32(0), b.getInt32(3), b.getInt32(1)});  // read, keep, data
  }
}

// One instruction where the machine has it: as fast where lanes lie side by side, and compiled in half the time (a
// softmax of rows of 1000: 18 ms for 34). Far apart, lane by lane is twice as fast (a transpose of 2000 x 1000 and 1:
// 0.45 ms, with gathers 1.02; Zen 5, one thread).
Value* Emitter::gather(llvm::Type* type, Value* pointer, Value* offsets, bool near) {
  const llvm::Align align(type->getPrimitiveSizeInBits() / 8);
  if (seldom_ || near) return b.CreateMaskedGather(with_lanes(type, W), b.CreateGEP(type, pointer, offsets), align);
  Value* result = llvm::PoisonValue::get(with_lanes(type, W));
  for (int lane = 0; lane < W; ++lane) {
    const auto index = static_cast<uint64_t>(lane);
    Value* address = b.CreateGEP(type, pointer, b.CreateExtractElement(offsets, index));
    result = b.CreateInsertElement(result, b.CreateAlignedLoad(type, address, align), index);
  }
  return result;
}

// A row's element that all of its columns need, or a column's that all rows do, where rows are shorter than vectors.
// Elements up to the last lane's are read, or all that the remainder counts: no more, so that they are in the buffer.
Value* Emitter::load_near(Body& body, int32_t id, llvm::Type* type, Value* index) {
  const Inst& i = k.dag[id];
  const int size = static_cast<int>(size_of(i.type));
  if (!unit_.avx2 || (size != 4 && size != 8)) return nullptr;
  const int width = std::min(unit_.bits / 8 / size, W);
  llvm::Intrinsic::ID permutation = llvm::Intrinsic::not_intrinsic;
  if (size == 4 && width == 16) permutation = llvm::Intrinsic::x86_avx512_permvar_si_512;
  if (size == 4 && width == 8) permutation = llvm::Intrinsic::x86_avx2_permd;
  if (size == 8 && width == 8) permutation = llvm::Intrinsic::x86_avx512_permvar_di_512;
  if (permutation == llvm::Intrinsic::not_intrinsic) return nullptr;
  const int32_t small = a.small_remainder(i.a);
  const int64_t count = small >= 0 ? backends::modulus(k.dag, k.dag[small]) : a.rise(i.a, width) + 1;
  if (count < 1 || count > width) return nullptr;
  Value* const remainder = small >= 0 ? lanes(body, small) : nullptr;
  at(body, a.depth(id));
  llvm::Type* const word = size == 4 ? b.getInt32Ty() : b.getInt64Ty();
  llvm::Type* const vector = with_lanes(word, width);
  llvm::SmallVector<llvm::Constant*, 16> numbers;
  for (int lane = 0; lane < width; ++lane) numbers.push_back(llvm::ConstantInt::get(word, static_cast<uint64_t>(lane)));
  const auto splat_to = [&](Value* v) { return b.CreateVectorSplat(static_cast<unsigned>(width), v); };
  std::vector<Value*> pieces;
  for (int piece = 0; piece < W; piece += width) {
    const auto here = [&](Value* v) {
      const auto mask = llvm::createSequentialMask(static_cast<unsigned>(piece), static_cast<unsigned>(width), 0);
      v = W == width ? v : b.CreateShuffleVector(v, mask);
      return b.CreateIntCast(v, vector, false);
    };
    const auto first_lane = [&](Value* v) {
      return b.CreateZExtOrTrunc(b.CreateExtractElement(v, static_cast<uint64_t>(piece)), b.getInt64Ty());
    };
    Value* first = first_lane(index);
    Value* from = nullptr;
    Value* last = b.getIntN(static_cast<unsigned>(8 * size), static_cast<uint64_t>(count - 1));
    if (remainder) {
      from = here(remainder);
      first = b.CreateSub(first, first_lane(remainder));
    } else {
      Value* const places = here(index);  // of larger numbers the lower halves, which is enough for their differences
      from = b.CreateSub(places, splat_to(b.CreateExtractElement(places, uint64_t{0})));
      last = b.CreateExtractElement(from, static_cast<uint64_t>(width - 1));
    }
    Value* const mask = b.CreateICmpULE(llvm::ConstantVector::get(numbers), splat_to(last));
    Value* const pointer = b.CreateGEP(type, buffers_[static_cast<int>(i.imm)], first);
    Value* const near = b.CreateMaskedLoad(vector, pointer, llvm::Align(static_cast<uint64_t>(size)), mask,
                                           llvm::Constant::getNullValue(vector));
    pieces.push_back(b.CreateIntrinsic(permutation, {}, {near, from}));
  }
  return b.CreateBitCast(llvm::concatenateVectors(b, pieces), with_lanes(type, W));
}

// Lane l of a load with offset o is element l * stride + o of the range that the group covers. The range is read with
// whole registers, the last of which is moved back so as to end with the range.
Value* Emitter::load_strided(Body& body, const StridedGroup& group, int32_t id) {
  const DType dtype = k.dag[id].type;
  llvm::Type* type = memory_element(dtype);
  const int size = static_cast<int>(size_of(dtype));
  Registers registers{.width = std::min(unit_.bits / 8 / size, W)};
  const int64_t total = (W - 1) * group.stride + group.loads.back().first + 1;
  if (total < registers.width) return nullptr;
  const int first = group.loads.front().second;
  const Linear& linear = *a.linear(k.dag[first].a);
  at(body, a.depth(id));
  const auto* index = group.loads.data();
  const std::pair<int, SumKey> key{-1 - a.group(id), {}};
  for (int64_t start = 0; start < total; start += registers.width) {
    registers.starts.push_back(std::min(start, total - registers.width));
    const std::pair<int, SumKey> part{key.first, {{}, start}};
    Value*& cached = cache(body, a.depth(id)).pointers[part];
    if (!cached) {
      Value* pointer = address(body, group.buffer, linear);
      pointer = b.CreateConstGEP1_64(type, pointer, static_cast<uint64_t>(registers.starts.back()));
      cached =
          b.CreateAlignedLoad(with_lanes(type, registers.width), pointer, llvm::Align(static_cast<uint64_t>(size)));
    }
    registers.values.push_back(cached);
  }
  while (index->second != id) ++index;
  return picked(registers, [&](int lane) { return lane * group.stride + index->first; });
}

Value* Emitter::picked(const Registers& registers, const std::function<int64_t(int lane)>& element_of) {
  const auto& [values, starts, width] = registers;
  const auto source = [&](int lane) {  // register and lane in it
    const int64_t e = element_of(lane);
    const int64_t r = std::min<int64_t>(e / width, std::ssize(values) - 1);
    return std::pair<int, int>(static_cast<int>(r), static_cast<int>(e - starts[r]));
  };
  std::vector<Value*> pieces;
  for (int piece = 0; piece < W; piece += width) {
    // Where no two lanes come from the same place of different registers, blends and one permutation do; else each
    // register is merged in its turn.
    std::vector<int> at_place(static_cast<size_t>(width), -1);
    bool blends = true;
    for (int lane = 0; lane < width; ++lane) {
      const auto [r, place] = source(piece + lane);
      blends &= at_place[place] < 0 || at_place[place] == r;
      at_place[place] = r;
    }
    Value* merged = nullptr;
    llvm::SmallVector<int, 64> mask(static_cast<size_t>(width));
    if (blends) {
      for (int r = 0; r < static_cast<int>(values.size()); ++r) {
        if (std::find(at_place.begin(), at_place.end(), r) == at_place.end()) continue;
        for (int j = 0; j < width; ++j) mask[j] = at_place[j] == r && merged ? width + j : j;
        merged = merged ? b.CreateShuffleVector(merged, values[r], mask) : values[r];
      }
      for (int lane = 0; lane < width; ++lane) mask[lane] = source(piece + lane).second;
      pieces.push_back(b.CreateShuffleVector(merged, mask));
      continue;
    }
    for (int r = 0; r < static_cast<int>(values.size()); ++r) {
      bool used = false;
      for (int lane = 0; lane < width; ++lane) {
        const auto [from, place] = source(piece + lane);
        mask[lane] = from == r ? width + place : merged ? lane : llvm::PoisonMaskElem;
        used |= from == r;
      }
      if (!used) continue;
      merged = b.CreateShuffleVector(merged ? merged : values[r], values[r], mask);
    }
    pieces.push_back(merged);
  }
  return llvm::concatenateVectors(b, pieces);
}

// Every part of the address is exact, so that 64 bits hold it and no dividend is negative.
Value* Emitter::first_lane(Body& body, int32_t id) {
  const Inst& i = k.dag[id];
  if (!a.varying(id)) {
    Value* v = value(body, id);
    at(body, a.depth(id));
    return b.CreateIntCast(v, b.getInt64Ty(), is_signed(i.type));
  }
  if (const Linear* linear = a.linear(id); linear && linear->exact) return sum(body, *linear);
  if (i.op == Opcode::convert) return first_lane(body, i.a);
  Value *const x = first_lane(body, i.a), *const y = first_lane(body, i.b);
  at(body, a.depth(id));
  switch (i.op) {
    case Opcode::add: return b.CreateAdd(x, y);
    case Opcode::sub: return b.CreateSub(x, y);
    case Opcode::mul: return b.CreateMul(x, y);
    case Opcode::div: return b.CreateUDiv(x, y);
    case Opcode::bit_and: return b.CreateAnd(x, y);
    default: break;
  }
  NEAP_CHECK(false, "{}: instruction {} has no pattern", k.name, id);
  return nullptr;
}

Value* Emitter::load_pattern(Body& body, int32_t id, llvm::Type* type) {
  const Inst& i = k.dag[id];
  const backends::LanePattern* pattern = body.count ? nullptr : a.pattern(i.a, W);
  if (!pattern) return nullptr;
  const int size = static_cast<int>(size_of(i.type));
  Registers registers{.width = std::min(unit_.bits / 8 / size, W)};
  const int64_t least = pattern->least(), total = pattern->most() - least + 1;
  Value* const first = first_lane(body, i.a);
  at(body, a.depth(id));
  Value* const pointer = b.CreateConstGEP1_64(type, b.CreateGEP(type, buffers_[static_cast<int>(i.imm)], first),
                                              static_cast<uint64_t>(least));
  const llvm::Align align(static_cast<uint64_t>(size));
  if (total == 1) return splat(b.CreateAlignedLoad(type, pointer, align));
  if (total < registers.width) {
    Value* const few = b.CreateAlignedLoad(with_lanes(type, static_cast<int>(total)), pointer, align);
    llvm::SmallVector<int, 64> whole(static_cast<size_t>(registers.width), llvm::PoisonMaskElem);
    for (int lane = 0; lane < static_cast<int>(total); ++lane) whole[static_cast<size_t>(lane)] = lane;
    registers.values.push_back(b.CreateShuffleVector(few, whole));
    registers.starts.push_back(0);
  }
  for (int64_t start = 0; total >= registers.width && start < total; start += registers.width) {
    registers.starts.push_back(std::min(start, total - registers.width));
    Value* const there = b.CreateConstGEP1_64(type, pointer, static_cast<uint64_t>(registers.starts.back()));
    registers.values.push_back(b.CreateAlignedLoad(with_lanes(type, registers.width), there, align));
  }
  return picked(registers, [&](int lane) { return pattern->offsets[static_cast<size_t>(lane)] - least; });
}

Value* Emitter::load_contiguous(Body& body, Value* pointer, DType type) {
  const llvm::Align align(size_of(type));
  llvm::Type* const lanes = with_lanes(memory_element(type), W);
  if (!body.count || W == 1) return b.CreateAlignedLoad(lanes, pointer, align);
  if (has_masks(type)) {
    return b.CreateMaskedLoad(lanes, pointer, align, body.mask, llvm::Constant::getNullValue(lanes));
  }
  llvm::AllocaInst* whole = stack(lanes, "first");
  b.CreateStore(llvm::Constant::getNullValue(lanes), whole);
  b.CreateMemCpy(whole, whole->getAlign(), pointer, align, b.CreateMul(body.count, b.getInt64(size_of(type))));
  return b.CreateLoad(lanes, whole);
}

void Emitter::store_contiguous(Body& body, Value* pointer, Value* v, DType type) {
  const llvm::Align align(size_of(type));
  if (!body.count || W == 1) {
    b.CreateAlignedStore(v, pointer, align);
    return;
  }
  if (has_masks(type)) {
    b.CreateMaskedStore(v, pointer, align, body.mask);
    return;
  }
  llvm::AllocaInst* whole = stack(v->getType(), "tail");
  b.CreateStore(v, whole);
  Value* bytes = b.CreateMul(body.count, b.getInt64(size_of(type)));
  b.CreateMemCpy(pointer, align, whole, whole->getAlign(), bytes);
}

void Emitter::store_all(Body& body) {
  const std::span<const backends::Store> all(k.stores);
  for (size_t i = 0; i < all.size();) {
    const size_t count = body.count || W == 1 ? 1 : interleaved(all.subspan(i));
    if (count > 1) {
      store_interleaved(body, all.subspan(i, count));
    } else {
      store(body, all[i]);
    }
    i += count;
  }
}

// How many of the first stores write what lies side by side, each every so-manyth element.
size_t Emitter::interleaved(std::span<const backends::Store> stores) const {
  if (a.access(stores[0].index) != Access::strided) return 1;
  const Linear& first = *a.linear(stores[0].index);
  const auto count = static_cast<size_t>(a.stride(first));
  if (count > stores.size()) return 1;
  for (size_t i = 1; i < count; ++i) {
    const Linear* own = a.linear(stores[i].index);
    if (stores[i].buffer != stores[0].buffer || !own || !own->exact || own->terms != first.terms ||
        own->constant != first.constant + static_cast<int64_t>(i)) {
      return 1;
    }
  }
  return count;
}

// Element e of what they write is lane e / n of value e mod n. It is written with whole registers.
void Emitter::store_interleaved(Body& body, std::span<const backends::Store> stores) {
  const int buffer = stores[0].buffer, n = static_cast<int>(stores.size());
  const DType type = k.buffers[buffer].type;
  std::vector<Value*> values;
  for (const auto& s : stores) values.push_back(lanes(body, s.value));
  at(body, 2);
  for (Value*& v : values) v = to_memory(v, type);
  Value* const pointer = address(body, buffer, *a.linear(stores[0].index));
  llvm::Type* const e = memory_element(type);
  const auto size = static_cast<int>(size_of(type));
  const int width = std::min(unit_.bits / 8 / size, W);
  for (int start = 0; start < n * W; start += width) {
    Value* merged = nullptr;
    for (int i = 0; i < n; ++i) {
      llvm::SmallVector<int, 64> from(static_cast<size_t>(width), llvm::PoisonMaskElem), blend(from);
      for (int lane = 0; lane < width; ++lane) {
        const bool own = (start + lane) % n == i;
        if (own) from[lane] = (start + lane) / n;
        blend[lane] = own ? width + lane : lane;
      }
      Value* const part = b.CreateShuffleVector(values[i], from);
      merged = merged ? b.CreateShuffleVector(merged, part, blend) : part;
    }
    Value* const place = b.CreateConstGEP1_64(e, pointer, static_cast<uint64_t>(start));
    b.CreateAlignedStore(merged, place, llvm::Align(static_cast<uint64_t>(size)));
  }
}

void Emitter::store(Body& body, const backends::Store& s) {
  const DType type = k.buffers[s.buffer].type;
  NEAP_CHECK(k.dag[s.value].type == type, "{}: store of {} to a buffer of {}", k.name, name(k.dag[s.value].type),
             name(type));
  llvm::Type* e = memory_element(type);
  const llvm::Align align(size_of(type));
  const Access access = a.access(s.index);
  const bool scattered = access == Access::scattered || access == Access::strided || access == Access::uniform;
  Value* v = lanes(body, s.value);
  at(body, 2);
  v = to_memory(v, type);
  if (!scattered && !(access == Access::reversed && (body.count || W == 1))) {
    Value* pointer = address(body, s.buffer, *a.linear(s.index));
    if (access == Access::reversed) {
      v = b.CreateVectorReverse(v);
      pointer = b.CreateConstGEP1_64(e, pointer, static_cast<uint64_t>(1 - W));
    }
    store_contiguous(body, pointer, v, type);
    return;
  }
  Value* base = buffers_[s.buffer];
  Value* offsets = nullptr;
  if (const Linear* linear = a.linear(s.index); linear && linear->exact) {
    base = address(body, s.buffer, *linear);
    if (W == 1) {
      b.CreateAlignedStore(v, base, align);
      return;
    }
    offsets = lane_numbers(b.getInt64Ty());
    offsets = b.CreateMul(offsets, llvm::ConstantInt::getSigned(offsets->getType(), a.stride(*linear)));
  } else {
    offsets = lanes(body, s.index);
    offsets = b.CreateIntCast(offsets, like(b.getInt64Ty(), offsets), is_signed(k.dag[s.index].type));
    if (W == 1) {
      b.CreateAlignedStore(v, b.CreateGEP(e, base, offsets), align);
      return;
    }
  }
  if (!body.count) {
    for (int lane = 0; lane < W; ++lane) {
      const auto index = static_cast<uint64_t>(lane);
      b.CreateAlignedStore(b.CreateExtractElement(v, index),
                           b.CreateGEP(e, base, b.CreateExtractElement(offsets, index)), align);
    }
    return;
  }
  llvm::AllocaInst* values = stack(v->getType(), "values");
  llvm::AllocaInst* places = stack(offsets->getType(), "places");
  b.CreateStore(v, values);
  b.CreateStore(offsets, places);
  std::vector<Value*> none;
  loop(
      b.getInt64(0), body.count, 1, none,
      [&](Value* lane, std::vector<Value*>&) {
        Value* place = b.CreateLoad(b.getInt64Ty(), b.CreateGEP(b.getInt64Ty(), places, lane));
        b.CreateAlignedStore(b.CreateLoad(e, b.CreateGEP(e, values, lane)), b.CreateGEP(e, base, place), align);
      },
      "lane");
  body.blocks[2] = b.GetInsertBlock();
}

}  // namespace neap::cpu
