// In a reduction each lane has its own accumulator; lanes are combined at the end by halves, in an order that depends
// on the number of lanes alone. With lanes along the kept index, each lane is one result.
#include <llvm/Analysis/VectorUtils.h>

#include "backends/cpu/emitter.h"
#include "core/check.h"

namespace neap::cpu {

using backends::Combine;
using backends::Reduction;

namespace {

constexpr int kRowsAtOnce = 4;

bool is_arg(const Reduction& r) { return r.combine == Combine::argmax || r.combine == Combine::argmin; }
bool picks(Combine c) { return c == Combine::max || c == Combine::min || c == Combine::argmax || c == Combine::argmin; }

// Halves are compared and added as f32; bool is kept in bytes, which vectorise better than bits.
DType working(const Reduction& r) {
  return r.accumulator == DType::f16 || r.accumulator == DType::bf16 ? DType::f32 : r.accumulator;
}

}  // namespace

std::vector<Value*> Emitter::identities(int lanes) {
  std::vector<Value*> result;
  for (const Reduction& r : k.reductions) {
    const DType t = working(r);
    const bool highest = r.combine == Combine::min || r.combine == Combine::argmin;
    llvm::Constant* c;
    if (t == DType::bool_) {
      c = b.getInt8(r.combine == Combine::all || r.combine == Combine::mul || highest ? 1 : 0);
    } else if (is_float(t)) {
      llvm::Type* e = element(t);
      c = picks(r.combine) ? llvm::ConstantFP::getInfinity(e, !highest)
                           : llvm::ConstantFP::get(e, r.combine == Combine::mul ? 1.0 : 0.0);
    } else {
      const auto bits = static_cast<unsigned>(8 * size_of(t));
      llvm::APInt v(bits, r.combine == Combine::mul ? 1 : 0);
      if (picks(r.combine)) {
        v = is_signed(t) ? (highest ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getSignedMinValue(bits))
                         : (highest ? llvm::APInt::getMaxValue(bits) : llvm::APInt(bits, 0));
      }
      c = llvm::ConstantInt::get(context_, v);
    }
    const auto push = [&](llvm::Constant* one) {
      result.push_back(
          lanes == 1 ? one
                     : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(lanes)), one));
    };
    push(c);
    if (is_arg(r)) push(b.getInt32(~0u));  // no index yet: the largest unsigned number
  }
  return result;
}

void Emitter::begin_with(std::vector<Value*>& totals, Value* row, const Body& body) {
  size_t slot = 0;
  for (const Reduction& r : k.reductions) {
    Value*& total = totals[slot];
    slot += is_arg(r) ? 2 : 1;
    if (r.initial < 0) continue;
    const DType type = r.accumulator;
    NEAP_CHECK(k.buffers[r.initial].type == type && working(r) == type, "{}: begins with {}", k.name,
               name(k.buffers[r.initial].type));
    Value* pointer = b.CreateGEP(memory_element(type), buffers_[r.initial], result_of(row));
    const llvm::Align align(size_of(type));
    if (!body.count || W == 1) {
      total = b.CreateAlignedLoad(total->getType(), pointer, align);
      continue;
    }
    llvm::AllocaInst* whole = stack(total->getType(), "initial");
    b.CreateStore(total, whole);
    b.CreateMemCpy(whole, whole->getAlign(), pointer, align, b.CreateMul(body.count, b.getInt64(size_of(type))));
    total = b.CreateLoad(total->getType(), whole);
  }
}

Value* Emitter::combine(Combine how, DType t, Value* x, Value* y) {
  switch (how) {
    case Combine::add:
      if (t == DType::bool_) return b.CreateOr(x, y);
      return is_float(t) ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
    case Combine::mul:
      if (t == DType::bool_) return b.CreateAnd(x, y);
      return is_float(t) ? b.CreateFMul(x, y) : b.CreateMul(x, y);
    case Combine::any: return b.CreateOr(x, y);
    case Combine::all: return b.CreateAnd(x, y);
    case Combine::bit_xor: return b.CreateXor(x, y);
    case Combine::max:
    case Combine::min: {
      const bool max = how == Combine::max;
      Value* first = max ? y : x;
      Value* second = max ? x : y;
      if (!is_float(t)) {
        Value* take = is_signed(t) ? b.CreateICmpSLT(second, first) : b.CreateICmpULT(second, first);
        return b.CreateSelect(take, y, x);
      }
      // NaN stays once it is there, and comes in: y > x or y is NaN.
      Value* take = b.CreateOr(b.CreateFCmpOLT(second, first), b.CreateFCmpUNO(y, y));
      return b.CreateSelect(take, y, x);
    }
    case Combine::set: return y;
    default: break;
  }
  NEAP_CHECK(false, "{}: no such combination", k.name);
  return nullptr;
}

