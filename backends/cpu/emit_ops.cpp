// This writes instructions that only compute.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "backends/cpu/emit.h"
#include "backends/cpu/emitter.h"
#include "core/check.h"

namespace neap::cpu {

using llvm::Intrinsic::ID;

llvm::Type* Emitter::element(DType t) {
  switch (t) {
    case DType::bool_: return b.getInt1Ty();
    case DType::f32: return b.getFloatTy();
    case DType::f64: return b.getDoubleTy();
    default: return b.getIntNTy(8 * static_cast<unsigned>(size_of(t)));
  }
}

llvm::Type* Emitter::memory_element(DType t) { return t == DType::bool_ ? b.getInt8Ty() : element(t); }

llvm::Type* Emitter::with_lanes(llvm::Type* e, int lanes) {
  return lanes == 1 ? e : llvm::FixedVectorType::get(e, static_cast<unsigned>(lanes));
}

int Emitter::lanes_of(Value* v) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

llvm::Type* Emitter::like(llvm::Type* e, Value* shape) { return with_lanes(e, lanes_of(shape)); }

Value* Emitter::splat(Value* scalar) { return W == 1 ? scalar : b.CreateVectorSplat(static_cast<unsigned>(W), scalar); }

Value* Emitter::constant_like(llvm::Type* e, double v, Value* shape) {
  llvm::Type* type = like(e, shape);
  if (e->isFloatingPointTy()) return llvm::ConstantFP::get(type, v);
  return llvm::ConstantInt::get(type, static_cast<uint64_t>(static_cast<int64_t>(v)), true);
}

Value* Emitter::uniform_constant(const Inst& inst) {
  if (inst.type == DType::f32)
    return llvm::ConstantFP::get(context_, llvm::APFloat(std::bit_cast<float>(static_cast<uint32_t>(inst.imm))));
  if (inst.type == DType::f64) return llvm::ConstantFP::get(context_, llvm::APFloat(std::bit_cast<double>(inst.imm)));
  return llvm::ConstantInt::get(element(inst.type), inst.imm);
}

Value* Emitter::intrinsic(ID id, std::initializer_list<Value*> operands) {
  return b.CreateIntrinsic((*operands.begin())->getType(), id,
                           llvm::ArrayRef<Value*>(operands.begin(), operands.size()));
}

Value* Emitter::instruction(Body& body, int32_t id) {
  const Inst& i = k.dag[id];
  if (i.op == Opcode::load) return load(body, id);
  if (a.varying(id) && a.linear(id)) return affine(body, id);
  if (i.op == Opcode::constant) return uniform_constant(i);
  if (i.op == Opcode::index) {  // of the loop without lanes
    at(body, a.depth(id));
    return b.CreateTrunc(body.index[i.imm], element(i.type));
  }
  if (i.op == Opcode::param) {
    at(body, 0);
    return b.CreateLoad(b.getInt64Ty(), b.CreateConstGEP1_64(b.getInt64Ty(), params_, i.imm));
  }
  const bool wide = a.varying(id);
  if (wide && i.op == Opcode::bit_and && a.shares() && W % 4 == 0) {
    const Inst& mask = k.dag[i.b];
    if (mask.op == Opcode::constant && (mask.imm == 1 || mask.imm == 3) &&
        a.counts_from(i.a, static_cast<int64_t>(mask.imm) + 1)) {
      return b.CreateAnd(lane_numbers(element(i.type)), mask.imm);
    }
  }
  const int group = shared(id);
  const auto operand = [&](int32_t o, bool scalar_will_do = false) -> Value* {
    if (o < 0) return nullptr;
    if (group > 1 && !(scalar_will_do && !a.varying(o))) return grouped(body, o, group);
    return wide && !scalar_will_do ? lanes(body, o) : value(body, o);
  };
  Value* x = operand(i.a, i.op == Opcode::select);
  Value* y = operand(i.b);
  Value* z = operand(i.c);
  at(body, a.depth(id));
  if (i.op == Opcode::div && unit_.avx2) {
    if (Value* quotient = small_quotient(i, x)) return quotient;
  }
  return arithmetic(i, x, y, z, k.dag[i.a].type);
}

namespace {

// Calls f with each value of an integer type of 8 or 16 bits; whether it held for all.
template <class F>
bool holds_for_all(DType type, const F& f) {
  const auto bits = 8 * static_cast<int>(size_of(type));
  const int first = is_signed(type) ? -(1 << (bits - 1)) : 0;
  for (int v = first; v < first + (1 << bits); ++v) {
    if (!f(static_cast<float>(v))) return false;
  }
  return true;
}

}  // namespace

// Divisions of bytes and words by a constant, as those of pixels by 255: all quotients are tried here, so the product
// with the reciprocal is taken where it is the same, or that and what the remainder adds to it. A division costs ten
// instructions.
Value* Emitter::small_quotient(const Inst& i, Value* x) {
  const Inst &from = k.dag[i.a], &by = k.dag[i.b];
  if (i.type != DType::f32 || from.op != Opcode::convert || by.op != Opcode::constant) return nullptr;
  const DType type = k.dag[from.a].type;
  if (!is_integer(type) || size_of(type) > 2) return nullptr;
  const auto divisor = std::bit_cast<float>(static_cast<uint32_t>(by.imm));
  const float reciprocal = 1 / divisor;
  const auto same = [](float one, float other) {
    return std::bit_cast<uint32_t>(one) == std::bit_cast<uint32_t>(other);
  };
  const auto constant = [&](float v) { return constant_like(b.getFloatTy(), static_cast<double>(v), x); };
  if (!std::isnormal(divisor) || !std::isnormal(reciprocal)) return nullptr;
  if (holds_for_all(type, [&](float v) { return same(v * reciprocal, v / divisor); })) {
    return b.CreateFMul(x, constant(reciprocal));
  }
  const bool is_exact = holds_for_all(type, [&](float v) {
    const float near = v * reciprocal, rest = std::fma(-near, divisor, v);
    return same(std::fma(rest, reciprocal, near), v / divisor);
  });
  if (!is_exact) return nullptr;
  Value* near = b.CreateFMul(x, constant(reciprocal));
  Value* rest = intrinsic(llvm::Intrinsic::fma, {b.CreateFNeg(near), constant(divisor), x});
  return intrinsic(llvm::Intrinsic::fma, {rest, constant(reciprocal), near});
}

Value* Emitter::arithmetic(const Inst& i, Value* x, Value* y, Value* z, DType from) {
  const bool real = is_float(i.type), sign = is_signed(from);
  switch (i.op) {
    case Opcode::add: return real ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
    case Opcode::sub: return real ? b.CreateFSub(x, y) : b.CreateSub(x, y);
    case Opcode::mul: return real ? b.CreateFMul(x, y) : b.CreateMul(x, y);
    case Opcode::div: return real ? b.CreateFDiv(x, y) : sign ? b.CreateSDiv(x, y) : b.CreateUDiv(x, y);
    case Opcode::rem: return real ? b.CreateFRem(x, y) : sign ? b.CreateSRem(x, y) : b.CreateURem(x, y);
    case Opcode::mulhi: {
      const unsigned bits = 8 * static_cast<unsigned>(size_of(from));
      llvm::Type* twice = like(b.getIntNTy(2 * bits), x);
      Value* product = b.CreateMul(b.CreateZExt(x, twice), b.CreateZExt(y, twice));
      return b.CreateTrunc(b.CreateLShr(product, bits), x->getType());
    }
    case Opcode::neg: return real ? b.CreateFNeg(x) : b.CreateNeg(x);
    case Opcode::abs: {
      if (real) return intrinsic(llvm::Intrinsic::fabs, {x});
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse());
    }
    case Opcode::sqrt: return intrinsic(llvm::Intrinsic::sqrt, {x});
    case Opcode::floor: return intrinsic(llvm::Intrinsic::floor, {x});
    case Opcode::ceil: return intrinsic(llvm::Intrinsic::ceil, {x});
    case Opcode::trunc: return intrinsic(llvm::Intrinsic::trunc, {x});
    case Opcode::rint: return intrinsic(llvm::Intrinsic::nearbyint, {x});
    case Opcode::fma: return intrinsic(llvm::Intrinsic::fma, {x, y, z});
    case Opcode::lt:
    case Opcode::le:
    case Opcode::eq:
    case Opcode::ne: return compare(i.op, from, x, y);
    case Opcode::select: return b.CreateSelect(x, y, z);
    case Opcode::bit_and: return b.CreateAnd(x, y);
    case Opcode::bit_or: return b.CreateOr(x, y);
    case Opcode::bit_xor: return b.CreateXor(x, y);
    case Opcode::bit_not: return b.CreateNot(x);
    case Opcode::shl: return b.CreateShl(x, y);
    case Opcode::shr: return sign ? b.CreateAShr(x, y) : b.CreateLShr(x, y);
    case Opcode::rotl: return intrinsic(llvm::Intrinsic::fshl, {x, x, llvm::ConstantInt::get(x->getType(), i.imm)});
    case Opcode::popcount: return intrinsic(llvm::Intrinsic::ctpop, {x});
    case Opcode::clz: return b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x, b.getFalse());
    case Opcode::convert: return convert(x, from, i.type);
    case Opcode::bitcast: return b.CreateBitCast(x, like(element(i.type), x));
    case Opcode::call: return call(i, x, y, z);
    default: break;
  }
  NEAP_CHECK(false, "opcode {} has no code", static_cast<int>(i.op));
  return nullptr;
}

