// f64 on devices without it, where sums of two floats do not do: the bits of a double in a uint64_t, by integer
// arithmetic, rounded as IEEE 754 says. The functions of f32 that compute in f64 (sin, pow, ...) are such expressions.
// In memory, and outside of the expression, values are sums of two floats.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/vulkan/glsl_kernel.h"

namespace neap::vk {

using scalar::Inst;
using scalar::Opcode;

namespace {

constexpr const char* kSoft = R"(
const uint64_t kSign = 0x8000000000000000ul, kInfinity = 0x7ff0000000000000ul, kOne = 0x3ff0000000000000ul;
const uint64_t kNan = 0x7ff8000000000000ul, kFraction = 0x000ffffffffffffful;
int highest(uint64_t x) { return (x >> 32) != 0ul ? 32 + findMSB(uint(x >> 32)) : findMSB(uint(x)); }
bool soft_nan(uint64_t x) { return (x & ~kSign) > kInfinity; }
// The bits of m * 2^e in a format of so many digits, rounded to nearest; what was cut off m is in its lowest bit.
uint64_t soft_round(uint64_t m, int e, int digits, int bias) {
  if (m == 0ul) return 0ul;
  const int up = 63 - highest(m);
  m <<= up;
  int exponent = e - up + 63 + bias, cut = 64 - digits;
  if (exponent > 2 * bias) return uint64_t(2 * bias + 1) << (digits - 1);
  if (exponent < 1) {
    cut += 1 - exponent;
    exponent = 1;
  }
  if (cut > 62) {
    const int down = cut - 62;
    m = down > 63 ? 1ul : (m >> down) | ((m << (64 - down)) != 0ul ? 1ul : 0ul);
    cut = 62;
  }
  const uint64_t rest = m & ((1ul << cut) - 1ul), middle = 1ul << (cut - 1);
  uint64_t kept = m >> cut;
  if (rest > middle || (rest == middle && (kept & 1ul) != 0ul)) kept += 1ul;
  return kept + (uint64_t(exponent - 1) << (digits - 1));
}
uint64_t soft_exact(uint64_t sign, uint64_t m, int e) { return sign | soft_round(m, e, 53, 1023); }
// The significand of a number, and the exponent of its last bit.
uint64_t soft_parts(uint64_t x, out int e) {
  e = int(x >> 52) & 2047;
  const uint64_t m = (x & kFraction) | (e == 0 ? 0ul : kFraction + 1ul);
  e = max(e, 1) - 1075;
  return m;
}
// So that bit 62 of high is the highest that is set; not of zero.
void soft_align(inout uint64_t high, inout uint64_t low, inout int e) {
  if (high == 0ul) {
    high = low;
    low = 0ul;
    e -= 64;
  }
  const int up = 62 - highest(high);
  if (up > 0) {
    high = (high << up) | (low >> (64 - up));
    low <<= up;
  } else if (up < 0) {
    low = (low >> 1) | (low & 1ul) | (high << 63);
    high >>= 1;
  }
  e -= up;
}
uint64_t soft_fma(uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t product = (a ^ b) & kSign;
  if (soft_nan(a) || soft_nan(b) || soft_nan(c)) return kNan;
  const bool endless = (c & kInfinity) == kInfinity;
  if ((a & kInfinity) == kInfinity || (b & kInfinity) == kInfinity) {
    if ((a << 1) == 0ul || (b << 1) == 0ul || (endless && (c & kSign) != product)) return kNan;
    return product | kInfinity;
  }
  if (endless) return c;
  int xe, ye, e;
  const uint64_t ma = soft_parts(a, xe), mb = soft_parts(b, ye), mc = soft_parts(c, e);
  if (ma == 0ul || mb == 0ul) return mc == 0ul ? c & product : c;
  uint64_t xh = mulhi64(ma, mb), xl = ma * mb, xs = product;
  xe += ye;
  soft_align(xh, xl, xe);
  if (mc == 0ul) return soft_exact(xs, xh | (xl != 0ul ? 1ul : 0ul), xe + 64);
  uint64_t yh = mc, yl = 0ul, ys = c & kSign;
  ye = e - 64;
  soft_align(yh, yl, ye);
  if (xe < ye || (xe == ye && xh < yh)) {  // xl is 0 or more than yl, which is 0
    const uint64_t h = xh, l = xl, s = xs;
    e = xe;
    xh = yh, xl = yl, xs = ys, xe = ye;
    yh = h, yl = l, ys = s, ye = e;
  }
  int down = xe - ye;
  if (down > 126) {
    yh = 0ul;
    yl = 1ul;
    down = 0;
  } else if (down > 63) {
    yl = yh | (yl != 0ul ? 1ul : 0ul);
    yh = 0ul;
    down -= 64;
  }
  if (down > 0) {
    const uint64_t lost = yl << (64 - down);
    yl = (yl >> down) | (yh << (64 - down)) | (lost != 0ul ? 1ul : 0ul);
    yh >>= down;
  }
  if (xs == ys) {
    xl += yl;
    xh += yh + (xl < yl ? 1ul : 0ul);
  } else {
    xh -= yh + (xl < yl ? 1ul : 0ul);
    xl -= yl;
  }
  if ((xh | xl) == 0ul) return 0ul;
  soft_align(xh, xl, xe);
  return soft_exact(xs, xh | (xl != 0ul ? 1ul : 0ul), xe + 64);
}
uint64_t soft_add(uint64_t a, uint64_t b) { return soft_fma(a, kOne, b); }
uint64_t soft_mul(uint64_t a, uint64_t b) { return soft_fma(a, b, kSign); }
uint64_t soft_div(uint64_t a, uint64_t b) {
  const uint64_t sign = (a ^ b) & kSign, x = a & ~kSign, y = b & ~kSign;
  if (soft_nan(a) || soft_nan(b) || (x == y && (x == 0ul || x == kInfinity))) return kNan;
  if (x == kInfinity || y == 0ul) return sign | kInfinity;
  if (x == 0ul || y == kInfinity) return sign;
  int xe, ye;
  uint64_t mx = soft_parts(x, xe), my = soft_parts(y, ye);
  const int x_up = 52 - highest(mx), y_up = 52 - highest(my);
  mx <<= x_up;
  my <<= y_up;
  uint64_t quotient = mx / my, rest = mx % my;
  for (int i = 0; i < 6; ++i) {  // 10 binary digits each
    rest <<= 10;
    quotient = (quotient << 10) | (rest / my);
    rest %= my;
  }
  return soft_exact(sign, quotient | (rest != 0ul ? 1ul : 0ul), xe - x_up - (ye - y_up) - 60);
}
uint64_t soft_sqrt(uint64_t a) {
  if (soft_nan(a) || a == kInfinity || (a << 1) == 0ul) return a;
  if (a > kSign) return kNan;
  int e;
  uint64_t m = soft_parts(a, e);
  const int up = 52 - highest(m);
  m <<= up;
  e -= up;
  if ((e & 1) != 0) {
    m <<= 1;
    --e;
  }
  uint64_t root = 0ul, rest = 0ul;
  for (int i = 0; i < 55; ++i) {  // two digits of m, then of zeros, for each of the root
    rest = (rest << 2) | (i < 27 ? (m >> (52 - 2 * i)) & 3ul : 0ul);
    const uint64_t more = (root << 2) | 1ul;
    root <<= 1;
    if (rest >= more) {
      rest -= more;
      root |= 1ul;
    }
  }
  return soft_exact(0ul, root | (rest != 0ul ? 1ul : 0ul), e / 2 - 28);
}
uint64_t soft_rint(uint64_t x) {
  const uint64_t a = x & ~kSign, whole = 0x4330000000000000ul;  // 2^52
  return a >= whole ? x : soft_add(soft_add(a, whole), whole | kSign) | (x & kSign);
}
int64_t soft_key(uint64_t x) { return x >= kSign ? -int64_t(x & ~kSign) : int64_t(x); }
bool soft_lt(uint64_t a, uint64_t b) { return !soft_nan(a) && !soft_nan(b) && soft_key(a) < soft_key(b); }
bool soft_le(uint64_t a, uint64_t b) { return !soft_nan(a) && !soft_nan(b) && soft_key(a) <= soft_key(b); }
bool soft_eq(uint64_t a, uint64_t b) { return !soft_nan(a) && !soft_nan(b) && soft_key(a) == soft_key(b); }
uint64_t soft_of(float x) {
  const uint bits = floatBitsToUint(x), a = bits & 0x7fffffffu;
  const uint64_t sign = uint64_t(bits & 0x80000000u) << 32;
  if (a > 0x7f800000u) return kNan;
  if (a == 0x7f800000u) return sign | kInfinity;
  if (a < 0x800000u) return soft_exact(sign, uint64_t(a), -149);
  return sign | ((uint64_t(a) << 29) + (896ul << 52));
}
uint64_t soft_of_i64(int64_t x) {
  const uint64_t bits = uint64_t(x), negative = 0ul - (bits >> 63);
  return soft_exact(bits & kSign, (bits ^ negative) - negative, 0);
}
// In a shorter format, whose bits these are.
uint soft_short(uint64_t x, int digits, int bias) {
  const uint sign = uint(x >> 63), infinity = uint(2 * bias + 1) << (digits - 1);
  int e;
  const uint64_t m = soft_parts(x & ~kSign, e);
  const uint a = soft_nan(x) ? infinity | (1u << (digits - 2))
                 : (x & kInfinity) == kInfinity ? infinity : uint(soft_round(m, e, digits, bias));
  return a | ((2u * uint(bias) + 2u) * sign << (digits - 1));
}
float soft_float(uint64_t x) { return uintBitsToFloat(soft_short(x, 24, 127)); }
vec2 soft_pair(uint64_t x) {
  const float high = soft_float(x);
  return pair_of(high, soft_float(soft_add(x, soft_of(high) ^ kSign)));
}
uint64_t soft_of_pair(vec2 x) { return soft_add(soft_of(x.x), soft_of(x.y)); }
)";

}  // namespace