// Whether the value comes before the best of those before it: larger (smaller), NaN before all. Of equal ones the first
// stays.
Value* Emitter::better(const Reduction& r, Value* value, Value* best) {
  const DType t = working(r);
  const bool max = r.combine == Combine::argmax;
  if (is_float(t)) {
    Value* more = max ? b.CreateFCmpOGT(value, best) : b.CreateFCmpOLT(value, best);
    return b.CreateOr(more, b.CreateAnd(b.CreateFCmpUNO(value, value), b.CreateFCmpORD(best, best)));
  }
  const auto p = is_signed(t) ? (max ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_SLT)
                              : (max ? llvm::CmpInst::ICMP_UGT : llvm::CmpInst::ICMP_ULT);
  return b.CreateICmp(p, value, best);
}

// The index of the best of all lanes, each of which has its first: the best value, then the smallest of the indices
// that have it.
Value* Emitter::first_best(const Reduction& r, Value* values, Value* indices) {
  const bool max = r.combine == Combine::argmax, real = is_float(working(r));
  Value* best = values;
  for (int width = a.tail_lanes / 2; width > 0; width /= 2) {
    const auto half = [&](int from) {
      return b.CreateShuffleVector(
          best, llvm::createSequentialMask(static_cast<unsigned>(from), static_cast<unsigned>(width), 0));
    };
    Value *const x = half(0), *const y = half(width);
    Value* const take = !real ? better(r, y, x) : max ? b.CreateFCmpOGT(y, x) : b.CreateFCmpOLT(y, x);
    best = b.CreateSelect(take, y, x);
  }
  best = b.CreateVectorSplat(static_cast<unsigned>(a.tail_lanes), b.CreateExtractElement(best, uint64_t{0}));
  Value* found = nullptr;
  if (real) {
    Value* const nan = b.CreateFCmpUNO(values, values);
    found = b.CreateSelect(b.CreateOrReduce(nan), nan, b.CreateFCmpOEQ(values, best));
  } else {
    found = b.CreateICmpEQ(values, best);
  }
  const auto none = llvm::Constant::getAllOnesValue(indices->getType());
  return b.CreateIntMinReduce(b.CreateSelect(found, indices, none), false);
}

std::vector<Value*> Emitter::accumulate(Body& body, std::vector<Value*> totals) {
  const bool along_lanes = a.vector_depth == 2;
  const int width = along_lanes ? a.tail_lanes : W;
  Value* live = along_lanes ? body.mask : nullptr;
  const auto slice = [&](Value* v, int first) {
    return width == W ? v : b.CreateShuffleVector(v, llvm::createSequentialMask(first, width, 0));
  };
  size_t slot = 0;
  for (const Reduction& r : k.reductions) {
    const DType t = working(r), from = k.dag[r.value].type;
    Value* v = lanes(body, r.value);
    at(body, 2);
    v = convert(v, from, t);
    if (t == DType::bool_) v = b.CreateZExt(v, like(b.getInt8Ty(), v));
    Value* index = nullptr;
    if (is_arg(r)) {
      index = splat(b.CreateTrunc(body.index[1], b.getInt32Ty()));
      if (along_lanes) index = b.CreateAdd(index, lane_numbers(b.getInt32Ty()));
    }
    for (int first = 0; first < W; first += width) {
      Value*& best = totals[slot];
      Value* next = slice(v, first);
      if (is_arg(r)) {
        Value* next_index = slice(index, first);
        Value* take = better(r, next, best);
        if (live) take = b.CreateAnd(take, live);
        best = b.CreateSelect(take, next, best);
        totals[slot + 1] = b.CreateSelect(take, next_index, totals[slot + 1]);
      } else {
        Value* combined = combine(r.combine, t, best, next);
        best = live ? b.CreateSelect(live, combined, best) : combined;
      }
    }
    slot += is_arg(r) ? 2 : 1;
  }
  return totals;
}