Value* Emitter::compare(Opcode op, DType type, Value* x, Value* y) {
  using P = llvm::CmpInst::Predicate;
  if (is_float(type)) {
    const P p = op == Opcode::lt   ? P::FCMP_OLT
                : op == Opcode::le ? P::FCMP_OLE
                : op == Opcode::eq ? P::FCMP_OEQ
                                   : P::FCMP_UNE;
    return b.CreateFCmp(p, x, y);
  }
  const bool sign = is_signed(type);
  const P p = op == Opcode::lt   ? (sign ? P::ICMP_SLT : P::ICMP_ULT)
              : op == Opcode::le ? (sign ? P::ICMP_SLE : P::ICMP_ULE)
              : op == Opcode::eq ? P::ICMP_EQ
                                 : P::ICMP_NE;
  return b.CreateICmp(p, x, y);
}

Value* Emitter::convert(Value* v, DType from, DType to) {
  if (from == to) return v;
  if (from == DType::f16 || from == DType::bf16) {
    Value* single;
    if (from == DType::f16) {
      single = b.CreateFPExt(b.CreateBitCast(v, like(b.getHalfTy(), v)), like(b.getFloatTy(), v));
    } else {
      Value* bits = b.CreateShl(b.CreateZExt(v, like(b.getInt32Ty(), v)), 16);
      single = b.CreateBitCast(bits, like(b.getFloatTy(), v));
    }
    return convert(single, DType::f32, to);
  }
  if (to == DType::bool_) {
    Value* zero = llvm::Constant::getNullValue(v->getType());
    return is_float(from) ? b.CreateFCmpUNE(v, zero) : b.CreateICmpNE(v, zero);
  }
  if (to == DType::f16 || to == DType::bf16) return to_half(v, from, to);
  llvm::Type* type = like(element(to), v);
  if (is_float(from)) {
    if (is_float(to)) return b.CreateFPCast(v, type);
    return float_to_int(v, from, to);
  }
  if (!is_float(to)) return b.CreateIntCast(v, type, is_signed(from));
  if (from == DType::bool_) {
    return b.CreateSelect(v, llvm::ConstantFP::get(type, 1.0), llvm::ConstantFP::get(type, 0.0));
  }
  return is_signed(from) ? b.CreateSIToFP(v, type) : b.CreateUIToFP(v, type);
}

