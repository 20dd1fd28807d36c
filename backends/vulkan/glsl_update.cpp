// Combining values: in registers, and in memory that other invocations write as well.
#include <fmt/format.h>

#include "backends/vulkan/glsl_kernel.h"
#include "core/check.h"

namespace neap::vk {

using backends::Combine;

uint64_t identity_bits(Combine combine, DType type) {
  const bool largest = combine == Combine::min || combine == Combine::argmin;
  const bool picks = largest || combine == Combine::max || combine == Combine::argmax;
  const auto bits = 8 * size_of(type);
  if (combine == Combine::all || (type == DType::bool_ && (largest || combine == Combine::mul))) return 1;
  if (type == DType::bool_) return 0;
  if (is_float(type)) {
    const uint64_t one = type == DType::f64 ? 0x3ff0000000000000 : 0x3f800000;
    const uint64_t infinity = type == DType::f64 ? 0x7ff0000000000000 : 0x7f800000;
    const uint64_t sign = uint64_t{1} << (bits - 1);
    if (picks) return largest ? infinity : infinity | sign;
    return combine == Combine::mul ? one : 0;
  }
  if (!picks) return combine == Combine::mul ? 1 : 0;
  const uint64_t all = ~uint64_t{0} >> (64 - bits), high = uint64_t{1} << (bits - 1);
  if (is_signed(type)) return largest ? all ^ high : high;
  return largest ? all : 0;
}

std::string combined(Module& m, Combine combine, DType type, const std::string& a, const std::string& b) {
  const bool pair = m.held(type) == Register::pair;
  const bool truth = type == DType::bool_;
  switch (combine) {
    case Combine::set: return b;
    case Combine::add:
      if (truth) return fmt::format("({} || {})", a, b);
      if (pair) return fmt::format("{}_add({}, {})", m.use("pair"), a, b);
      return wrap(fmt::format("({} + {})", a, b), type);
    case Combine::mul:
      if (truth) return fmt::format("({} && {})", a, b);
      if (pair) return fmt::format("{}_mul({}, {})", m.use("pair"), a, b);
      return wrap(fmt::format("({} * {})", a, b), type);
    case Combine::any: return fmt::format("({} {} {})", a, truth ? "||" : "|", b);
    case Combine::all: return fmt::format("({} {} {})", a, truth ? "&&" : "&", b);
    case Combine::bit_xor: return fmt::format("({} ^ {})", a, b);
    default: break;
  }
  const bool max = combine == Combine::max || combine == Combine::argmax;
  if (truth) return fmt::format("({} {} {})", a, max ? "||" : "&&", b);
  if (!is_float(type)) return fmt::format("{}({}, {})", max ? "max" : "min", a, b);
  NEAP_CHECK(!pair, "a maximum of sums");
  // A NaN stays once it is there, and comes in.
  return fmt::format("(!({} {} {}) && ({} || !{}) ? {} : {})", b, max ? ">" : "<", a, is_nan(m, a, type),
                     is_nan(m, b, type), a, b);
}

namespace {

// Of f16 and bf16 the combination is that of f32, rounded.
std::string combined_bits(Module& m, Combine combine, DType type, const std::string& a, const std::string& b) {
  if (type != DType::f16 && type != DType::bf16) return combined(m, combine, type, a, b);
  const auto wide = [&](const std::string& x) { return convert(m, x, type, DType::f32); };
  m.use("nan32");
  const std::string name = fmt::format("{}{}",
                                       combine == Combine::add   ? "sum_"
                                       : combine == Combine::mul ? "product_"
                                       : combine == Combine::max ? "max_"
                                                                 : "min_",
                                       neap::name(type));
  if (!m.defined(name)) {
    const std::string result = convert(m, "r", DType::f32, type);
    const std::string x = wide("a"), y = wide("b");
    m.define(
        name,
        fmt::format("uint {}(uint a, uint b) {{\n  float x = {}, y = {};\n  precise float r = {};\n  return {};\n}}\n",
                    name, x, y, combined(m, combine, DType::f32, "x", "y"), result));
  }
  return fmt::format("{}({}, {})", name, a, b);
}

// Whether the device's own atomics do it, and on which reference.
const char* native(const Module& m, Combine combine, DType type, const char*& function) {
  const bool add = combine == Combine::add, max = combine == Combine::max, min = combine == Combine::min;
  function = add ? "atomicAdd" : max ? "atomicMax" : "atomicMin";
  if (!add && !max && !min) return nullptr;
  const bool atomic = Choices::FloatAdd::atomic == (type == DType::f32 ? m.choices.add32 : m.choices.add64);
  switch (type) {
    case DType::u32: return "R32";
    case DType::i32: return "RI32";
    case DType::u64: return m.choices.atomic64 ? "R64" : nullptr;
    case DType::i64: return m.choices.atomic64 ? "RI64" : nullptr;
    case DType::f32: return add && atomic ? "RF32" : nullptr;
    case DType::f64: return add && atomic && m.choices.float64 ? "RF64" : nullptr;
    default: return nullptr;
  }
}

std::string name_of(Combine combine, DType type) {
  return fmt::format("update_{}_{}", backends::name(combine), neap::name(type));
}

// Compare and exchange until nobody came between. `word` is uint or uint64_t; "next" says what to write for "old".
std::string exchange(Module& m, std::string_view word, std::string_view cell, const std::string& next) {
  m.note_exchange();
  return fmt::format(R"(  {0} old = {1}, seen;
  do {{
    seen = old;
{2}    if (next == seen) break;
    old = atomicCompSwap({1}, seen, next);
  }} while (old != seen);
)",
                     word, cell, next);
}

}  // namespace