std::vector<Value*> Emitter::horizontal(std::vector<Value*> all) {
  if (a.tail_lanes == 1) return all;
  size_t slot = 0;
  for (const Reduction& r : k.reductions) {
    if (is_arg(r)) {
      all[slot + 1] = first_best(r, all[slot], all[slot + 1]);
      slot += 2;
      continue;
    }
    Value*& total = all[slot++];
    for (int width = a.tail_lanes; width > 1; width /= 2) {
      llvm::SmallVector<int, 64> low, high;
      for (int i = 0; i < width / 2; ++i) low.push_back(i), high.push_back(i + width / 2);
      const auto half = [&](const llvm::SmallVector<int, 64>& mask) -> Value* {
        return width == 2 ? b.CreateExtractElement(total, static_cast<uint64_t>(mask[0]))
                          : b.CreateShuffleVector(total, mask);
      };
      Value *const x = half(low), *const y = half(high);
      total = combine(r.combine, working(r), x, y);
    }
  }
  return all;
}

// Writes the totals of row `row` (the first of the lanes, if these are kept elements).
void Emitter::finish_reduce(const std::vector<Value*>& totals, Value* row, Body& body) {
  Value* place = result_of(row);
  if (!k.finish) place = b.CreateAdd(place, b.CreateMul(part_, b.getInt64(static_cast<uint64_t>(k.extent[0]))));
  size_t slot = 0;
  for (const Reduction& r : k.reductions) {
    DType type = working(r);
    Value* v = totals[slot];
    if (type == DType::bool_ && !is_arg(r)) v = b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
    if (is_arg(r)) {
      NEAP_CHECK(k.finish, "{}: an argmax has no partial results", k.name);
      v = totals[slot + 1];
      // Where all elements are what comparisons begin with, none came before it.
      v = b.CreateSelect(b.CreateICmpEQ(v, llvm::Constant::getAllOnesValue(v->getType())),
                         llvm::Constant::getNullValue(v->getType()), v);
      type = DType::i32;
    }
    slot += is_arg(r) ? 2 : 1;
    const DType to = k.finish ? r.output : r.accumulator;
    NEAP_CHECK(k.buffers[r.buffer].type == to, "{}: {} written to a buffer of {}", k.name, name(to),
               name(k.buffers[r.buffer].type));
    v = to_memory(convert(v, type, to), to);
    Value* pointer = b.CreateGEP(memory_element(to), buffers_[r.buffer], place);
    if (a.vector_depth == 1) {
      store_contiguous(body, pointer, v, to);
    } else {
      b.CreateAlignedStore(v, pointer, llvm::Align(size_of(to)));
    }
  }
}

// What all rows read is read once for several: a product of 8192 x 8192 and a vector takes 10.2 ms for 14.8 row by row.
// The largest of a row waits for comparisons, one after the other, and those of several rows do not wait for each
// other: of 2048 x 2048 0.3 ms for 0.52, but 9.7 for 9.0 where rows come from memory (Zen 5, one thread).
bool Emitter::takes_rows() const {
  constexpr int64_t kFewestRows = 4 * kRowsAtOnce, kFewestVectors = 8;
  if (!stretches_.list.empty() || k.reductions.size() != 1 || !has_short_rows()) return false;
  if (k.extent[0] < kFewestRows || k.extent[1] < kFewestVectors * a.lanes) return false;
  bool shared = false;  // between rows
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    if (!a.needed(id) || !a.varying(id)) continue;
    const Linear* address = k.dag[id].op == Opcode::load ? a.linear(k.dag[id].a) : nullptr;
    shared |= address && address->exact && address->terms.size() == 1 && a.is_vector_index(address->terms[0].first);
  }
  return shared || picks(k.reductions[0].combine);
}

// Whether a row has few instructions of its own: where several are computed beside each other each is code and
// registers.
bool Emitter::has_short_rows() const {
  constexpr int kMostInstructions = 8;
  int count = 0;
  for (int32_t id = 0; id < k.dag.size(); ++id) count += a.needed(id) && a.varying(id) ? 1 : 0;
  return count <= kMostInstructions;
}