// Nearest even; NaN stays NaN. A double is first rounded to odd, so that the second rounding is the only one.
Value* Emitter::to_half(Value* v, DType from, DType to) {
  llvm::Type* i32 = like(b.getInt32Ty(), v);
  llvm::Type* i16 = like(b.getInt16Ty(), v);
  Value* single = v;
  if (from == DType::f64) {
    Value* nearest = b.CreateFPTrunc(v, like(b.getFloatTy(), v));
    Value* back = b.CreateFPExt(nearest, v->getType());
    Value* bits = b.CreateBitCast(nearest, i32);
    Value* even = b.CreateICmpEQ(b.CreateAnd(bits, 1), llvm::Constant::getNullValue(i32));
    Value* fix = b.CreateAnd(b.CreateFCmpONE(back, v), even);
    Value* too_far = b.CreateFCmpOGT(intrinsic(llvm::Intrinsic::fabs, {back}), intrinsic(llvm::Intrinsic::fabs, {v}));
    Value* step = b.CreateSelect(too_far, llvm::ConstantInt::getSigned(i32, -1), llvm::ConstantInt::get(i32, 1));
    single = b.CreateBitCast(b.CreateSelect(fix, b.CreateAdd(bits, step), bits), like(b.getFloatTy(), v));
  } else if (from != DType::f32) {
    single = convert(v, from, DType::f32);
  }
  if (to == DType::f16) return b.CreateBitCast(b.CreateFPTrunc(single, like(b.getHalfTy(), v)), i16);
  Value* bits = b.CreateBitCast(single, i32);
  Value* odd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  Value* rounded = b.CreateAdd(b.CreateAdd(bits, llvm::ConstantInt::get(i32, 0x7fff)), odd);
  Value* quiet = b.CreateOr(bits, llvm::ConstantInt::get(i32, 0x400000));
  Value* chosen = b.CreateSelect(b.CreateFCmpUNO(single, single), quiet, rounded);
  return b.CreateTrunc(b.CreateLShr(chosen, 16), i16);
}

