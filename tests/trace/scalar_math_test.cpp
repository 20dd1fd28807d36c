// Every f32 function of the scalar language against the C library in double: a dense sample of all bit patterns,
// special values, and every value of the half types. Limits are in ulps of the true value; denormals count like all
// others.
#include "trace/scalar/scalar_math.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <string>

#include "tests/trace/long_digamma.h"
#include "trace/graph/op_table.h"
#include "trace/scalar/scalar_eval.h"

namespace neap::scalar {
namespace {

using tracing::Op;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Winitzki's start (2008), then steps of Halley's method.
long double long_erf_inv(long double x) {
  const long double a = std::fabs(x), rest = 1 - a, slope = 1.128379167095512573896158903121545172L;
  if (!(a < 1)) return a == 1 ? std::copysign(std::numeric_limits<long double>::infinity(), x) : NAN;
  if (a < 1e-5L) return x / slope * (1 + a * a * std::numbers::pi_v<long double> / 12);
  const long double l = std::log(rest * (1 + a)), h = 2 / (std::numbers::pi_v<long double> * 0.147L) + l / 2;
  long double y = std::sqrt(std::sqrt(h * h - l / 0.147L) - h);
  for (int i = 0; i < 4; ++i) {
    const long double step = (a < 0.5L ? std::erf(y) - a : rest - std::erfc(y)) / (slope * std::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}
double true_erf_inv(double x) { return static_cast<double>(long_erf_inv(x)); }
double true_digamma(double x) { return static_cast<double>(long_digamma(x)); }
double true_sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double true_rsqrt(double x) { return 1 / std::sqrt(x); }

struct Case {
  Op op;
  double (*one)(double) = nullptr;
  double (*two)(double, double) = nullptr;
  double limit = 2;
};
void PrintTo(const Case& c, std::ostream* out) { *out << tracing::name(c.op); }
std::string name_of(const testing::TestParamInfo<Case>& info) { return std::string(tracing::name(info.param.op)); }

#define NEAP_CASE(name)                             \
  Case {                                            \
    Op::name, [](double x) { return std::name(x); } \
  }
#define NEAP_CASE2(name)                                                  \
  Case {                                                                  \
    Op::name, nullptr, [](double x, double y) { return std::name(x, y); } \
  }
const Case kCases[] = {NEAP_CASE(exp),
                       NEAP_CASE(exp2),
                       NEAP_CASE(expm1),
                       NEAP_CASE(log),
                       NEAP_CASE(log2),
                       NEAP_CASE(log10),
                       NEAP_CASE(log1p),
                       NEAP_CASE(sin),
                       NEAP_CASE(cos),
                       NEAP_CASE(tan),
                       NEAP_CASE(asin),
                       NEAP_CASE(acos),
                       NEAP_CASE(atan),
                       NEAP_CASE(sinh),
                       NEAP_CASE(cosh),
                       NEAP_CASE(tanh),
                       {Op::asinh, [](double x) { return std::asinh(x); }, nullptr, 2.5},
                       {Op::acosh, [](double x) { return std::acosh(x); }, nullptr, 2.5},
                       {Op::atanh, [](double x) { return std::atanh(x); }, nullptr, 2.5},
                       NEAP_CASE(sqrt),
                       NEAP_CASE(cbrt),
                       NEAP_CASE(erf),
                       NEAP_CASE(erfc),
                       NEAP_CASE(lgamma),
                       {Op::digamma, true_digamma},
                       {Op::erf_inv, true_erf_inv, nullptr, 3.5},
                       {Op::rsqrt, true_rsqrt},
                       {Op::sigmoid, true_sigmoid},
                       NEAP_CASE2(pow),
                       NEAP_CASE2(atan2),
                       {Op::hypot, nullptr, std::hypot, 1.1}};
#undef NEAP_CASE
#undef NEAP_CASE2

// What a float format can say: its digits, and the exponents of its smallest normal and of the first power beyond it.
struct Format {
  int digits, lowest, beyond;
};
constexpr Format kF32{24, -126, 128}, kF16{11, -14, 16}, kBf16{8, -126, 128};

// |got - truth| in ulps of truth; infinite where kinds of value or signs of zero differ. Infinity counts as the first
// power of two beyond the format.
double ulps(double got, double truth, Format format) {
  if (std::isnan(got) || std::isnan(truth)) return std::isnan(got) == std::isnan(truth) ? 0 : kInfinity;
  if (truth == 0) return got == 0 && std::signbit(got) == std::signbit(truth) ? 0 : kInfinity;
  if (std::signbit(got) != std::signbit(truth)) return kInfinity;
  if (std::isinf(got) && std::isinf(truth)) return 0;
  const double beyond = std::ldexp(1.0, format.beyond);
  if (std::isinf(truth)) return kInfinity;
  const double a = std::min(std::fabs(got), beyond), b = std::min(std::fabs(truth), beyond);
  const int exponent = std::clamp(std::ilogb(b), format.lowest, format.beyond - 1);
  return std::fabs(a - b) / std::ldexp(1.0, exponent - format.digits + 1);
}

double truth(const Case& c, double x, double y) { return c.one ? c.one(x) : c.two(x, y); }

constexpr int kLanes = 1024;

// Runs an op on batches of bits.
class Runner {
 public:
  Runner(Op op, DType type) {
    std::vector<X> operands;
    for (int i = 0; i < tracing::op_info(op).arity; ++i)
      operands.push_back(dag_.load(i, type, dag_.index(1, DType::i64)));
    root_ = apply_op(op, operands, type).id;
  }
  std::vector<uint64_t> operator()(const std::vector<uint64_t>& x, const std::vector<uint64_t>& y) const {
    auto leaf = [&](const Inst& inst, const uint64_t*, std::span<uint64_t> out) {
      if (inst.op == Opcode::load) std::ranges::copy(inst.imm == 0 ? x : y, out.begin());
    };
    return evaluate(dag_, std::array{root_}, static_cast<int>(x.size()), leaf)[0];
  }

 private:
  Dag dag_;
  int32_t root_;
};

double f32_value(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

struct Worst {
  double error = 0, x = 0, y = 0, got = 0;
  void update(double e, double at_x, double at_y, double value) {
    if (e > error) *this = {e, at_x, at_y, value};
  }
  std::string text() const {
    return std::to_string(error) + " ulp at " + std::to_string(x) + " (" + testing::PrintToString(x) + "), " +
           testing::PrintToString(y) + ": got " + testing::PrintToString(got);
  }
};

class ScalarMath : public testing::TestWithParam<Case> {};

void check(const Case& c, const Runner& run, const std::vector<uint64_t>& x, const std::vector<uint64_t>& y,
           Worst& worst) {
  const std::vector<uint64_t> r = run(x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = f32_value(x[i]), q = f32_value(y[i]), got = f32_value(r[i]);
    worst.update(ulps(got, truth(c, p, q), kF32), p, q, got);
  }
}

TEST_P(ScalarMath, DenseSampleOfF32) {
  const Case& c = GetParam();
  const Runner run(c.op, DType::f32);
  Worst worst;
  std::vector<uint64_t> x, y;
  uint64_t state = 0x9E3779B97F4A7C15;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 1999) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t other = state >> 32;
    if (state & 0x10000) other = (other & 0x83ffffff) | 0x3e000000;  // half of them of ordinary size
    x.push_back(bits);
    y.push_back(other);
    if (x.size() == kLanes) {
      check(c, run, x, y, worst);
      x.clear();
      y.clear();
    }
  }
  check(c, run, x, y, worst);
  RecordProperty("max_ulp", std::to_string(worst.error));
  EXPECT_LE(worst.error, c.limit) << worst.text();
}

TEST_P(ScalarMath, SpecialValues) {
  const Case& c = GetParam();
  const Runner run(c.op, DType::f32);
  std::vector<float> values{0.0f,        1e-45f,      1.1754942e-38f, 1.17549435e-38f,
                            1e-20f,      0x1p-25f,    0.25f,          0.5f,
                            0.6f,        0.70710677f, 0.99999994f,    1.0f,
                            1.0000001f,  1.5f,        1.5707964f,     2.0f,
                            2.5f,        3.0f,        3.1415927f,     4.0f,
                            10.0546f,    10.1f,       16.0f,          17.5f,
                            88.72283f,   88.72284f,   89.41598f,      89.41599f,
                            103.97207f,  103.97208f,  104.0f,         127.99999f,
                            128.0f,      149.0f,      149.5f,         150.0f,
                            16777216.0f, 33554432.0f, 1e10f,          1.47853e28f,
                            0x1p53f,     0x1p81f,     0x1p109f,       3.4028235e38f,
                            INFINITY,    NAN,         2.4570248f,     0.50408304f,
                            1.5734985f,  2.6107208f,  3.6352935f,     10.702842f};
  for (size_t i = values.size(); i-- > 0;) values.push_back(-values[i]);
  std::vector<uint64_t> x, y;
  for (float p : values) {
    for (float q : values) {
      x.push_back(std::bit_cast<uint32_t>(p));
      y.push_back(std::bit_cast<uint32_t>(q));
    }
  }
  Worst worst;
  check(c, run, x, y, worst);
  EXPECT_LE(worst.error, c.limit) << worst.text();
}

// Halves compute in f32 and round: nearly always to the nearest half of the true value.
TEST_P(ScalarMath, EveryHalf) {
  const Case& c = GetParam();
  std::vector<uint64_t> x(65536), y(65536);
  std::iota(x.begin(), x.end(), 0);
  for (size_t i = 0; i < y.size(); ++i) y[i] = (i * 40503) & 0xffff;
  for (DType t : {DType::f16, DType::bf16}) {
    const std::vector<uint64_t> r = Runner(c.op, t)(x, y);
    auto value = [t](uint64_t bits) -> double {
      const auto b = static_cast<uint16_t>(bits);
      return t == DType::f16 ? float16::from_bits(b) : bfloat16::from_bits(b);
    };
    Worst worst;
    for (size_t i = 0; i < x.size(); ++i) {
      const double p = value(x[i]), q = value(y[i]), exact = truth(c, p, q), got = value(r[i]);
      const bool vanishes = got == 0 && std::fabs(exact) < 1e-10 && std::signbit(got) == std::signbit(exact);
      const bool both_zero = got == 0 && exact == 0;
      if (vanishes || both_zero) continue;
      worst.update(ulps(got, exact, t == DType::f16 ? kF16 : kBf16), p, q, got);
    }
    EXPECT_LE(worst.error, 0.51) << name(t) << ": " << worst.text();
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScalarMath, testing::ValuesIn(kCases), name_of);

// Where the quantile bends most: the last floats before 1.
TEST(ScalarMathErfInv, UpperTail) {
  const Case c{Op::erf_inv, true_erf_inv};
  const Runner run(c.op, DType::f32);
  std::vector<uint64_t> x(100000);
  std::iota(x.begin(), x.end(), 0x3f800000 - x.size());
  Worst worst;
  check(c, run, x, x, worst);
  EXPECT_LE(worst.error, 3.5) << worst.text();
}

// A standard normal number is sqrt(2) erf_inv of one of 2^23 uniforms; here every 5th of them.
TEST(ScalarMathErfInv, NormalQuantile) {
  Dag dag;
  const X x = dag.load(0, DType::f32, dag.index(1, DType::i64));
  const std::array root{(m::erf_inv(x) * m::c(x, std::numbers::sqrt2)).id};
  std::vector<uint64_t> uniforms(1 << 12);
  auto leaf = [&](const Inst& inst, const uint64_t*, std::span<uint64_t> out) {
    if (inst.op == Opcode::load) std::ranges::copy(uniforms, out.begin());
  };
  Worst worst;
  for (uint32_t k = 0; k < 1 << 23;) {
    for (uint64_t& u : uniforms) {
      const float unit = std::bit_cast<float>((k & 0x7fffff) | 0x3f800000) - 1.0f;
      u = std::bit_cast<uint32_t>(std::max(unit * 2.0f - 0.99999994f, -0.99999994f));
      k += 5;
    }
    const auto values = evaluate(dag, root, static_cast<int>(uniforms.size()), leaf);
    for (size_t i = 0; i < uniforms.size(); ++i) {
      const double at = f32_value(uniforms[i]), got = f32_value(values[0][i]);
      worst.update(ulps(got, std::numbers::sqrt2 * true_erf_inv(at), kF32), at, 0, got);
    }
  }
  EXPECT_LE(worst.error, 3.6) << worst.text();
}

// The f64 functions that are made of instructions, against the C library in long double.
struct Case64 {
  Op op;
  long double (*truth)(long double);
  double limit = 2;
};
void PrintTo(const Case64& c, std::ostream* out) { *out << tracing::name(c.op); }
class ScalarMathOfInstructions : public testing::TestWithParam<Case64> {};

TEST_P(ScalarMathOfInstructions, IsWithinTwoUlps) {
  if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "no longer double here";
  const Case64& c = GetParam();
  Dag dag;
  apply_op(c.op, std::array{dag.load(0, DType::f64, dag.index(1, DType::i64))}, DType::f64);
  for (int32_t id = 0; id < dag.size(); ++id)
    EXPECT_TRUE(dag[id].op != Opcode::call || dag[id].c >= 0) << "calls for each element";
  std::vector<double> at;
  for (const double x : {0.0,
                         0x1p-1074,
                         0x1.8p-1070,
                         0x1p-1022,
                         0x1p-1020,
                         0x1p-60,
                         0x1p-54,
                         0x1p-53,
                         1.0,
                         2.0,
                         708.4,
                         709.782712893384,
                         709.7827128933841,
                         710.4758600739439,
                         710.475860073944,
                         710.99,
                         711.0,
                         745.13321910194122,
                         745.133219101942,
                         745.14,
                         746.0,
                         1e5,
                         0x1p512,
                         0x1p600,
                         1.7976931348623157e308,
                         kInfinity})
    at.insert(at.end(), {x, -x});
  at.push_back(std::numeric_limits<double>::quiet_NaN());
  std::mt19937_64 rng(7);
  for (int i = 0; i < 300'000; ++i) {
    const uint64_t bits = rng();
    const double unit = static_cast<double>(rng() >> 11) * 0x1p-53, sign = bits & 1 ? -1.0 : 1.0;
    const double points[] = {std::bit_cast<double>(bits), sign * 750 * unit, sign * 22 * unit, sign * unit,
                             sign * std::ldexp(0.5 + unit / 2, -static_cast<int>(bits >> 58)),
                             1 + sign * std::ldexp(unit, -static_cast<int>(bits >> 59)),
                             -1 + std::ldexp(unit, -static_cast<int>(bits >> 59)),
                             sign * std::ldexp(1 - unit / 32, -static_cast<int>(bits >> 60)), sign * 27.4 * unit,
                             sign * (0.5 + unit / 8), sign * std::ldexp(unit, 31),
                             // What is nearest to a multiple of a quarter of a turn.
                             static_cast<double>(std::numbers::pi_v<long double> / 2 * std::floor(unit * 0x1p30)),
                             static_cast<double>(std::numbers::pi_v<long double> / 2 * std::floor(unit * 40))};
    at.push_back(points[i % std::size(points)]);
  }
  const Runner run(c.op, DType::f64);
  double worst = 0, where = 0;
  for (size_t begin = 0; begin < at.size(); begin += kLanes) {
    std::vector<uint64_t> x(kLanes);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::bit_cast<uint64_t>(at[std::min(begin + i, at.size() - 1)]);
    const std::vector<uint64_t> got = run(x, {});
    for (size_t i = 0; i < x.size(); ++i) {
      const double value = std::bit_cast<double>(x[i]), result = std::bit_cast<double>(got[i]);
      const long double truth = c.truth(value);
      const auto rounded = static_cast<double>(truth);
      double error = 0;
      if (rounded == 0 || !std::isfinite(rounded) || !std::isfinite(result)) {
        error = ulps(result, rounded, {53, -1022, 1024});
      } else {
        const int exponent = std::max(std::ilogb(rounded), -1022);
        error = static_cast<double>(std::fabs(result - truth) / std::ldexp(1.0L, exponent - 52));
      }
      if (error > worst) worst = error, where = value;
    }
  }
  EXPECT_LE(worst, c.limit) << where;
}

INSTANTIATE_TEST_SUITE_P(
    All, ScalarMathOfInstructions,
    testing::Values(Case64{Op::exp, std::exp}, Case64{Op::exp2, std::exp2}, Case64{Op::expm1, std::expm1},
                    Case64{Op::log, std::log}, Case64{Op::log2, std::log2}, Case64{Op::log1p, std::log1p},
                    Case64{Op::sinh, std::sinh, 2.4}, Case64{Op::cosh, std::cosh}, Case64{Op::tanh, std::tanh},
                    Case64{Op::asinh, std::asinh}, Case64{Op::acosh, std::acosh, 2.2}, Case64{Op::atanh, std::atanh},
                    Case64{Op::sin, std::sin}, Case64{Op::cos, std::cos}, Case64{Op::tan, std::tan},
                    Case64{Op::asin, std::asin}, Case64{Op::acos, std::acos}, Case64{Op::atan, std::atan},
                    Case64{Op::erf, std::erf}, Case64{Op::erfc, std::erfc, 2.4}, Case64{Op::log10, std::log10},
                    Case64{Op::cbrt, std::cbrt}, Case64{Op::erf_inv, long_erf_inv, 5},
                    Case64{Op::sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }}),
    [](const auto& info) { return std::string(tracing::name(info.param.op)); });

struct Case64Two {
  Op op;
  long double (*truth)(long double, long double);
};
void PrintTo(const Case64Two& c, std::ostream* out) { *out << tracing::name(c.op); }
class ScalarMathOfTwo : public testing::TestWithParam<Case64Two> {};

TEST_P(ScalarMathOfTwo, IsWithinTwoUlps) {
  if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "no longer double here";
  std::vector<double> special{0,
                              0x1p-1074,
                              0x1p-1022,
                              0x1p-600,
                              0x1p-30,
                              0.5,
                              std::nextafter(1.0, 0),
                              1,
                              1.5,
                              3,
                              0x1p60,
                              0x1p600,
                              0x1.fffffffffffffp1023,
                              kInfinity,
                              NAN};
  std::vector<std::pair<double, double>> at;
  for (const double y : special)
    for (const double x : special)
      for (const int signs : {0, 1, 2, 3}) at.emplace_back(signs & 1 ? -y : y, signs & 2 ? -x : x);
  std::mt19937_64 rng(8);
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t bits = rng();
    const auto number = [&](int shift) {
      const double unit = static_cast<double>(rng() >> 11) * 0x1p-53;
      return (bits >> shift & 1 ? -1 : 1) * std::ldexp(unit, static_cast<int>(bits >> (shift + 1) & 63) / (i % 64 + 1));
    };
    at.emplace_back(number(0), number(20));
    // Powers that are numbers, of numbers near 1 too, and whole powers.
    const double base = i % 2 == 0 ? std::fabs(number(0)) : 1 + number(0) * 0x1p-64;
    const double power = (static_cast<double>(rng() >> 11) * 0x1p-52 - 1) * 1080 / std::log2(base);
    at.emplace_back(base, power);
    at.emplace_back(number(10), std::rint(std::fmod(power, 40)));
  }
  const Runner run(GetParam().op, DType::f64);
  double worst = 0;
  std::pair<double, double> where;
  for (size_t begin = 0; begin < at.size(); begin += kLanes) {
    std::vector<uint64_t> y(kLanes), x(kLanes);
    const auto point = [&](size_t i) { return at[std::min(begin + i, at.size() - 1)]; };
    for (size_t i = 0; i < x.size(); ++i) {
      y[i] = std::bit_cast<uint64_t>(point(i).first);
      x[i] = std::bit_cast<uint64_t>(point(i).second);
    }
    const std::vector<uint64_t> got = run(y, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const auto [p, q] = point(i);
      const double result = std::bit_cast<double>(got[i]);
      const long double truth = GetParam().truth(p, q);
      const auto rounded = static_cast<double>(truth);
      const bool special_value = rounded == 0 || !std::isfinite(rounded) || !std::isfinite(result);
      const double error = special_value
                               ? ulps(result, rounded, {53, -1022, 1024})
                               : static_cast<double>(std::fabs(result - truth) /
                                                     std::ldexp(1.0L, std::max(std::ilogb(rounded), -1022) - 52));
      if (error > worst && !(std::isnan(rounded) && std::isnan(result))) worst = error, where = {p, q};
    }
  }
  EXPECT_LE(worst, 2) << where.first << ", " << where.second;
}

INSTANTIATE_TEST_SUITE_P(All, ScalarMathOfTwo,
                         testing::Values(Case64Two{Op::atan2, std::atan2}, Case64Two{Op::hypot, std::hypot},
                                         Case64Two{Op::pow, std::pow}),
                         [](const auto& info) { return std::string(tracing::name(info.param.op)); });

TEST(ScalarMathF64, PowersOfTenHaveWholeLogarithms) {
  Dag dag;
  const int32_t root[] = {m::log10(dag.load(0, DType::f64, dag.index(1, DType::i64))).id};
  for (int k = -307; k <= 308; ++k) {
    const auto leaf = [&](const Inst& inst, const uint64_t*, std::span<uint64_t> out) {
      for (uint64_t& o : out) o = inst.op == Opcode::load ? std::bit_cast<uint64_t>(std::pow(10.0, k)) : 0;
    };
    EXPECT_EQ(std::bit_cast<double>(evaluate(dag, root, 1, leaf)[0][0]), k);
  }
}

// -0 stays what it is, and the signs of results that are zero are C's.
TEST(ScalarMathF64, SignsOfZero) {
  Dag dag;
  const X x = dag.load(0, DType::f64, dag.index(1, DType::i64));
  const X results[] = {m::sin(x), m::tan(x), m::asin(x), m::atan(x), m::erf(x), m::cbrt(x)};
  std::vector<int32_t> roots;
  for (X r : results) roots.push_back(r.id);
  for (const double at : {0.0, -0.0}) {
    const auto leaf = [&](const Inst& inst, const uint64_t*, std::span<uint64_t> out) {
      for (uint64_t& o : out) o = inst.op == Opcode::load ? std::bit_cast<uint64_t>(at) : 0;
    };
    for (const auto& value : evaluate(dag, roots, 1, leaf)) EXPECT_EQ(value[0], std::bit_cast<uint64_t>(at));
  }
}

TEST(ScalarMathF64, CallsTheCLibrary) {
  Dag dag;
  const X x = dag.load(0, DType::f64, dag.index(1, DType::i64));
  const X results[] = {m::lgamma(x), m::sin(x * m::c(x, 0x1p40)), m::rem(x, m::c(x, 0.3)), m::digamma(x)};
  std::vector<int32_t> roots;
  for (X r : results) roots.push_back(r.id);
  const double at = 0.37;
  auto leaf = [&](const Inst& inst, const uint64_t*, std::span<uint64_t> out) {
    for (uint64_t& o : out) o = inst.op == Opcode::load ? std::bit_cast<uint64_t>(at) : 0;
  };
  const auto values = evaluate(dag, roots, 1, leaf);
  auto value = [&](int i) { return std::bit_cast<double>(values[i][0]); };
  EXPECT_EQ(value(0), call_function(Function::lgamma, at, 0));
  EXPECT_EQ(value(1), std::sin(at * 0x1p40));
  EXPECT_EQ(value(2), std::fmod(at, 0.3));
  EXPECT_NEAR(value(3), (std::lgamma(at + 1e-5) - std::lgamma(at - 1e-5)) / 2e-5, 1e-8);
}

// The f64 function that the C library lacks.
TEST(ScalarMathF64, Digamma) {
  constexpr double kEuler = 0.57721566490153286061, kPi = 3.14159265358979323846;
  auto digamma = [](double x) { return call_function(Function::digamma, x, 0); };
  EXPECT_NEAR(digamma(1), -kEuler, 1e-15);
  EXPECT_NEAR(digamma(0.5), -kEuler - 2 * std::log(2.0), 4e-15);
  EXPECT_NEAR(digamma(0.25), -kEuler - kPi / 2 - 3 * std::log(2.0), 4e-15);
  EXPECT_NEAR(digamma(11), 2.35175258906672110764743, 1e-15);
  EXPECT_NEAR(digamma(-0.5), 0.03648997397857652056, 1e-15);
  EXPECT_NEAR(digamma(1e10), std::log(1e10) - 0.5e-10, 1e-14);
  EXPECT_TRUE(std::isnan(digamma(0.0)));
  EXPECT_TRUE(std::isnan(digamma(-3)));
}

// f32 functions that the random distributions and the usual models are made of run without a call, lane by lane.
TEST(ScalarMath, CommonFunctionsCallNothing) {
  for (const Case& c : kCases) {
    EXPECT_LT(op_cost(c.op, DType::f32), c.op == Op::lgamma || c.op == Op::digamma ? 400 : 150) << tracing::name(c.op);
  }
  EXPECT_LE(op_cost(Op::erf_inv, DType::f32), 40);
}

}  // namespace
}  // namespace neap::scalar