void Emitter::reduce_rows(Value* first) {
  row_block_ = b.GetInsertBlock();
  std::vector<std::unique_ptr<Emitter>> rows;
  std::vector<Value*> numbers, totals;
  for (int r = 0; r < kRowsAtOnce; ++r) {
    rows.emplace_back(new Emitter(*this, k, nullptr));
    numbers.push_back(b.CreateAdd(first, b.getInt64(static_cast<uint64_t>(r))));
    for (Value* v : identities(a.tail_lanes)) totals.push_back(v);
  }
  const auto slots = static_cast<std::ptrdiff_t>(totals.size()) / kRowsAtOnce;
  const auto of_row = [&](const std::vector<Value*>& all, int r) {
    return std::vector<Value*>(all.begin() + r * slots, all.begin() + (r + 1) * slots);
  };
  const auto add = [&](Emitter&, Value* i, Value* count, std::vector<Value*>& carried) {
    for (int r = 0; r < kRowsAtOnce; ++r) {
      Emitter& on = *rows[static_cast<size_t>(r)];
      on.W = W;
      on.b.SetInsertPoint(b.GetInsertBlock());
      Body body = on.body_at(numbers[static_cast<size_t>(r)], i);
      if (count) on.start_tail(body, count);
      on.compute(body);
      std::ranges::copy(on.accumulate(body, of_row(carried, r)), carried.begin() + r * slots);
      b.SetInsertPoint(on.b.GetInsertBlock());
    }
  };
  vector_loop(1, totals, add);
  for (int r = 0; r < kRowsAtOnce; ++r) {
    Body body = body_at(numbers[static_cast<size_t>(r)], nullptr);
    finish_reduce(horizontal(of_row(totals, r)), numbers[static_cast<size_t>(r)], body);
  }
}

std::vector<bool> Emitter::made_of(const std::vector<int32_t>& results, int32_t without) const {
  std::vector<bool> made(static_cast<size_t>(k.dag.size()));
  for (const int32_t id : results) made[id] = true;
  for (int32_t id = k.dag.size(); id-- > 0;) {
    if (!made[id] || id == without) continue;
    const Inst& i = k.dag[id];
    for (const int32_t operand : {i.a, i.b, i.c}) {
      if (operand >= 0) made[operand] = true;
    }
  }
  return made;
}

// Several sums in f64 of what a quotient or root goes into are so many instructions that hardly two vectors of elements
// fit a processor's window, and what each waits for is not hidden. A block of the last value through which all that is
// slow goes is computed first; then nothing waits in the sums, whose order is the same. Per 8 elements, rows of 2048,
// one thread of Zen 1: three sums 15.2 ns for 19.6, two 12.0 for 14.5; but one 12.0 for 11.2, and f64 as long. Not
// measured where registers have 512 bits: there are 32 of them, and windows are larger.
int32_t Emitter::kept_in_blocks() const {
  constexpr int64_t kShortest = 256;  // rows
  constexpr size_t kRegisters = 4;    // that hold the totals of one sum
  if (!unit_.avx2 || unit_.bits != 256 || a.vector_depth != 2 || a.shares() || !stretches_.list.empty()) return -1;
  if (a.lanes != a.tail_lanes || k.extent[1] < kShortest) return -1;
  size_t bytes = 0;
  std::vector<int32_t> results;
  for (const Reduction& r : k.reductions) {
    bytes += is_arg(r) ? 0 : static_cast<size_t>(a.tail_lanes) * size_of(working(r));
    results.push_back(r.value);
  }
  if (bytes * 8 <= kRegisters * static_cast<size_t>(unit_.bits)) return -1;
  const auto slow = [&](int32_t id) {
    const Inst& i = k.dag[id];
    const bool is = i.op == Opcode::sqrt || (i.op == Opcode::div && is_float(i.type));
    return is && a.needed(id) && a.varying(id) && a.depth(id) == 2;
  };
  std::vector<int32_t> waits;
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    if (slow(id)) waits.push_back(id);
  }
  if (waits.empty()) return -1;
  for (int32_t id = k.dag.size(); id-- > waits.back();) {
    if (k.dag[id].type != DType::f32 || !a.needed(id) || !a.varying(id) || a.depth(id) != 2) continue;
    const std::vector<bool> first = made_of({id}, -1), then = made_of(results, id);
    const auto is_first = [&](int32_t w) { return first[w] && (w == id || !then[w]); };
    if (then[id] && std::ranges::all_of(waits, is_first)) return id;
  }
  return -1;
}