// Sums of two floats have 48 bits: enough to add and multiply, not for what counts on f64's 53 (as adding and
// subtracting a large number to round does).
bool Body::needs_soft() const {
  if (m.choices.float64) return false;
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    const Inst& inst = kernel.dag[id];
    if (!is_live_[id]) continue;
    const bool result = inst.type == DType::f64, operand = inst.a >= 0 && type(inst.a) == DType::f64;
    if (!result && !operand) continue;
    switch (inst.op) {
      case Opcode::div:
      case Opcode::fma:
      case Opcode::sqrt:
      case Opcode::rint: return true;
      case Opcode::constant:
        if (const double v = std::fabs(std::bit_cast<double>(inst.imm)); v >= 0x1p40 && v < HUGE_VAL) return true;
        break;
      default: break;
    }
  }
  return false;
}

void Body::use_soft() {
  m.use("pair");
  m.use("mulhi64");
  m.define("soft", kSoft);
}

std::string Body::soft_convert(const std::string& x, DType from, DType to) {
  if (from == to) return x;
  if (to == DType::f64) {
    if (from == DType::f16 || from == DType::bf16 || from == DType::f32) {
      return fmt::format("soft_of({})", convert(m, x, from, DType::f32));
    }
    if (from == DType::u64) return fmt::format("soft_exact(0ul, {}, 0)", x);
    return fmt::format("soft_of_i64({})", convert(m, x, from, DType::i64));
  }
  switch (to) {
    case DType::f32: return fmt::format("soft_float({})", x);
    case DType::f16: return fmt::format("soft_short({}, 11, 15)", x);
    case DType::bf16: return fmt::format("soft_short({}, 8, 127)", x);
    case DType::bool_: return fmt::format("(({} << 1) != 0ul)", x);
    default: lacking(kernel.name, "float64 arithmetic (shaderFloat64)");
  }
}