// Truncates and saturates; NaN is 0.
Value* Emitter::float_to_int(Value* v, DType from, DType to) {
  const int bits = 8 * static_cast<int>(size_of(to));
  const bool sign = is_signed(to);
  llvm::Type* real = element(from);
  llvm::Type* type = like(element(to), v);
  const double above = std::ldexp(1.0, sign ? bits - 1 : bits);
  const double below = sign ? -std::ldexp(1.0, bits - 1) : 0.0;
  if (bits < 32 || (bits == 32 && from == DType::f64)) {  // the ends are numbers of the type: maximum and minimum do
    Value* const least = constant_like(real, below, v);
    Value* const most = constant_like(real, above - 1, v);
    Value* kept = v;
    if (sign) kept = b.CreateSelect(b.CreateFCmpORD(v, v), v, llvm::Constant::getNullValue(v->getType()));
    kept = b.CreateSelect(b.CreateFCmpOGT(kept, least), kept, least);  // NaN too is the least, 0 of what has no sign
    kept = b.CreateSelect(b.CreateFCmpOLT(kept, most), kept, most);
    llvm::Type* wide = like(b.getInt32Ty(), v);
    return b.CreateTrunc(sign || bits < 32 ? b.CreateFPToSI(kept, wide) : b.CreateFPToUI(kept, wide), type);
  }
  Value* high = b.CreateFCmpOGE(v, constant_like(real, above, v));
  if (unit_.avx2 && from == DType::f32 && to == DType::i32 && lanes_of(v) % 8 == 0) {
    // cvttps2dq gives 0x80000000 for whatever does not fit: right below, its complement above.
    std::vector<Value*> parts;
    for (int lane = 0; lane < lanes_of(v); lane += 8) {
      Value* eight = b.CreateShuffleVector(v, llvm::createSequentialMask(static_cast<unsigned>(lane), 8, 0));
      parts.push_back(b.CreateIntrinsic(llvm::Intrinsic::x86_avx_cvtt_ps2dq_256, {}, {eight}));
    }
    Value* result = llvm::concatenateVectors(b, parts);
    result = b.CreateXor(result, b.CreateSExt(high, type));
    return b.CreateAnd(result, b.CreateSExt(b.CreateFCmpORD(v, v), type));
  }
  Value* low = b.CreateFCmpOLE(v, constant_like(real, below, v));  // inclusive: what saturates is the same value
  Value* inside = b.CreateNot(b.CreateOr(b.CreateOr(high, low), b.CreateFCmpUNO(v, v)));
  Value* safe = b.CreateSelect(inside, v, llvm::Constant::getNullValue(v->getType()));
  Value* result = sign ? b.CreateFPToSI(safe, type) : b.CreateFPToUI(safe, type);
  const llvm::APInt most = sign ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  const llvm::APInt least = sign ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt(bits, 0);
  result = b.CreateSelect(high, llvm::ConstantInt::get(type, most), result);
  return b.CreateSelect(low, llvm::ConstantInt::get(type, least), result);
}

Value* Emitter::call(const Inst& i, Value* x, Value* y, Value* where) {
  const auto function = static_cast<scalar::Function>(i.imm);
  if (where)
    return b.CreateCall(call_where(function, lanes_of(x)), y ? llvm::ArrayRef{x, where, y} : llvm::ArrayRef{x, where});
  if (function == scalar::Function::fmod && unit_.avx2) return fmod(x, y);
  return call_of_lanes(function, x, y);
}