void Emitter::add_blocks(Value* row, int32_t kept, std::vector<Value*>& totals, const LanesOf& tail) {
  constexpr int64_t kBlock = 512;  // 256 take 1% longer, 1024 as long
  llvm::Type* type = element(k.dag[kept].type);
  const llvm::Align align(size_of(k.dag[kept].type));
  llvm::AllocaInst* room = stack(llvm::ArrayType::get(type, kBlock), "kept");
  room->setAlignment(llvm::Align(64));
  std::vector<int32_t> results;
  for (const Reduction& r : k.reductions) results.push_back(r.value);
  const std::vector<bool> first = made_of({kept}, -1);
  const std::vector<bool> then = made_of(results, kept);
  Value *const begin = bounds_[1][0], *const end = bounds_[1][1];
  Value* length = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateSub(end, begin), number(0));
  Value* whole = b.CreateAdd(begin, b.CreateAnd(length, number(-W)));
  std::vector<Value*> none;
  loop(
      begin, whole, kBlock, totals,
      [&](Value* from, std::vector<Value*>& sums) {
        Value* to = least(b.CreateAdd(from, number(kBlock)), whole);
        const auto there = [&](Value* i) { return b.CreateGEP(type, room, b.CreateSub(i, from)); };
        loop(
            from, to, W, none,
            [&](Value* i, std::vector<Value*>&) {
              Body body = body_at(row, i);
              compute(body, &first);
              b.CreateAlignedStore(lanes(body, kept), there(i), align);
            },
            "first");
        loop(
            from, to, W, sums,
            [&](Value* i, std::vector<Value*>& carried) {
              Body body = body_at(row, i);
              body.own.values[kept] = b.CreateAlignedLoad(with_lanes(type, W), there(i), align);
              compute(body, &then);
              carried = accumulate(body, carried);
            },
            "then");
      },
      "block", true);
  if (k.any_range || k.extent[1] % W != 0) tail_loop(whole, end, totals, tail);
}

// A line of each row in turn, where it is memory that is waited for.
int Emitter::lanes_of_rows() const {
  constexpr int kLine = 64;
  if (!has_short_rows() || !a.groups().empty()) return a.lanes;
  int width = a.tail_lanes;
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    const Inst& i = k.dag[id];
    if (i.op != Opcode::load || !a.needed(id) || !a.varying(id)) continue;
    width = std::max(width, kLine / static_cast<int>(size_of(i.type)));
  }
  return std::min(width, a.lanes);
}

void Emitter::reduce_columns() {
  constexpr int64_t kRows = 8, kSumBytes = int64_t{64} << 10;  // of the stack, but for very many sums
  std::vector<llvm::Type*> types;
  for (Value* v : identities(1)) types.push_back(v->getType());
  const int64_t most = std::max<int64_t>(kSumBytes / 8 / static_cast<int64_t>(types.size()) / 64 * 64, 64);
  std::vector<llvm::AllocaInst*> sums;
  for (llvm::Type* type : types) sums.push_back(stack(llvm::ArrayType::get(type, static_cast<uint64_t>(most)), "sums"));
  const int of_rows = lanes_of_rows();
  std::vector<Value*> none;
  Value* const ends[] = {bounds_[0][0], bounds_[0][1]};
  const auto some_columns = [&](Value* first, std::vector<Value*>&) {
    bounds_[0][0] = first;
    bounds_[0][1] = least(b.CreateAdd(first, number(most)), ends[1]);
    const auto there = [&](size_t slot, Value* column) {
      return b.CreateGEP(types[slot], sums[slot], b.CreateSub(column, first));
    };
    const auto get = [&](Value* column) {
      std::vector<Value*> totals;
      for (size_t s = 0; s < types.size(); ++s) {
        totals.push_back(b.CreateAlignedLoad(W == 1 ? types[s] : with_lanes(types[s], W), there(s, column),
                                             llvm::Align(types[s]->getPrimitiveSizeInBits() / 8)));
      }
      return totals;
    };
    const auto put = [&](const std::vector<Value*>& totals, Value* column) {
      for (size_t s = 0; s < types.size(); ++s) {
        b.CreateAlignedStore(totals[s], there(s, column), llvm::Align(types[s]->getPrimitiveSizeInBits() / 8));
      }
    };
    const auto each = [&](const std::function<void(Body&, Value*)>& body, int width) {
      const auto visit = [&](Emitter&, Value* column, Value* count, std::vector<Value*>&) {
        row_block_ = b.GetInsertBlock();
        Body here = body_at(column, nullptr);
        if (count) start_tail(here, count);
        body(here, column);
      };
      W = width;
      vector_loop(0, none, visit);
      W = a.lanes;
    };
    const auto begin = [&](Body& body, Value* column) {
      std::vector<Value*> totals = identities(W);
      begin_with(totals, column, body);
      put(totals, column);
    };
    each(begin, a.lanes);
    loop(
        bounds_[1][0], bounds_[1][1], kRows, none,
        [&](Value* row, std::vector<Value*>&) {
          Value* stop = least(b.CreateAdd(row, number(kRows)), bounds_[1][1]);
          const auto add = [&](Body& body, Value* column) {
            std::vector<Value*> totals = get(column);
            add_rows(body, row, stop, totals);
            put(totals, column);
          };
          each(add, of_rows);
        },
        "rows", true);
    each([&](Body& body, Value* column) { finish_reduce(get(column), column, body); }, a.lanes);
  };
  loop(ends[0], ends[1], most, none, some_columns, "columns", true);
  std::ranges::copy(ends, bounds_[0]);
}