std::string Body::soft_arithmetic(const Inst& inst) {
  const std::string &x = values_[inst.a], &y = inst.b < 0 ? x : values_[inst.b], &z = inst.c < 0 ? x : values_[inst.c];
  switch (inst.op) {
    case Opcode::convert: return soft_convert(x, type(inst.a), inst.type);
    case Opcode::bitcast: return type(inst.a) == inst.type ? x : fmt::format("{}({})", soft_type(inst.type), x);
    case Opcode::add: return fmt::format("soft_add({}, {})", x, y);
    case Opcode::sub: return fmt::format("soft_add({}, {} ^ kSign)", x, y);
    case Opcode::mul: return fmt::format("soft_mul({}, {})", x, y);
    case Opcode::div: return fmt::format("soft_div({}, {})", x, y);
    case Opcode::fma: return fmt::format("soft_fma({}, {}, {})", x, y, z);
    case Opcode::sqrt: return fmt::format("soft_sqrt({})", x);
    case Opcode::rint: return fmt::format("soft_rint({})", x);
    case Opcode::neg: return fmt::format("({} ^ kSign)", x);
    case Opcode::abs: return fmt::format("({} & ~kSign)", x);
    case Opcode::lt: return fmt::format("soft_lt({}, {})", x, y);
    case Opcode::le: return fmt::format("soft_le({}, {})", x, y);
    case Opcode::eq: return fmt::format("soft_eq({}, {})", x, y);
    case Opcode::ne: return fmt::format("!soft_eq({}, {})", x, y);
    default: lacking(kernel.name, "float64 arithmetic (shaderFloat64)");
  }
}

}  // namespace neap::vk