std::string update_alone(Module& m, Combine combine, DType type, const std::string& address, const std::string& value) {
  const bool real = is_float(type) && size_of(type) > 2;
  return fmt::format("{0} {1} now = {2}; {0} {1} r = {3}; {4}", real ? "precise" : "const", m.type(type),
                     load(m, address, type), combined_bits(m, combine, type, "now", value),
                     store(m, address, "r", type));
}

std::string update(Module& m, Combine combine, DType type, const std::string& address, const std::string& value,
                   std::string_view kernel) {
  const char* function = nullptr;
  if (const char* reference = native(m, combine, type, function)) {
    if (size_of(type) == 8 && type != DType::f64) m.use("GL_EXT_shader_atomic_int64");
    if (is_float(type)) m.use("GL_EXT_shader_atomic_float");
    return fmt::format("{}({}({}).v, {});", function, m.use(reference), address, value);
  }
  const std::string name = name_of(combine, type);
  const std::string call = fmt::format("{}({}, {});", name, address, value);
  if (m.defined(name)) return call;
  const std::string signature = fmt::format("void {}(uint64_t a, {} x) {{\n", name, m.type(type));
  if (size_of(type) == 8) {
    if (!m.choices.atomic64) {
      if (combine == Combine::add && !is_float(type)) {  // the carry in a second step: only the sum is looked at
        m.use("R32");
        m.define(name, signature + R"(  const uint low = uint(x), old = atomicAdd(R32(a).v, low);
  atomicAdd(R32(a + 4ul).v, uint(x >> 32) + (old + low < old ? 1u : 0u));
}
)");
        return call;
      }
      lacking(kernel, "64-bit atomics (shaderBufferInt64Atomics)");
    }
    m.use("GL_EXT_shader_atomic_int64");
    m.use("R64");
    std::string now = "seen", bits = "r";
    if (m.held(type) == Register::pair) {
      now = "uintBitsToFloat(unpackUint2x32(seen))", bits = "packUint2x32(floatBitsToUint(r))";
    } else if (type != DType::u64) {
      now = bitcast(m, now, DType::u64, type), bits = bitcast(m, bits, type, DType::u64);
    }
    const bool real = is_float(type);
    const std::string next =
        fmt::format("    const {0} now = {1};\n    {2} {0} r = {3};\n    const uint64_t next = {4};\n", m.type(type),
                    now, real ? "precise" : "const", combined(m, combine, type, "now", "x"), bits);
    m.define(name, signature + exchange(m, "uint64_t", "R64(a).v", next) + "}\n");
    return call;
  }
  m.use("R32");
  if (size_of(type) == 4) {
    const std::string result = combined(m, combine, type, "now", "x");
    const std::string next =
        fmt::format("    const {0} now = {1};\n    {2} {0} r = {3};\n    const uint next = {4};\n", m.type(type),
                    bitcast(m, "seen", DType::u32, type), is_float(type) ? "precise" : "const", result,
                    bitcast(m, "r", type, DType::u32));
    m.define(name, signature + exchange(m, "uint", "R32(a).v", next) + "}\n");
    return call;
  }
  const auto bits = static_cast<int>(8 * size_of(type));
  const std::string part = fmt::format("bitfieldExtract(seen, shift, {})", bits);
  const std::string now = type == DType::bool_ ? fmt::format("({} != 0u)", part)
                          : is_signed(type)    ? fmt::format("bitfieldExtract(int(seen), shift, {})", bits)
                                               : part;
  const std::string result = combined_bits(m, combine, type, "now", "x");
  const std::string next = fmt::format(
      "    const {0} now = {1};\n    const {0} r = {2};\n"
      "    const uint next = bitfieldInsert(seen, uint(r), shift, {3});\n",
      m.type(type), now, result, bits);
  m.define(name, signature + fmt::format("  const int shift = int(uint(a) & {}u) * 8;\n", bits == 8 ? 3 : 2) +
                     exchange(m, "uint", "R32(a & ~3ul).v", next) + "}\n");
  return call;
}

}  // namespace neap::vk
