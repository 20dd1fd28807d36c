#include "trace/scalar/scalar.h"

#include <fmt/format.h>

#include <bit>
#include <optional>

#include "core/check.h"
#include "trace/scalar/scalar_eval.h"

namespace neap::scalar {
namespace {

int width_of(DType t) { return t == DType::bool_ ? 1 : static_cast<int>(8 * size_of(t)); }
uint64_t mask_of(DType t) { return ~uint64_t{0} >> (64 - width_of(t)); }
bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }
bool is_exact(DType t) { return !is_float(t); }  // integers and bool
bool is_leaf(Opcode op) {
  return op == Opcode::constant || op == Opcode::index || op == Opcode::param || op == Opcode::load;
}
bool is_compare(Opcode op) { return op == Opcode::lt || op == Opcode::le || op == Opcode::eq || op == Opcode::ne; }
bool is_bitwise(Opcode op) { return op == Opcode::bit_and || op == Opcode::bit_or || op == Opcode::bit_xor; }

// Whether every value of `from` is a value of `to`.
bool holds(DType from, DType to) {
  if (from == to || from == DType::bool_) return true;
  if (to == DType::bool_) return false;
  static constexpr auto kDigits = [](DType t) {
    switch (t) {
      case DType::f16: return 11;
      case DType::bf16: return 8;
      case DType::f32: return 24;
      case DType::f64: return 53;
      default: return width_of(t) - (is_signed(t) ? 1 : 0);
    }
  };
  if (is_float(from)) return is_float(to) && !is_half(to) && kDigits(from) <= kDigits(to);
  if (is_signed(from) && is_unsigned(to)) return false;
  return kDigits(from) <= kDigits(to) && to != DType::f16;  // 11 digits reach past f16's range only with more bits
}

// Whether x -> middle -> to may go straight from x to `to`.
bool skips(DType from, DType middle, DType to) {
  if (is_half(from) || is_half(to)) return from == to && holds(from, middle);
  if (holds(from, middle)) return to == from || is_exact(middle) || is_float(to);
  return is_integer(from) && is_integer(middle) && is_integer(to) && width_of(to) <= width_of(middle);
}

struct Rewriter {
  Dag& dag;

  bool is(X x, Opcode op) const { return dag[x.id].op == op; }
  X operand(X x) const { return {x.dag, dag[x.id].a}; }
  bool is_bits(X x, uint64_t bits) const { return dag.is_constant(x) && dag[x.id].imm == bits; }
  bool is_value(X x, double value) const { return dag.is_constant(x) && dag.constant_value(x) == value; }
  bool is_zero_bits(X x) const { return is_bits(x, 0); }
  bool is_all_ones(X x) const { return is_bits(x, mask_of(x.type())); }
  X zero(DType t) const { return dag.constant_bits(0, t); }

  std::optional<X> unary(Opcode op, X a) const {
    switch (op) {
      case Opcode::neg:
      case Opcode::bit_not:
        if (is(a, op)) return operand(a);
        break;
      case Opcode::abs:
      case Opcode::floor:
      case Opcode::ceil:
      case Opcode::trunc:
      case Opcode::rint:
        if (is(a, op)) return a;
        break;
      default: break;
    }
    return {};
  }

