#include "trace/reference/reference_math.h"

#include <iterator>
#include <numbers>

namespace neap::ref {
namespace {

double half_nextafter(double x, double y, uint16_t bits, double (*value)(uint16_t)) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0) return std::copysign(value(1), y);
  // Finite values of one sign are ordered as their bits are.
  return value(static_cast<uint16_t>((x < y) == (x > 0) ? bits + 1 : bits - 1));
}

}  // namespace

double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

// Winitzki's approximation (2e-3), then Halley steps on erf in the middle and on erfc, which keeps its digits, outside.
double erf_inv(double x) {
  if (!(std::fabs(x) <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (std::fabs(x) == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
  if (x == 0) return x;
  const double magnitude = std::fabs(x);
  const double tail = 1 - magnitude;  // exact where it is used
  const double a = 0.147;
  const double l = std::log1p(-magnitude) + std::log1p(magnitude);
  const double b = 2 / (std::numbers::pi * a) + l / 2;
  double t = std::sqrt(std::sqrt(b * b - l / a) - b);
  if (magnitude < 1e-3) t = magnitude * 0.88622692545275801365;  // the formula above loses its digits there
  for (int i = 0; i < 3; ++i) {
    const double error = magnitude < 0.5 ? magnitude - std::erf(t) : std::erfc(t) - tail;
    t += error / (1.12837916709551257390 * std::exp(-t * t) - t * error);
  }
  return std::copysign(t, x);
}

double lgamma(double x) { return std::lgamma(x); }

double digamma(double x) {
  if (x != x || (x <= 0 && x == std::floor(x))) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(x)) return x > 0 ? x : std::numeric_limits<double>::quiet_NaN();
  // Taylor's series at the positive root, near which the formula below is a difference of equals.
  if (const long double d = (x - 1.4616321449683622) - 9.5499954299656970e-17L; std::fabs(d) < 0.0625L) {
    constexpr long double kTaylor[] = {
        0.9676722454476211704274448L,   -0.4427631689835921060928653L,  0.2584997609556510106244014L,
        -0.1639427054424065275042513L,  0.1078240506912623657571829L,   -0.07219956125645471092612178L,
        0.04880428816414310722509253L,  -0.0331611264748473592922584L,  0.02259764823221810465962483L,
        -0.01542476590494895913880032L, 0.01053879161661217538812405L,  -0.007204534386356868240970474L,
        0.004926781395729853446354266L, -0.003369801655439328082792857L};
    long double slope = 0;
    for (auto c = std::rbegin(kTaylor); c != std::rend(kTaylor); ++c) slope = slope * d + *c;
    return static_cast<double>(d * slope);
  }
  long double result = 0;
  long double z = x;
  if (x < 0) {  // reflection, with pi x reduced so that the tangent keeps its digits
    const long double pi = std::numbers::pi_v<long double>;
    result = -pi / std::tan(pi * (z - std::nearbyint(z)));
    z = 1 - z;
  }
  for (; z < 16; z += 1) result -= 1 / z;
  const long double w = 1 / (z * z);
  // log z - 1/(2z) - sum of B(2k) / (2k z^2k)
  const long double series =
      w *
      (1.0L / 12 -
       w * (1.0L / 120 -
            w * (1.0L / 252 -
                 w * (1.0L / 240 - w * (1.0L / 132 - w * (691.0L / 32760 - w * (1.0L / 12 - w * (3617.0L / 8160))))))));
  return static_cast<double>(result + std::log(z) - 0.5L / z - series);
}

double nextafter(double x, double y, DType type) {
  switch (type) {
    case DType::f16:
      return half_nextafter(x, y, float16(static_cast<float>(x)).bits,
                            [](uint16_t bits) -> double { return float16::from_bits(bits); });
    case DType::bf16:
      return half_nextafter(x, y, bfloat16(static_cast<float>(x)).bits,
                            [](uint16_t bits) -> double { return bfloat16::from_bits(bits); });
    case DType::f32: return std::nextafter(static_cast<float>(x), static_cast<float>(y));
    default: return std::nextafter(x, y);
  }
}

std::pair<uint32_t, uint32_t> threefry2x32(uint32_t k0, uint32_t k1, uint32_t c0, uint32_t c1) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {k0, k1, 0x1BD11BDA ^ k0 ^ k1};
  uint32_t x0 = c0 + keys[0];
  uint32_t x1 = c1 + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (const int rotation : kRotations[group % 2]) {
      x0 += x1;
      x1 = std::rotl(x1, rotation) ^ x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  return {x0, x1};
}

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 2> key, std::array<uint32_t, 4> c) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

}  // namespace neap::ref
