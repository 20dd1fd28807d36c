// Constants, conversions, loads and stores of every dtype.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "backends/vulkan/glsl_module.h"
#include "core/check.h"

namespace neap::vk {
namespace {

std::string parenthesised(std::string number) { return number[0] == '-' ? "(" + number + ")" : number; }

std::string float_literal(float value) {
  const float scaled = value * 1024;
  if (std::fabs(value) < 1e6f && scaled == std::nearbyint(scaled) && !(value == 0 && std::signbit(value))) {
    return parenthesised(fmt::format("{:.10f}", value));
  }
  return fmt::format("uintBitsToFloat(0x{:x}u)", std::bit_cast<uint32_t>(value));
}

// Of a driver that folds zeros.
std::string unseen_zero(std::string_view function, bool negative) {
  return fmt::format("({}{}())", negative ? "-" : "", function);
}

uint64_t sign_extended(uint64_t bits, DType type) {
  const auto shift = 64 - 8 * static_cast<int>(size_of(type));
  return static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift);
}

std::string from_float(Module& m, const std::string& x, DType to, bool wide) {
  const std::string prefix = wide ? "d_" : "";
  const auto call = [&](const std::string& name) {
    m.use(name);
    return fmt::format("{}({})", name, x);
  };
  switch (to) {
    case DType::i32: return call(prefix + "to_i32");
    case DType::u32: return call(prefix + "to_u32");
    case DType::i64: return call(prefix + "to_i64");
    case DType::u64: return call(prefix + "to_u64");
    default: break;
  }
  const auto bits = static_cast<int>(8 * size_of(to));
  const bool sign = is_signed(to);
  const int lowest = sign ? -(1 << (bits - 1)) : 0, highest = (1 << (sign ? bits - 1 : bits)) - 1;
  const std::string name(m.use(prefix + "to_narrow"));
  const std::string suffix = wide ? "lf" : "";
  const std::string result = fmt::format("{}({}, {}.0{}, {}.0{})", name, x, lowest, suffix, highest, suffix);
  return sign ? result : fmt::format("uint({})", result);
}

// The 16 bits of an f32 as a half.
std::string to_half(Module& m, const std::string& x, DType to) {
  return fmt::format("{}({})", m.use(to == DType::f16 ? "f16_bits" : "bf16_bits"), x);
}

std::string pair_of(Module& m, const std::string& x, DType from) {
  m.use("pair");
  switch (m.held(from)) {
    case Register::boolean: return fmt::format("vec2(float({}), 0.0)", x);
    case Register::i32: return fmt::format("pair_i64({}({}))", m.use("widened"), x);
    case Register::u32: return fmt::format("pair_u32({})", x);
    case Register::i64: return fmt::format("pair_i64({})", x);
    case Register::u64: return fmt::format("pair_u64({})", x);
    default: return fmt::format("vec2({}, 0.0)", x);
  }
}

}  // namespace