  std::optional<X> integer(Opcode op, X a, X b) const {
    const DType t = a.type();
    switch (op) {
      case Opcode::add:
        if (is_zero_bits(b)) return a;
        if (dag.is_constant(b) && is(a, Opcode::add)) {  // (x + c) + d
          const X c{&dag, dag[a.id].b};
          if (dag.is_constant(c)) return dag.binary(op, operand(a), dag.binary(op, c, b));
        }
        break;
      case Opcode::sub:
        if (is_zero_bits(b)) return a;
        if (a.id == b.id) return zero(t);
        break;
      case Opcode::mul:
        if (is_zero_bits(b)) return b;
        if (is_bits(b, 1)) return a;
        break;
      case Opcode::div:
        if (is_bits(b, 1)) return a;
        break;
      case Opcode::rem:
        if (is_bits(b, 1)) return zero(t);
        break;
      case Opcode::shl:
      case Opcode::shr:
        if (is_zero_bits(b) || is_zero_bits(a)) return a;
        break;
      case Opcode::bit_and:
        if (is_all_ones(b) || a.id == b.id) return a;
        if (is_zero_bits(b)) return b;
        break;
      case Opcode::bit_or:
        if (is_zero_bits(b) || a.id == b.id) return a;
        if (is_all_ones(b)) return b;
        break;
      case Opcode::bit_xor:
        if (is_zero_bits(b)) return a;
        if (a.id == b.id) return zero(t);
        if (is_all_ones(b)) return dag.unary(Opcode::bit_not, a);
        break;
      case Opcode::eq:
      case Opcode::le:
        if (a.id == b.id) return dag.constant_bits(1, DType::bool_);
        break;
      case Opcode::ne:
      case Opcode::lt:
        if (a.id == b.id) return zero(DType::bool_);
        break;
      default: break;
    }
    return {};
  }

  // Only what keeps every bit, the sign of zero included.
  std::optional<X> floating(Opcode op, X a, X b) const {
    if (op == Opcode::mul && is_value(b, 1.0)) return a;
    if (op == Opcode::div && is_value(b, 1.0)) return a;
    if (op == Opcode::sub && is_zero_bits(b)) return a;
    if (op == Opcode::add && is_bits(b, uint64_t{1} << (width_of(a.type()) - 1))) return a;
    return {};
  }
};

// f64 to f32, so that rounding the result once more, to a half type, equals rounding `x` directly.
X round_to_odd(X x) {
  Dag& dag = *x.dag;
  const X nearest = dag.convert(x, DType::f32);
  const X back = dag.convert(nearest, DType::f64);
  const X bits = dag.bitcast(nearest, DType::u32);
  const X one = dag.integer(1, DType::u32);
  const X odd = dag.convert(dag.binary(Opcode::bit_and, bits, one), DType::bool_);
  const X keep = dag.binary(Opcode::bit_or, odd, dag.binary(Opcode::eq, back, x));
  const X too_far = dag.binary(Opcode::lt, dag.unary(Opcode::abs, x), dag.unary(Opcode::abs, back));
  const X neighbour = dag.select(too_far, dag.binary(Opcode::sub, bits, one), dag.binary(Opcode::add, bits, one));
  return dag.bitcast(dag.select(keep, bits, neighbour), DType::f32);
}

// A 64-bit integer of which f64 holds every digit that a half type's rounding looks at: of the last 12 of a large one
// only whether there are any.
X without_low_digits(X x) {
  Dag& dag = *x.dag;
  const DType t = x.type();
  const auto number = [&](int64_t value) { return dag.integer(value, t); };
  const X low = dag.binary(Opcode::bit_and, x, number(0xfff));
  const X any = dag.select(dag.binary(Opcode::eq, low, number(0)), low, number(0x800));
  const X coarse = dag.binary(Opcode::bit_or, dag.binary(Opcode::bit_and, x, number(~int64_t{0xfff})), any);
  X large = dag.binary(Opcode::le, number(int64_t{1} << 32), x);
  if (is_signed(t)) {
    large = dag.binary(Opcode::bit_or, large, dag.binary(Opcode::le, x, number(-(int64_t{1} << 32))));
  }
  return dag.select(large, coarse, x);
}

}  // namespace

DType X::type() const { return (*dag)[id].type; }

