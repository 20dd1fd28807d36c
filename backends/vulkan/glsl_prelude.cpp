#include "backends/vulkan/glsl_prelude.h"

namespace neap::vk {
namespace {

// Buffer references to one element each: addresses are computed in 64 bits by the caller.
// Of halves and float conversions: core/half and trace/scalar/scalar_eval.cpp say the same in C++.
constexpr Snippet kSnippets[] = {
    {"R8", "GL_EXT_shader_8bit_storage",
     "layout(buffer_reference, scalar, buffer_reference_align = 1) buffer R8 { uint8_t v; };\n"},
    {"RI8", "GL_EXT_shader_8bit_storage",
     "layout(buffer_reference, scalar, buffer_reference_align = 1) buffer RI8 { int8_t v; };\n"},
    {"R16", "GL_EXT_shader_16bit_storage",
     "layout(buffer_reference, scalar, buffer_reference_align = 2) buffer R16 { uint16_t v; };\n"},
    {"RI16", "GL_EXT_shader_16bit_storage",
     "layout(buffer_reference, scalar, buffer_reference_align = 2) buffer RI16 { int16_t v; };\n"},
    {"R32", "", "layout(buffer_reference, scalar, buffer_reference_align = 4) buffer R32 { uint v; };\n"},
    {"RI32", "", "layout(buffer_reference, scalar, buffer_reference_align = 4) buffer RI32 { int v; };\n"},
    {"RF32", "", "layout(buffer_reference, scalar, buffer_reference_align = 4) buffer RF32 { float v; };\n"},
    {"R64", "", "layout(buffer_reference, scalar, buffer_reference_align = 8) buffer R64 { uint64_t v; };\n"},
    {"RI64", "", "layout(buffer_reference, scalar, buffer_reference_align = 8) buffer RI64 { int64_t v; };\n"},
    {"RF64", "", "layout(buffer_reference, scalar, buffer_reference_align = 8) buffer RF64 { double v; };\n"},
    {"RV2", "", "layout(buffer_reference, scalar, buffer_reference_align = 8) buffer RV2 { vec2 v; };\n"},

    // Narrow elements inside 32-bit words. Others may write their part of the word at the same time.
    {"load8", "R32", R"(
uint load8(uint64_t a) {
  return bitfieldExtract(R32(a & ~3ul).v, int(uint(a) & 3u) * 8, 8);
}
)"},
    {"load16", "R32", R"(
uint load16(uint64_t a) {
  return bitfieldExtract(R32(a & ~3ul).v, int(uint(a) & 2u) * 8, 16);
}
)"},
    {"store8", "R32", R"(
void store8(uint64_t a, uint x) {
  const uint shift = (uint(a) & 3u) * 8u;
  atomicAnd(R32(a & ~3ul).v, ~(0xffu << shift));
  atomicOr(R32(a & ~3ul).v, (x & 0xffu) << shift);
}
)"},
    {"store16", "R32", R"(
void store16(uint64_t a, uint x) {
  const uint shift = (uint(a) & 2u) * 8u;
  atomicAnd(R32(a & ~3ul).v, ~(0xffffu << shift));
  atomicOr(R32(a & ~3ul).v, (x & 0xffffu) << shift);
}
)"},

    {"nan32", "", R"(
bool nan32(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
)"},
    {"nan64", "", R"(
bool nan64(double x) {
  const uvec2 w = unpackDouble2x32(x);
  const uint high = w.y & 0x7fffffffu;
  return high > 0x7ff00000u || (high == 0x7ff00000u && w.x != 0u);
}
)"},
    // Quotients and roots as IEEE 754 rounds them, where the device's own may be off by 2.5 units: of significands in
    // [1, 2), by Newton's method and a last step from the exact rest (Markstein, IA-64 and Elementary Functions, 2000),
    // the exponents apart. What is not normal, on either side, is the device's.
    {"div32", "", R"(
float div32(float a, float b) {
  const uint x = floatBitsToUint(a), y = floatBitsToUint(b);
  const int from = int(x >> 23 & 255u), by = int(y >> 23 & 255u);
  precise float p = uintBitsToFloat((x & 0x7fffffu) | 0x3f800000u), q = uintBitsToFloat((y & 0x7fffffu) | 0x3f800000u);
  precise float inverse = 1.0 / q;
  precise float off = fma(-q, inverse, 1.0);
  inverse = fma(off, inverse, inverse);
  off = fma(-q, inverse, 1.0);
  inverse = (y & 0x7fffffu) == 0x7fffffu ? uintBitsToFloat(0x3f000001u) : fma(off, inverse, inverse);
  precise float quotient = p * inverse;
  precise float rest = fma(-q, quotient, p);
  quotient = fma(rest, inverse, quotient);
  const uint bits = floatBitsToUint(quotient);
  const int exponent = int(bits >> 23) + from - by;
  const bool normal = from > 0 && from < 255 && by > 0 && by < 255 && exponent > 0 && exponent < 255;
  return normal ? uintBitsToFloat((bits & 0x7fffffu) | uint(exponent) << 23 | ((x ^ y) & 0x80000000u)) : a / b;
}
)"},
    {"sqrt32", "", R"(
float sqrt32(float a) {
  const uint x = floatBitsToUint(a), exponent = x >> 23;
  precise float m = uintBitsToFloat((x & 0x7fffffu) | ((exponent & 1u) != 0u ? 0x3f800000u : 0x40000000u));
  precise float inverse = inversesqrt(m);
  precise float root = m * inverse, h = 0.5 * inverse;
  precise float off = fma(-h, root, 0.5);
  root = fma(root, off, root), h = fma(h, off, h);
  precise float rest = fma(-root, root, m);
  root = fma(rest, h, root);
  const uint bits = floatBitsToUint(root) + (((exponent + 1u) / 2u) << 23) - (64u << 23);
  return exponent > 0u && exponent < 255u ? uintBitsToFloat(bits) : sqrt(a);
}
)"},
    // Rounded x with the sign of x: some devices turn what rounds to -0 into 0.
    {"signed64", "", R"(
double signed64(double rounded, double x) {
  return uint64BitsToDouble(doubleBitsToUint64(abs(rounded)) | (doubleBitsToUint64(x) & 0x8000000000000000ul));
}
)"},
    // Zeros that compilers do not see: no address has its highest bit set.
    {"zero32", "", R"(
float zero32() { return uintBitsToFloat(uint(push.table >> 63)); }
)"},
    {"zero64", "", R"(
double zero64() { return uint64BitsToDouble(push.table >> 63); }
)"},
    {"kept32", "", R"(
float kept32(float x) {
  precise float y = x + 0.0;
  return y;
}
)"},
    {"kept64", "", R"(
double kept64(double x) {
  precise double y = x + 0.0lf;
  return y;
}
)"},
    // trunc and roundEven of f64 are wrong on lavapipe (Mesa 22.3): ties, large values, -0.
    {"trunc64", "signed64", R"(
double trunc64(double x) { return signed64(floor(abs(x)), x); }
)"},
    {"rint64", "signed64", R"(
double rint64(double x) {
  precise double a = abs(x);
  if (!(a < 4503599627370496.0lf)) return x;
  precise double shifted = a + 4503599627370496.0lf;
  precise double back = shifted - 4503599627370496.0lf;
  return signed64(back, x);
}
)"},
    {"f16_bits", "", R"(
uint f16_bits(float x) {
  const uint b = floatBitsToUint(x), sign = (b >> 16) & 0x8000u, a = b & 0x7fffffffu;
  if (a > 0x7f800000u) return sign | 0x7e00u | ((a >> 13) & 0x3ffu);
  if (a >= 0x477ff000u) return sign | 0x7c00u;
  if (a < 0x38800000u) {
    precise float shifted = uintBitsToFloat(a) + 0.5;
    return sign | (floatBitsToUint(shifted) - 0x3f000000u);
  }
  return sign | ((a + 0xc8000fffu + ((a >> 13) & 1u)) >> 13);
}
)"},
    {"f16_value", "", R"(
float f16_value(uint h) {
  const uint sign = (h & 0x8000u) << 16, a = h & 0x7fffu;
  if (a >= 0x7c00u) return uintBitsToFloat(sign | 0x7f800000u | ((a & 0x3ffu) << 13));
  if (a >= 0x400u) return uintBitsToFloat(sign | ((a << 13) + 0x38000000u));
  precise float magnitude = float(a) * 5.9604644775390625e-8;
  return uintBitsToFloat(sign | floatBitsToUint(magnitude));
}
)"},
    {"bf16_bits", "", R"(
uint bf16_bits(float x) {
  const uint b = floatBitsToUint(x);
  return ((b & 0x7fffffffu) > 0x7f800000u ? b | 0x400000u : b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
}
)"},
    // So that rounding once more, to a half, equals rounding x directly.
    {"round_to_odd", "nan64", R"(
float round_to_odd(double x) {
  const float nearest = float(x);
  const double back = double(nearest);
  const uint bits = floatBitsToUint(nearest);
  if (nan64(x) || back == x || (bits & 1u) != 0u) return nearest;
  return uintBitsToFloat((x > 0.0lf ? back > x : back < x) ? bits - 1u : bits + 1u);
}
)"},

    // Floats to integers: truncate, saturate, NaN is 0.
    {"to_i32", "nan32", R"(
int to_i32(float x) {
  if (nan32(x)) return 0;
  return x >= 2147483648.0 ? 0x7fffffff : x <= -2147483648.0 ? int(0x80000000u) : int(x);
}
)"},
    {"to_u32", "nan32", R"(
uint to_u32(float x) {
  if (nan32(x) || x <= 0.0) return 0u;
  return x >= 4294967296.0 ? 0xffffffffu : uint(x);
}
)"},
    {"to_i64", "nan32", R"(
int64_t to_i64(float x) {
  if (nan32(x)) return 0l;
  return x >= 9223372036854775808.0 ? int64_t(0x7ffffffffffffffful)
         : x <= -9223372036854775808.0 ? int64_t(0x8000000000000000ul) : int64_t(x);
}
)"},
    {"to_u64", "nan32", R"(
uint64_t to_u64(float x) {
  if (nan32(x) || x <= 0.0) return 0ul;
  return x >= 18446744073709551616.0 ? 0xfffffffffffffffful : uint64_t(x);
}
)"},
    {"to_narrow", "nan32", R"(
int to_narrow(float x, float lowest, float highest) { return nan32(x) ? 0 : int(clamp(x, lowest, highest)); }
)"},
    {"d_to_i32", "nan64", R"(
int d_to_i32(double x) {
  if (nan64(x)) return 0;
  return x >= 2147483648.0lf ? 0x7fffffff : x <= -2147483648.0lf ? int(0x80000000u) : int(x);
}
)"},
    {"d_to_u32", "nan64", R"(
uint d_to_u32(double x) {
  if (nan64(x) || x <= 0.0lf) return 0u;
  return x >= 4294967296.0lf ? 0xffffffffu : uint(x);
}
)"},
    {"d_to_i64", "nan64", R"(
int64_t d_to_i64(double x) {
  if (nan64(x)) return 0l;
  return x >= 9223372036854775808.0lf ? int64_t(0x7ffffffffffffffful)
         : x <= -9223372036854775808.0lf ? int64_t(0x8000000000000000ul) : int64_t(x);
}
)"},
    {"d_to_u64", "nan64", R"(
uint64_t d_to_u64(double x) {
  if (nan64(x) || x <= 0.0lf) return 0ul;
  return x >= 18446744073709551616.0lf ? 0xfffffffffffffffful : uint64_t(x);
}
)"},
    {"d_to_narrow", "nan64", R"(
int d_to_narrow(double x, double lowest, double highest) { return nan64(x) ? 0 : int(clamp(x, lowest, highest)); }
)"},

    // Mesa 22.3 (lavapipe at least) compares a plain int64_t(x) with constants as if x had no sign.
    {"widened", "", R"(
int64_t widened(int x) { return packInt2x32(ivec2(x, x >> 31)); }
)"},
    {"mulhi32", "", R"(
uint mulhi32(uint a, uint b) {
  uint high, low;
  umulExtended(a, b, high, low);
  return high;
}
)"},
    {"mulhi64", "mulhi32", R"(
uint64_t mulhi64(uint64_t a, uint64_t b) {
  const uint64_t al = a & 0xfffffffful, ah = a >> 32, bl = b & 0xfffffffful, bh = b >> 32;
  const uint64_t middle = ah * bl + ((al * bl) >> 32), cross = al * bh + (middle & 0xfffffffful);
  return ah * bh + (middle >> 32) + (cross >> 32);
}
)"},
    // By the digits of the quotient, 8 at a time (kFmod32Turns): exact, as C's fmod is.
    {"fmod32", "", R"(
float fmod32(float x, float y) {
  uint a = floatBitsToUint(x) & 0x7fffffffu;
  const uint b = floatBitsToUint(y) & 0x7fffffffu, sign = floatBitsToUint(x) & 0x80000000u;
  if (b == 0u || a >= 0x7f800000u || b > 0x7f800000u) return uintBitsToFloat(0x7fc00000u);
  if (a < b) return x;
  int ea = int(a >> 23), eb = int(b >> 23);
  uint ma = ea == 0 ? a : (a & 0x7fffffu) | 0x800000u, mb = eb == 0 ? b : (b & 0x7fffffu) | 0x800000u;
  ea = max(ea, 1);
  eb = max(eb, 1);
  for (ma %= mb; ea > eb && ma != 0u; ea -= 8) ma = (ma << min(ea - eb, 8)) % mb;
  ea = eb;
  if (ma == 0u) return uintBitsToFloat(sign);
  const int up = min(23 - findMSB(ma), ea - 1);
  ma <<= up;
  ea -= up;
  return uintBitsToFloat(sign | ((ma & 0x800000u) != 0u ? (ma & 0x7fffffu) | (uint(ea) << 23) : ma));
}
)"},

    // Sums of two floats, for devices without doubles: about 48 bits. A sum that is infinite or NaN has no rest.
    {"pair", "", R"(
vec2 pair_of(float high, float low) {
  return (floatBitsToUint(high) & 0x7f800000u) == 0x7f800000u ? vec2(high, 0.0) : vec2(high, low);
}
vec2 pair_sum(float a, float b) {  // |a| >= |b|
  precise float s = a + b;
  precise float back = s - a;
  precise float rest = b - back;
  return pair_of(s, rest);
}
vec2 two_sum(float a, float b) {
  precise float s = a + b;
  precise float bb = s - a;
  precise float aa = s - bb;
  precise float ra = a - aa;
  precise float rb = b - bb;
  precise float rest = ra + rb;
  return pair_of(s, rest);
}
vec2 pair_add(vec2 a, vec2 b) {
  const vec2 s = two_sum(a.x, b.x);
  const vec2 t = two_sum(a.y, b.y);
  precise float low = s.y + t.x;
  const vec2 u = pair_sum(s.x, low);
  precise float rest = u.y + t.y;
  return pair_sum(u.x, rest);
}
vec2 two_product(float a, float b) {
  precise float p = a * b;
  precise float ca = 4097.0 * a;
  precise float cb = 4097.0 * b;
  precise float da = ca - a;
  precise float db = cb - b;
  precise float ah = ca - da;
  precise float bh = cb - db;
  precise float al = a - ah;
  precise float bl = b - bh;
  precise float hh = ah * bh;
  precise float hl = ah * bl;
  precise float lh = al * bh;
  precise float ll = al * bl;
  precise float e = hh - p;
  precise float f = e + hl;
  precise float g = f + lh;
  precise float rest = g + ll;
  return abs(a) < 4e34 && abs(b) < 4e34 ? pair_of(p, rest) : vec2(p, 0.0);
}
vec2 pair_mul(vec2 a, vec2 b) {
  const vec2 p = two_product(a.x, b.x);
  if ((floatBitsToUint(p.x) & 0x7f800000u) == 0x7f800000u) return p;
  precise float x = a.x * b.y;
  precise float y = a.y * b.x;
  precise float cross = x + y;
  precise float low = p.y + cross;
  return pair_sum(p.x, low);
}
vec2 pair_u32(uint x) { return two_sum(float(x & 0xffff0000u), float(x & 0xffffu)); }
vec2 pair_u64(uint64_t x) {
  const vec2 high = pair_u32(uint(x >> 32));
  return pair_add(high * 4294967296.0, pair_u32(uint(x)));
}
vec2 pair_i64(int64_t x) { return x < 0l ? -pair_u64(uint64_t(-x)) : pair_u64(uint64_t(x)); }
)"},

    // a * b + c for devices whose fma rounds twice. The first is off only where the f64 sum lies within 2^-29 of its
    // ulp to the middle between two floats; the others where the rest, itself rounded, does.
    {"fma32", "", R"(
float fma32(float a, float b, float c) {
  precise double p = double(a) * double(b);
  precise double s = p + double(c);
  return float(s);
}
)"},
    {"fma32_by_pairs", "pair", R"(
float fma32_by_pairs(float a, float b, float c) {
  const vec2 p = two_product(a, b), s = two_sum(p.x, c);
  precise float rest = s.y + p.y;
  precise float r = s.x + rest;
  if (p.x == 0.0 && c == 0.0 && a != 0.0 && b != 0.0) return p.x;
  return p.x == 0.0 ? s.x : r;
}
)"},
    {"fma64", "", R"(
double fma64(double a, double b, double c) {
  precise double p = a * b;
  precise double s = p + c;
  if (p == 0.0lf && c == 0.0lf && a != 0.0lf && b != 0.0lf) return p;  // which is not zero, but too small
  if (p == 0.0lf || !(abs(a) < 1e150lf && abs(b) < 1e150lf && abs(s) < 1e300lf)) return s;
  precise double ca = 134217729.0lf * a;
  precise double cb = 134217729.0lf * b;
  precise double da = ca - a;
  precise double db = cb - b;
  precise double ah = ca - da;
  precise double bh = cb - db;
  precise double al = a - ah;
  precise double bl = b - bh;
  precise double e0 = ah * bh;
  precise double e1 = ah * bl;
  precise double e2 = al * bh;
  precise double e3 = al * bl;
  precise double f0 = e0 - p;
  precise double f1 = f0 + e1;
  precise double f2 = f1 + e2;
  precise double low = f2 + e3;
  precise double back = s - p;
  precise double rp = s - back;
  precise double r0 = p - rp;
  precise double r1 = c - back;
  precise double r = r0 + r1;
  precise double rest = r + low;
  precise double sum = s + rest;
  return sum;
}
)"},

    {"Table", "", "layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Table { uint64_t a[]; };\n"},
};

}  // namespace

const Snippet* find_snippet(std::string_view name) {
  for (const Snippet& s : kSnippets) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

}  // namespace neap::vk
