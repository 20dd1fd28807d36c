// One instruction as a GLSL expression.
#include <fmt/format.h>

#include "backends/vulkan/glsl_kernel.h"
#include "core/check.h"

namespace neap::vk {

using scalar::Inst;
using scalar::Opcode;

std::string Body::arithmetic(const Inst& inst) {
  const std::string &x = values_[inst.a], &y = inst.b < 0 ? x : values_[inst.b], &z = inst.c < 0 ? x : values_[inst.c];
  const DType from = type(inst.a);
  if (soft_ && (from == DType::f64 || (inst.type == DType::f64 && inst.op != Opcode::select))) {
    return soft_arithmetic(inst);
  }
  switch (inst.op) {
    case Opcode::convert: {
      // Mesa takes an integer that is rounded to a float and back for unchanged, unless a sum lies between.
      const Inst& source = kernel.dag[inst.a];
      const bool there_and_back = is_float(from) && is_integer(inst.type) && source.op == Opcode::convert &&
                                  is_integer(type(source.a)) && m.held(from) != Register::pair;
      const char* kept = from == DType::f64 ? "kept64" : "kept32";
      return convert(m, there_and_back ? fmt::format("{}({})", m.use(kept), x) : x, from, inst.type);
    }
    case Opcode::bitcast: return bitcast(m, x, from, inst.type);
    case Opcode::select: return fmt::format("{} ? {} : {}", x, y, z);
    case Opcode::lt:
    case Opcode::le:
    case Opcode::eq:
    case Opcode::ne: return compare(inst);
    default: break;
  }
  if (!is_float(from)) return integer_arithmetic(inst);
  if (m.held(from) == Register::pair) return pair_arithmetic(inst);
  const bool wide = from == DType::f64;
  const auto rounded = [&](const char* function) {
    return wide ? fmt::format("{}({}({}), {})", m.use("signed64"), function, x, x) : fmt::format("{}({})", function, x);
  };
  switch (inst.op) {
    case Opcode::add: return fmt::format("{} + {}", x, y);
    case Opcode::sub: return fmt::format("{} - {}", x, y);
    case Opcode::mul: return fmt::format("{} * {}", x, y);
    case Opcode::div:
      if (!wide && !m.choices.own_division) return fmt::format("{}({}, {})", m.use("div32"), x, y);
      return fmt::format("{} / {}", x, y);
    case Opcode::rem:
      if (wide) return fmt::format("{}({}, {})", m.use(scalar::Function::fmod), x, y);
      return fmt::format("{}({}, {})", m.use("fmod32"), x, y);
    case Opcode::neg: return fmt::format("-{}", x);
    case Opcode::abs: return fmt::format("abs({})", x);
    case Opcode::sqrt: return fmt::format("{}({})", wide || m.choices.own_division ? "sqrt" : m.use("sqrt32"), x);
    case Opcode::floor: return rounded("floor");
    case Opcode::ceil: return rounded("ceil");
    case Opcode::trunc: return wide ? fmt::format("{}({})", m.use("trunc64"), x) : fmt::format("trunc({})", x);
    case Opcode::rint: return wide ? fmt::format("{}({})", m.use("rint64"), x) : fmt::format("roundEven({})", x);
    case Opcode::fma: {
      // Polynomials bear a rounding more; what cancels (the rest of a product, of an argument's reduction) does not.
      const bool fused = wide ? m.choices.fused64 : m.choices.fused32;
      if (!fused && inst.imm == 0 && kernel.dag[inst.c].op == Opcode::constant)
        return fmt::format("{} * {} + {}", x, y, z);
      const char* name = fused ? "fma" : wide ? "fma64" : m.choices.float64 ? "fma32" : "fma32_by_pairs";
      if (!fused) m.use(name);
      return fmt::format("{}({}, {}, {})", name, x, y, z);
    }
    default: break;
  }
  NEAP_CHECK(false, "opcode {} on {}", static_cast<int>(inst.op), name(from));
  __builtin_unreachable();
}

std::string Body::compare(const Inst& inst) {
  const std::string &x = values_[inst.a], &y = values_[inst.b];
  const DType from = type(inst.a);
  // x != x asks whether x is a NaN; a compiler may take it for false.
  if (inst.a == inst.b && is_float(from)) {
    const std::string nan = is_nan(m, x, from);
    if (inst.op == Opcode::ne) return nan;
    return inst.op == Opcode::lt ? "false" : "!" + nan;
  }
  const char* op = inst.op == Opcode::lt ? "<" : inst.op == Opcode::le ? "<=" : inst.op == Opcode::eq ? "==" : "!=";
  if (m.held(from) == Register::pair) {
    if (inst.op == Opcode::eq || inst.op == Opcode::ne) return fmt::format("({} {} {})", x, op, y);
    return fmt::format("({}.x < {}.x || ({}.x == {}.x && {}.y {} {}.y))", x, y, x, y, x, op, y);
  }
  if (from == DType::bool_ && (inst.op == Opcode::lt || inst.op == Opcode::le)) {
    return fmt::format("(int({}) {} int({}))", x, op, y);
  }
  return fmt::format("({} {} {})", x, op, y);
}

std::string Body::pair_arithmetic(const Inst& inst) {
  const std::string &x = values_[inst.a], &y = inst.b < 0 ? x : values_[inst.b];
  m.use("pair");
  switch (inst.op) {
    case Opcode::add: return fmt::format("pair_add({}, {})", x, y);
    case Opcode::sub: return fmt::format("pair_add({}, -{})", x, y);
    case Opcode::mul: return fmt::format("pair_mul({}, {})", x, y);
    case Opcode::neg: return fmt::format("-{}", x);
    case Opcode::abs: return fmt::format("({}.x < 0.0 ? -{} : {})", x, x, x);
    default: lacking(kernel.name, "float64 arithmetic (shaderFloat64)");
  }
}

std::string Body::integer_arithmetic(const Inst& inst) {
  const std::string &x = values_[inst.a], &y = inst.b < 0 ? x : values_[inst.b];
  const DType t = type(inst.a);
  const auto bits = static_cast<int>(8 * size_of(t));
  const bool sign = is_signed(t), truth = t == DType::bool_;
  const auto binary = [&](const char* op) { return wrap(fmt::format("({} {} {})", x, op, y), t); };
  const auto number = [&](const std::string& e) {  // a 32-bit count in the result's type
    return inst.type == DType::i32 ? e : fmt::format("{}({})", m.type(inst.type), e);
  };
  const std::string unsigned_x = bits == 64 ? fmt::format("uint64_t({})", x)
                                 : sign     ? fmt::format("(uint({}) & 0x{:x}u)", x, 0xffffffffu >> (32 - bits))
                                            : x;
  switch (inst.op) {
    case Opcode::add: return binary("+");
    case Opcode::sub: return binary("-");
    case Opcode::mul: return binary("*");
    case Opcode::div: return binary("/");
    case Opcode::rem:
      // % is not defined for negative operands. Of 64 bits, NVIDIA's compiler (580.159) takes one remainder for
      // another.
      return sign || bits == 64 ? fmt::format("({} - ({} / {}) * {})", x, x, y, y) : binary("%");
    case Opcode::mulhi: {
      return fmt::format("{0}({1}({3}({2}), {3}({4})))", m.type(t), m.use(bits == 32 ? "mulhi32" : "mulhi64"), x,
                         bits == 32 ? "uint" : "uint64_t", y);
    }
    case Opcode::neg: return wrap(fmt::format("({} - {})", literal(m, 0, t), x), t);
    case Opcode::abs:
      return wrap(fmt::format("({} < {} ? {} - {} : {})", x, literal(m, 0, t), literal(m, 0, t), x, x), t);
    case Opcode::bit_and: return fmt::format("({} {} {})", x, truth ? "&&" : "&", y);
    case Opcode::bit_or: return fmt::format("({} {} {})", x, truth ? "||" : "|", y);
    case Opcode::bit_xor: return fmt::format("({} {} {})", x, truth ? "!=" : "^", y);
    case Opcode::bit_not: return truth ? fmt::format("!{}", x) : wrap(fmt::format("~{}", x), t);
    case Opcode::shl: return wrap(fmt::format("({} << uint({}))", x, y), t);
    case Opcode::shr: return fmt::format("({} >> uint({}))", x, y);
    case Opcode::rotl: {
      const auto count = static_cast<int>(inst.imm) % bits;
      if (count == 0) return x;
      const std::string turned = fmt::format("(({} << {}) | ({} >> {}))", unsigned_x, count, unsigned_x, bits - count);
      return wrap(fmt::format("{}({})", m.type(t), turned), t);
    }
    case Opcode::popcount:
      if (bits < 64) return number(fmt::format("bitCount({})", unsigned_x));
      return number(fmt::format("(bitCount(uint({0})) + bitCount(uint({0} >> 32)))", unsigned_x));
    case Opcode::clz:
      if (bits < 64) return number(fmt::format("({} - findMSB({}))", bits - 1, unsigned_x));
      return number(
          fmt::format("(({0} >> 32) != 0ul ? 31 - findMSB(uint({0} >> 32)) : 63 - findMSB(uint({0})))", unsigned_x));
    default: break;
  }
  NEAP_CHECK(false, "opcode {} on {}", static_cast<int>(inst.op), name(t));
  __builtin_unreachable();
}

}  // namespace neap::vk