void Emitter::add_rows(Body& body, Value* begin, Value* end, std::vector<Value*>& totals) {
  const auto add = [&](Value* i, std::vector<Value*>& carried) {
    body.blocks[2] = b.GetInsertBlock();
    body.index[1] = i;
    compute(body);
    carried = accumulate(body, carried);
  };
  loop(begin, end, 1, totals, add, "column");
}

void Emitter::reduce_kept() {
  if (a.takes_columns()) return reduce_columns();
  std::vector<Value*> none;
  vector_loop(0, none, [&](Emitter&, Value* row, Value* count, std::vector<Value*>&) {
    row_block_ = b.GetInsertBlock();
    std::vector<Value*> totals = identities(W);
    Body body = body_at(row, nullptr);
    if (count) start_tail(body, count);
    begin_with(totals, row, body);
    const bool empty = k.extent[1] == 0;  // then no operand has an element to hoist
    if (!empty) add_rows(body, bounds_[1][0], bounds_[1][1], totals);
    finish_reduce(totals, row, body);
  });
}

void Emitter::reduce_kept_rows() {
  const Stretch& rows = stretches_.list.front();
  Value* const length = number(stretches_.row);
  std::vector<Value*> none;
  repeat(
      bounds_[0][0], bounds_[0][1], none,
      [&](Value* at, std::vector<Value*>&) {
        Emitter on(*this, rows.kernel, &rows.within);
        on.line_ = b.CreateUDiv(at, length);
        on.first_ = b.CreateMul(on.line_, length);
        Value* stop = least(b.CreateAdd(on.first_, length), bounds_[0][1]);
        on.bounds_[0][0] = b.CreateSub(at, on.first_);
        on.bounds_[0][1] = b.CreateSub(stop, on.first_);
        std::ranges::copy(bounds_[1], on.bounds_[1]);
        on.reduce_kept();
        b.SetInsertPoint(on.b.GetInsertBlock());
        return stop;
      },
      "line");
}

void Emitter::emit_reduce() {
  start_ = new_block("start");
  b.CreateCondBr(b.CreateICmpSLT(bounds_[0][0], bounds_[0][1]), start_, return_);
  b.SetInsertPoint(start_);
  std::vector<Value*> none;
  if (a.vector_depth == 1) {
    stretches_.list.empty() ? reduce_kept() : reduce_kept_rows();
  } else {
    const int32_t kept = kept_in_blocks();
    const auto one_row = [&](Value* row, std::vector<Value*>&) {
      row_block_ = b.GetInsertBlock();
      std::vector<Value*> totals = identities(a.tail_lanes);
      const auto add = [&](Emitter& on, Value* i, Value* count, std::vector<Value*>& carried) {
        Body body = on.body_at(row, i);
        if (count) on.start_tail(body, count);
        on.compute(body);
        carried = on.accumulate(body, carried);
      };
      if (k.extent[1] > 0) kept >= 0 ? add_blocks(row, kept, totals, add) : vector_loop(1, totals, add);
      Body body = body_at(row, nullptr);
      finish_reduce(horizontal(totals), row, body);
    };
    Value* row = bounds_[0][0];
    if (takes_rows()) {
      row = loop(
          row, bounds_[0][1], kRowsAtOnce, none, [&](Value* first, std::vector<Value*>&) { reduce_rows(first); },
          "rows");
    }
    loop(row, bounds_[0][1], 1, none, one_row, "row");
  }
  b.CreateBr(return_);
}

}  // namespace neap::cpu