X Dag::push(Inst inst) {
  if (!is_leaf(inst.op)) {
    bool all_constant = true;
    const uint64_t* bits[3] = {};
    const int32_t operands[3] = {inst.a, inst.b, inst.c};
    for (int i = 0; i < 3; ++i) {
      if (operands[i] < 0) continue;
      NEAP_CHECK(operands[i] < size(), "operand %{} of another expression", operands[i]);
      all_constant &= insts_[operands[i]].op == Opcode::constant;
      bits[i] = &insts_[operands[i]].imm;
    }
    if (all_constant) {
      uint64_t value = 0;
      evaluate(inst, insts_[inst.a].type, bits[0], bits[1], bits[2], {&value, 1});
      return constant_bits(value, inst.type);
    }
  }
  size_t hash = inst.imm * 0x9E3779B97F4A7C15u;
  for (uint64_t word : {static_cast<uint64_t>(inst.op) << 8 | static_cast<uint64_t>(inst.type),
                        uint64_t{static_cast<uint32_t>(inst.a)} << 32 | static_cast<uint32_t>(inst.b),
                        uint64_t{static_cast<uint32_t>(inst.c)}}) {
    hash = (std::rotl(hash, 23) ^ word) * 0x9E3779B97F4A7C15u;
  }
  auto [begin, end] = known_.equal_range(hash);
  for (; begin != end; ++begin) {
    if (insts_[begin->second] == inst) return {this, begin->second};
  }
  insts_.push_back(inst);
  known_.emplace(hash, size() - 1);
  return {this, size() - 1};
}

X Dag::constant_bits(uint64_t bits, DType type) {
  return push({.op = Opcode::constant, .type = type, .imm = bits & mask_of(type)});
}

X Dag::constant(double value, DType type) {
  const auto bits = std::bit_cast<uint64_t>(value);
  uint64_t converted = 0;
  evaluate({.op = Opcode::convert, .type = type}, DType::f64, &bits, nullptr, nullptr, {&converted, 1});
  return constant_bits(converted, type);
}

X Dag::integer(int64_t value, DType type) {
  NEAP_CHECK(!is_float(type));
  return constant_bits(type == DType::bool_ ? value != 0 : static_cast<uint64_t>(value), type);
}

X Dag::index(int level, DType type) {
  return push({.op = Opcode::index, .type = type, .imm = static_cast<uint64_t>(level)});
}
X Dag::param(int number) {
  return push({.op = Opcode::param, .type = DType::i64, .imm = static_cast<uint64_t>(number)});
}
X Dag::load(int buffer, DType type, X index) {
  return push({.op = Opcode::load, .type = type, .a = index.id, .imm = static_cast<uint64_t>(buffer)});
}

X Dag::again(const Inst& inst, X a, X b, X c) {
  switch (inst.op) {
    case Opcode::bit_not: return unary(inst.op, a);
    case Opcode::select: return select(a, b, c);
    case Opcode::convert: return convert(a, inst.type);
    default: break;
  }
  // Integers, where decided ones may simplify others; floats stay as they are.
  const bool exact = inst.b >= 0 && inst.c < 0 && inst.op != Opcode::call && inst.op != Opcode::mulhi;
  if (exact && is_exact(a.type())) return binary(inst.op, a, b);
  Inst own = inst;
  own.a = a.id, own.b = b.id, own.c = c.id;
  return push(own);
}

X Dag::unary(Opcode op, X a) {
  if (auto x = Rewriter{*this}.unary(op, a)) return *x;
  return push({.op = op, .type = a.type(), .a = a.id});
}

X Dag::binary(Opcode op, X a, X b) {
  const DType t = a.type();
  NEAP_CHECK(t == b.type(), "operands of types {} and {}", name(t), name(b.type()));
  NEAP_CHECK(!is_half(t), "arithmetic on {}", name(t));
  const bool commutes =
      op == Opcode::add || op == Opcode::mul || is_bitwise(op) || op == Opcode::eq || op == Opcode::ne;
  // Constants to the right, where the rewrites look for them. Which NaN survives depends on the order, so floats keep
  // theirs otherwise.
  if (commutes && (is_constant(a) ? !is_constant(b) : is_exact(t) && !is_constant(b) && b.id < a.id)) std::swap(a, b);
  const Rewriter rewriter{*this};
  if (auto x = is_exact(t) ? rewriter.integer(op, a, b) : rewriter.floating(op, a, b)) return *x;
  return push({.op = op, .type = is_compare(op) ? DType::bool_ : t, .a = a.id, .b = b.id});
}