Value* Emitter::call_of_lanes(scalar::Function function, Value* x, Value* y) {
  llvm::SmallVector<llvm::Type*, 2> types(static_cast<size_t>(scalar::arity(function)), b.getDoubleTy());
  auto callee =
      module_.getOrInsertFunction(scalar::symbol(function), llvm::FunctionType::get(b.getDoubleTy(), types, false));
  const auto one = [&](Value* p, Value* q) {
    llvm::SmallVector<Value*, 2> arguments{p};
    if (types.size() == 2) arguments.push_back(q);
    return b.CreateCall(callee, arguments);
  };
  const int n = lanes_of(x);
  if (n == 1) return one(x, y);
  Value* result = llvm::PoisonValue::get(x->getType());
  for (int lane = 0; lane < n; ++lane) {
    const auto index = static_cast<uint64_t>(lane);
    Value* q = types.size() == 2 ? b.CreateExtractElement(y, index) : nullptr;
    result = b.CreateInsertElement(result, one(b.CreateExtractElement(x, index), q), index);
  }
  return result;
}

// Calls for so many lanes if any of the second operand holds. It becomes part of who calls it (inline_calls()), where
// nothing is kept in memory for what hardly ever happens.
llvm::Function* Emitter::call_where(scalar::Function function, int n) {
  const std::string name = fmt::format("{}.where.{}", scalar::symbol(function), n);
  if (llvm::Function* made = module_.getFunction(name)) return made;
  llvm::Type *type = with_lanes(b.getDoubleTy(), n), *mask = with_lanes(b.getInt1Ty(), n);
  llvm::SmallVector<llvm::Type*, 3> types{type, mask};
  if (scalar::arity(function) == 2) types.push_back(type);
  auto* f = llvm::Function::Create(llvm::FunctionType::get(type, types, false), llvm::Function::InternalLinkage, name,
                                   module_);
  f->addFnAttr(llvm::Attribute::AlwaysInline);
  const llvm::IRBuilderBase::InsertPointGuard guard(b);
  const auto block = [&](const char* label) { return llvm::BasicBlock::Create(context_, label, f); };
  llvm::BasicBlock *entry = block("entry"), *some = block("some"), *done = block("done");

  b.SetInsertPoint(entry);
  Value* where = f->getArg(1);
  b.CreateCondBr(n == 1 ? where : b.CreateOrReduce(where), some, done,
                 llvm::MDBuilder(context_).createBranchWeights(1, 1 << 20));

  b.SetInsertPoint(some);
  Value* called = call_of_lanes(function, f->getArg(0), types.size() == 3 ? f->getArg(2) : nullptr);
  b.CreateBr(done);

  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(type, 2);
  result->addIncoming(llvm::Constant::getNullValue(type), entry);
  result->addIncoming(called, some);
  b.CreateRet(result);
  return f;
}

// A remainder, exact as C's: x - q y, rounded once, for the quotient q rounded to an integer, which is one too large at
// most, as long as it has no more than 53 bits. Where it has more, or is none, C finds it.
Value* Emitter::fmod(Value* x, Value* y) {
  Value *high = intrinsic(llvm::Intrinsic::fabs, {x}), *low = intrinsic(llvm::Intrinsic::fabs, {y});
  Value* quotient = intrinsic(llvm::Intrinsic::trunc, {b.CreateFDiv(high, low)});
  Value* is_exact = b.CreateFCmpOLT(quotient, constant_like(b.getDoubleTy(), 0x1p53, x));
  Value* rest = intrinsic(llvm::Intrinsic::fma, {b.CreateFNeg(quotient), low, high});
  Value* below = b.CreateFCmpOLT(rest, llvm::Constant::getNullValue(x->getType()));
  rest = b.CreateSelect(below, b.CreateFAdd(rest, low), rest);
  rest = b.CreateSelect(b.CreateFCmpOLT(high, low), high, rest);  // y may be infinite
  rest = intrinsic(llvm::Intrinsic::copysign, {rest, x});
  Value* called = b.CreateCall(call_where(scalar::Function::fmod, lanes_of(x)), {x, b.CreateNot(is_exact), y});
  return b.CreateSelect(is_exact, rest, called);
}

void inline_calls(llvm::Module& module) {
  for (llvm::Function& f : llvm::make_early_inc_range(module)) {
    if (!f.hasFnAttribute(llvm::Attribute::AlwaysInline) || !f.hasLocalLinkage()) continue;
    llvm::SmallVector<llvm::CallInst*> calls;
    for (llvm::User* user : f.users()) calls.push_back(llvm::cast<llvm::CallInst>(user));
    for (llvm::CallInst* call : calls) {
      llvm::InlineFunctionInfo info;
      const llvm::InlineResult result = llvm::InlineFunction(*call, info);
      NEAP_CHECK(result.isSuccess(), "{} is not inlined", f.getName().str());
    }
    f.eraseFromParent();
  }
}

}  // namespace neap::cpu