std::string literal(Module& m, uint64_t bits, DType type) {
  switch (m.held(type)) {
    case Register::boolean: return bits ? "true" : "false";
    case Register::i32: {
      const auto value = static_cast<int32_t>(sign_extended(bits, type));
      if (value == INT32_MIN) return "int(0x80000000u)";
      return parenthesised(fmt::format("{}", value));
    }
    case Register::u32: return fmt::format("{}u", bits);
    case Register::i64: {
      const auto value = static_cast<int64_t>(bits);
      if (value == INT64_MIN) return "int64_t(0x8000000000000000ul)";
      return parenthesised(fmt::format("{}l", value));
    }
    case Register::u64: return fmt::format("{}ul", bits);
    case Register::f32:
      if (bits << 33 == 0 && m.choices.folds_zeros) return unseen_zero(m.use("zero32"), bits != 0);
      return float_literal(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case Register::f64:
      if (bits << 1 == 0 && m.choices.folds_zeros) return unseen_zero(m.use("zero64"), bits != 0);
      return fmt::format("packDouble2x32(uvec2(0x{:x}u, 0x{:x}u))", bits & 0xffffffffu, bits >> 32);
    case Register::pair: {
      const auto value = std::bit_cast<double>(bits);
      const auto high = static_cast<float>(value);
      const float low = std::isfinite(high) ? static_cast<float>(value - high) : 0.0f;
      const auto part = [&](float x) { return literal(m, std::bit_cast<uint32_t>(x), DType::f32); };
      return fmt::format("vec2({}, {})", part(high), part(low));
    }
  }
  __builtin_unreachable();
}

std::string wrap(const std::string& x, DType type) {
  const auto bits = static_cast<int>(8 * size_of(type));
  if (bits >= 32) return x;
  if (is_signed(type)) return fmt::format("bitfieldExtract({}, 0, {})", x, bits);
  return fmt::format("({} & 0x{:x}u)", x, (1u << bits) - 1u);
}

std::string is_nan(Module& m, const std::string& x, DType type) {
  switch (m.held(type)) {
    case Register::f32: return fmt::format("{}({})", m.use("nan32"), x);
    case Register::f64: return fmt::format("{}({})", m.use("nan64"), x);
    case Register::pair: return fmt::format("{}({}.x)", m.use("nan32"), x);
    default: return "false";
  }
}

std::string convert(Module& m, const std::string& x, DType from, DType to) {
  if (from == to) return x;
  if (from == DType::f16) return convert(m, fmt::format("{}({})", m.use("f16_value"), x), DType::f32, to);
  if (from == DType::bf16) return convert(m, fmt::format("uintBitsToFloat({} << 16)", x), DType::f32, to);
  const bool pair = m.held(from) == Register::pair;
  if (to == DType::bool_) {
    // Not equal to zero; a NaN is.
    if (from == DType::f32) return fmt::format("((floatBitsToUint({}) & 0x7fffffffu) != 0u)", x);
    if (pair) return fmt::format("((floatBitsToUint({}.x) & 0x7fffffffu) != 0u)", x);
    if (from == DType::f64) return fmt::format("({} != 0.0lf)", x);
    return fmt::format("({} != {})", x, literal(m, 0, from));
  }
  if (to == DType::f16 || to == DType::bf16) {
    if (from == DType::f64 && !pair) return to_half(m, fmt::format("{}({})", m.use("round_to_odd"), x), to);
    return to_half(m, convert(m, x, from, DType::f32), to);
  }
  if (m.held(to) == Register::pair) return pair_of(m, x, from);
  if (pair) {
    if (is_float(to)) return fmt::format("{}.x", x);
    if (to == DType::i64 || to == DType::u64)
      lacking("conversion to 64-bit integers", "float64 arithmetic (shaderFloat64)");
    return from_float(m, fmt::format("{}.x", x), to, false);
  }
  if (is_float(from) && !is_float(to)) return from_float(m, x, to, from == DType::f64);
  if (m.held(from) == Register::i32 && size_of(to) == 8 && !is_float(to)) {
    const std::string wide = fmt::format("{}({})", m.use("widened"), x);
    return to == DType::i64 ? wide : fmt::format("uint64_t({})", wide);
  }
  // The index of a loop that the compiler unrolls is a zero that it sees.
  if (is_float(to) && !is_float(from) && m.choices.folds_zeros)
    return fmt::format("({}({}) + {})", m.type(to), x, literal(m, 0, to));
  const std::string result = fmt::format("{}({})", m.type(to), x);
  const bool narrows = !is_float(to) && size_of(to) < 4 && from != DType::bool_ &&
                       (size_of(to) < size_of(from) || (is_signed(from) && !is_signed(to)) ||
                        (size_of(to) == size_of(from) && is_signed(from) != is_signed(to)));
  return narrows ? wrap(result, to) : result;
}

std::string bitcast(Module& m, const std::string& x, DType from, DType to) {
  if (from == to) return x;
  const size_t bytes = size_of(from);
  NEAP_CHECK(bytes == size_of(to), "bitcast of {} to {}", name(from), name(to));
  if (to == DType::bool_ || from == DType::bool_) return convert(m, x, from, to);
  if (m.held(from) == Register::pair || m.held(to) == Register::pair) {
    lacking("bitcast", "float64 arithmetic (shaderFloat64)");
  }
  const Register held = m.held(to);
  if (bytes < 4) return held == m.held(from) ? x : wrap(fmt::format("{}({})", m.type(to), x), to);
  if (from == DType::f32) return fmt::format("{}({})", held == Register::i32 ? "floatBitsToInt" : "floatBitsToUint", x);
  if (to == DType::f32) return fmt::format("{}({})", is_signed(from) ? "intBitsToFloat" : "uintBitsToFloat", x);
  if (from == DType::f64)
    return fmt::format("{}({})", held == Register::i64 ? "doubleBitsToInt64" : "doubleBitsToUint64", x);
  if (to == DType::f64) return fmt::format("{}({})", is_signed(from) ? "int64BitsToDouble" : "uint64BitsToDouble", x);
  return fmt::format("{}({})", m.type(to), x);
}

std::string element_address(const std::string& base, const std::string& index, DType index_type, size_t bytes) {
  std::string wide;
  switch (index_type) {
    case DType::i64: wide = fmt::format("uint64_t({})", index); break;
    case DType::u64: wide = index; break;
    // No index is negative, so that zeros may be put before it.
    default: wide = fmt::format("uint64_t(uint({}))", index);
  }
  return bytes == 1 ? fmt::format("({} + {})", base, wide) : fmt::format("({} + {} * {}ul)", base, wide, bytes);
}

std::string load(Module& m, const std::string& address, DType type) {
  const auto from = [&](const char* reference) { return fmt::format("{}({}).v", m.use(reference), address); };
  const bool native = size_of(type) == 1 ? m.choices.storage8 : m.choices.storage16;
  if (size_of(type) < 4 && !native) {
    const auto bits = static_cast<int>(8 * size_of(type));
    std::string word = fmt::format("{}({})", m.use(bits == 8 ? "load8" : "load16"), address);
    if (type == DType::bool_) return fmt::format("({} != 0u)", word);
    return is_signed(type) ? fmt::format("bitfieldExtract(int({}), 0, {})", word, bits) : word;
  }
  switch (type) {
    case DType::bool_: return fmt::format("(uint({}) != 0u)", from("R8"));
    case DType::i8: return fmt::format("int({})", from("RI8"));
    case DType::u8: return fmt::format("uint({})", from("R8"));
    case DType::i16: return fmt::format("int({})", from("RI16"));
    case DType::u16:
    case DType::f16:
    case DType::bf16: return fmt::format("uint({})", from("R16"));
    case DType::i32: return from("RI32");
    case DType::u32: return from("R32");
    case DType::f32: return from("RF32");
    case DType::i64: return from("RI64");
    case DType::u64: return from("R64");
    case DType::f64: return from(m.choices.float64 ? "RF64" : "RV2");
    case DType::c64:
    case DType::c128: break;  // made real by the planner
  }
  __builtin_unreachable();
}

std::string store(Module& m, const std::string& address, const std::string& value, DType type) {
  const auto to = [&](const char* reference, const std::string& v) {
    return fmt::format("{}({}).v = {};", m.use(reference), address, v);
  };
  const bool native = size_of(type) == 1 ? m.choices.storage8 : m.choices.storage16;
  if (size_of(type) < 4 && !native) {
    return fmt::format("{}({}, uint({}));", m.use(size_of(type) == 1 ? "store8" : "store16"), address, value);
  }
  switch (type) {
    case DType::bool_:
    case DType::u8: return to("R8", fmt::format("uint8_t(uint({}))", value));
    case DType::i8: return to("RI8", fmt::format("int8_t({})", value));
    case DType::i16: return to("RI16", fmt::format("int16_t({})", value));
    case DType::u16:
    case DType::f16:
    case DType::bf16: return to("R16", fmt::format("uint16_t({})", value));
    case DType::i32: return to("RI32", value);
    case DType::u32: return to("R32", value);
    case DType::f32: return to("RF32", value);
    case DType::i64: return to("RI64", value);
    case DType::u64: return to("R64", value);
    case DType::f64: return to(m.choices.float64 ? "RF64" : "RV2", value);
    case DType::c64:
    case DType::c128: break;  // made real by the planner
  }
  __builtin_unreachable();
}

}  // namespace neap::vk