X Dag::select(X condition, X a, X b) {
  NEAP_CHECK(condition.type() == DType::bool_ && a.type() == b.type());
  if (is_constant(condition)) return insts_[condition.id].imm ? a : b;
  if (a.id == b.id) return a;
  if (insts_[condition.id].op == Opcode::bit_not) return select({this, insts_[condition.id].a}, b, a);
  if (a.type() == DType::bool_ && is_constant(a) && is_constant(b)) {
    return insts_[a.id].imm ? condition : unary(Opcode::bit_not, condition);
  }
  return push({.op = Opcode::select, .type = a.type(), .a = condition.id, .b = a.id, .c = b.id});
}

X Dag::fma(X a, X b, X c, bool once) {
  NEAP_CHECK(a.type() == b.type() && a.type() == c.type() && is_float(a.type()));
  return push({.op = Opcode::fma, .type = a.type(), .a = a.id, .b = b.id, .c = c.id, .imm = once ? 1u : 0u});
}

X Dag::rotl(X a, int count) {
  NEAP_CHECK(a.type() == DType::u32);
  if (count % 32 == 0) return a;
  return push({.op = Opcode::rotl, .type = a.type(), .a = a.id, .imm = static_cast<uint64_t>(count % 32)});
}

X Dag::convert(X a, DType type) {
  const DType from = a.type();
  if (from == type) return a;
  // Backends see halves converted from and to f32 only.
  if (is_half(from) && type != DType::f32) return convert(convert(a, DType::f32), type);
  if (is_half(type) && from != DType::f32) {
    if (from == DType::f64) return convert(round_to_odd(a), type);
    if (is_integer(from) && size_of(from) == 8 && type == DType::bf16) a = without_low_digits(a);
    return convert(convert(a, holds(from, DType::f32) ? DType::f32 : DType::f64), type);
  }
  const Inst inst = insts_[a.id];
  if (inst.op == Opcode::convert && skips(insts_[inst.a].type, from, type)) return convert({this, inst.a}, type);
  return push({.op = Opcode::convert, .type = type, .a = a.id});
}

X Dag::bitcast(X a, DType type) {
  if (a.type() == type) return a;
  NEAP_CHECK(width_of(a.type()) == width_of(type), "bitcast of {} to {}", name(a.type()), name(type));
  if (insts_[a.id].op == Opcode::bitcast) return bitcast({this, insts_[a.id].a}, type);
  return push({.op = Opcode::bitcast, .type = type, .a = a.id});
}

X Dag::call(Function function, X a, X b, X where) {
  NEAP_CHECK(a.type() == DType::f64 && (arity(function) == 2) == (b.id >= 0));
  const auto imm = static_cast<uint64_t>(function);
  return push({.op = Opcode::call, .type = DType::f64, .a = a.id, .b = b.id, .c = where.id, .imm = imm});
}

double Dag::constant_value(X x) const {
  const Inst& inst = insts_[x.id];
  NEAP_CHECK(inst.op == Opcode::constant);
  uint64_t bits = 0;
  evaluate({.op = Opcode::convert, .type = DType::f64}, inst.type, &inst.imm, nullptr, nullptr, {&bits, 1});
  return std::bit_cast<double>(bits);
}

int64_t Dag::constant_integer(X x) const {
  const Inst& inst = insts_[x.id];
  NEAP_CHECK(inst.op == Opcode::constant && !is_float(inst.type));
  uint64_t bits = 0;
  evaluate({.op = Opcode::convert, .type = DType::i64}, inst.type, &inst.imm, nullptr, nullptr, {&bits, 1});
  return static_cast<int64_t>(bits);
}

}  // namespace neap::scalar
