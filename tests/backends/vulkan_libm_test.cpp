// The f64 maths of the GLSL backend on a device, beside long double references.
#include "backends/vulkan/libm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "tests/backends/vulkan_harness.h"
#include "tests/trace/long_digamma.h"
#include "trace/scalar/scalar_eval.h"

namespace neap::vk {
namespace {

using scalar::Function;
using Real = long double;
using Reference = std::function<Real(double, double)>;
struct Pair {
  double x, y;
};
using Source = std::function<Pair(std::mt19937_64&)>;

constexpr size_t kRandom = 20000;  // arguments from each source
constexpr uint32_t kLocal = 64;
constexpr double kMin = std::numeric_limits<double>::denorm_min();

std::string name_of(Function function) {
  std::string name = scalar::symbol(function);
  return name.starts_with("neap_") ? name.substr(5) : name;
}

Shader shader(Function function, size_t n) {
  const Function used[] = {function};
  Shader result;
  result.glsl = "#version 460\n";
  for (const char* extension : {"buffer_reference", "buffer_reference2", "scalar_block_layout",
                                "shader_explicit_arithmetic_types_int64", "shader_explicit_arithmetic_types_float64"}) {
    result.glsl += std::string("#extension GL_EXT_") + extension + " : require\n";
  }
  result.glsl += R"glsl(
layout(local_size_x = 64) in;
layout(push_constant, scalar) uniform Push { uint64_t table; uint first; uint count; } push;
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Table { uint64_t a[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Doubles { double v[]; };
)glsl";
  result.glsl += libm_source(used);
  result.glsl += fmt::format(R"glsl(
void main() {{
  Table table = Table(push.table);
  uint i = gl_GlobalInvocationID.x;
  if (i >= {}u) return;
  Doubles x = Doubles(table.a[push.first]);
  Doubles y = Doubles(table.a[push.first + 1]);
  Doubles(table.a[push.first + 2]).v[i] = neap_{}_f64({});
}}
)glsl",
                             n, name_of(function), scalar::arity(function) == 2 ? "x.v[i], y.v[i]" : "x.v[i]");
  result.local_size = kLocal;
  result.groups = {static_cast<uint32_t>((n + kLocal - 1) / kLocal), 1, 1};
  return result;
}

std::vector<double> on_device(Device& device, Function function, const std::vector<Pair>& arguments) {
  const size_t n = arguments.size();
  const MemoryPtr memory = device.allocate(24 * n, true, "libm test");
  auto* values = reinterpret_cast<double*>(memory->mapped());
  for (size_t i = 0; i < n; ++i) {
    values[i] = arguments[i].x;
    values[n + i] = arguments[i].y;
  }
  const MemoryPtr table = device.allocate(64, true, "libm table");
  auto* entries = reinterpret_cast<uint64_t*>(table->mapped());
  for (size_t i = 0; i < 3; ++i) entries[i] = memory->address() + 8 * n * i;
  const Shader program = shader(function, n);
  const auto commands = device.record(0);
  commands->dispatch(device.pipeline(program, "libm_" + name_of(function)), {table->address(), 0, 0}, program.groups);
  commands->end();
  Commands* one[] = {commands.get()};
  device.wait(device.submit(one, {memory, table}));
  return {values + 2 * n, values + 3 * n};
}

/// Error in ulps of `want`, which is taken to f64 to say what is infinite or NaN; a wrong special value or sign of zero
/// is infinitely far off. `floor`: errors are never counted in less than its ulps.
double error(double got, Real want, double floor) {
  const auto rounded = static_cast<double>(want);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got) ? 0.0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0.0 : INFINITY;
  if (want == 0 && got == 0) return std::signbit(want) == std::signbit(got) ? 0.0 : INFINITY;
  const double size = std::max(std::fabs(rounded), floor);
  const int exponent = size == 0.0 ? -1074 : std::max(std::ilogb(size) - 52, -1074);
  return static_cast<double>(std::fabs(static_cast<Real>(got) - want) / std::ldexp(Real(1), exponent));
}

double uniform(std::mt19937_64& r, double from, double to) {
  return from + (to - from) * static_cast<double>(r() >> 11) * 0x1p-53;
}
double any_sign(std::mt19937_64& r, double x) { return r() & 1 ? x : -x; }

Source any() {
  return [](auto& r) { return Pair{std::bit_cast<double>(r()), std::bit_cast<double>(r())}; };
}
/// x uniform in the range.
Source in(double from, double to) {
  return [=](auto& r) { return Pair{uniform(r, from, to), 0.0}; };
}
/// centre + s 2^u, u uniform in the range, s a sign: 1, -1, or any (0).
Source near(double centre, double from, double to, int sign = 0) {
  return [=](auto& r) {
    const double x = std::exp2(uniform(r, from, to));
    return Pair{centre + (sign == 0 ? any_sign(r, x) : sign * x), 0.0};
  };
}
/// Both of any sign, in magnitude 2^u, u uniform in the range of each.
Source both(double x_from, double x_to, double y_from, double y_to) {
  return [=](auto& r) {
    const double x = any_sign(r, std::exp2(uniform(r, x_from, x_to)));
    return Pair{x, any_sign(r, std::exp2(uniform(r, y_from, y_to)))};
  };
}
/// y of any size, x a multiple of it by up to 2^to.
Source ratio(double to) {
  return [=](auto& r) {
    const double y = std::bit_cast<double>(r());
    return Pair{y * any_sign(r, std::exp2(uniform(r, -3, to))), y};
  };
}

struct Case {
  Function function;
  double bound;  // ulps
  Reference reference;
  std::vector<Source> sources;
  double floor = 0.0;
};

void PrintTo(const Case& c, std::ostream* out) { *out << name_of(c.function); }

Reference one(Real (*f)(Real)) {
  return [=](double x, double) { return f(x); };
}
Real lgamma_of(Real x) {
  int sign = 0;
  return lgammal_r(x, &sign);
}

Real fmod_of(double x, double y) { return std::fmod(x, y); }
Real nextafter_of(double x, double y) { return std::nextafter(x, y); }

std::vector<Case> cases() {
  using enum Function;
  const Source angles = [](auto& r) { return Pair{static_cast<double>(r() % 1000000) * (std::numbers::pi / 2), 0.0}; };
  const Source subnormals = [](auto& r) {
    return Pair{std::bit_cast<double>(r() >> (1 + r() % 62)), std::bit_cast<double>(r() >> (12 + r() % 50))};
  };
  return {
      {sin, 1, one(std::sin), {any(), in(-1, 1), in(-10, 10), in(-2e6, 2e6), near(0, -30, 60), angles}},
      {cos, 1, one(std::cos), {any(), in(-1, 1), in(-10, 10), in(-2e6, 2e6), near(0, -30, 60), angles}},
      {tan, 1, one(std::tan), {any(), in(-1, 1), in(-10, 10), in(-2e6, 2e6), near(0, -30, 60), angles}},
      {lgamma,
       2,
       one(lgamma_of),
       {any(), in(0, 3), in(-30, 20), near(1, -52, -1), near(2, -51, -1), near(0, -1000, 1023, 1), near(-10, -40, -1)}},
      {digamma,
       2,
       one(scalar::long_digamma),
       {any(), in(0, 3), in(-30, 30), near(0, -1000, 1023, 1), near(0, -60, -1)},
       0.5},
      {fmod, 0, fmod_of, {any(), both(-3, 10, -3, 3), ratio(80), subnormals}},
      {nextafter, 0, nextafter_of, {any(), both(-3, 3, -3, 3), subnormals}},
  };
}

// Where a function begins, ends, changes its method or its exponent.
const std::vector<double>& special() {
  static const std::vector<double> all = [] {
    std::vector<double> result;
    for (const double x : {0.0,
                           kMin,
                           0x1p-1050,
                           0x1p-1022,
                           0x1p-1022 - kMin,
                           1e-300,
                           0x1p-54,
                           0x1p-28,
                           0x1p-27,
                           1e-8,
                           1e-5,
                           0.17,
                           0.25,
                           0.29,
                           0.35,
                           0.41,
                           0.5,
                           1 - 0x1p-53,
                           1.0,
                           1 + 0x1p-52,
                           1.25,
                           1.4142135623730951,
                           1.5,
                           0x1.921fb54442d18p0,
                           1.75,
                           2.0,
                           2.5,
                           3.0,
                           0x1.921fb54442d18p1,
                           4.0,
                           5.9,
                           6.0,
                           8.0,
                           10.0,
                           20.0,
                           22.0,
                           26.5,
                           27.2,
                           28.0,
                           45.0,
                           100.0,
                           709.782712893384,
                           709.7827128933841,
                           710.4758600739439,
                           710.475860073944,
                           711.0,
                           745.1332191019411,
                           745.1332191019412,
                           1000.0,
                           1023.9999999999999,
                           1024.0,
                           1074.0,
                           1074.5,
                           1075.0,
                           1075.5,
                           1048576.0,
                           0x1p28,
                           1e10,
                           0x1p52 + 1,
                           0x1p53,
                           0x1p53 + 2,
                           0x1p60,
                           1e22,
                           0x1p66,
                           6381956970095103.0 * 0x1p797,
                           1e300,
                           2.5563481638716905e305,
                           2.5563481638716906e305,
                           0x1p1023,
                           std::numeric_limits<double>::max(),
                           HUGE_VAL}) {
      result.push_back(x);
      result.push_back(-x);
    }
    result.push_back(NAN);
    return result;
  }();
  return all;
}

class VulkanLibm : public testing::TestWithParam<Case> {};

TEST_P(VulkanLibm, StaysWithinItsBound) {
  NEAP_NEEDS_VULKAN();
  const auto device = test::open_device();
  if (!device->choices().float64 || !device->choices().int64) GTEST_SKIP() << "no 64-bit arithmetic in shaders";
  if (std::numeric_limits<Real>::digits < 64) GTEST_SKIP() << "long double is no more than double here";
  const Case& c = GetParam();

  std::vector<Pair> arguments;
  for (const double x : special()) {
    if (scalar::arity(c.function) == 1) arguments.push_back({x, 0.0});
    for (const double y : special()) {
      if (scalar::arity(c.function) == 2) arguments.push_back({x, y});
    }
  }
  std::mt19937_64 random(7);
  for (const Source& source : c.sources) {
    for (size_t i = 0; i < kRandom; ++i) arguments.push_back(source(random));
  }
  const std::vector<double> results = on_device(*device, c.function, arguments);
  ASSERT_EQ(results.size(), arguments.size());

  double worst = 0.0;
  int failures = 0;
  for (size_t i = 0; i < results.size() && failures < 10; ++i) {
    const auto [x, y] = arguments[i];
    const Real want = c.reference(x, y);
    const double ulps = error(results[i], want, c.floor);
    worst = std::max(worst, ulps);
    if (ulps <= c.bound) continue;
    ADD_FAILURE() << fmt::format("{}({:.17g}, {:.17g}): {:.17g}, not {:.17g}: {} ulp", name_of(c.function), x, y,
                                 results[i], static_cast<double>(want), ulps);
    ++failures;
  }
  fmt::print("{}: {:.3f} ulp at worst of {} arguments\n", name_of(c.function), worst, results.size());
}

INSTANTIATE_TEST_SUITE_P(Functions, VulkanLibm, testing::ValuesIn(cases()),
                         [](const auto& info) { return name_of(info.param.function); });

TEST(VulkanLibmSource, HasEveryFunctionOnceAndOnlyWhatIsUsed) {
  std::vector<Function> all;
  for (int i = 0; i <= static_cast<int>(Function::nextafter); ++i) all.push_back(static_cast<Function>(i));
  EXPECT_EQ(cases().size(), all.size());
  std::vector<Function> twice = all;
  twice.insert(twice.end(), all.begin(), all.end());
  const std::string source = libm_source(twice);
  EXPECT_EQ(source, libm_source(all));
  for (const Function function : all) {
    const std::string head = "double neap_" + name_of(function) + "_f64(double";
    const size_t at = source.find(head);
    ASSERT_NE(at, std::string::npos) << head;
    EXPECT_EQ(source.find(head, at + 1), std::string::npos) << head;
  }
  for (const Function function : all) {
    const std::string own = libm_source(std::span(&function, 1));
    const bool loops = own.find("for (") != own.npos || own.find("while (") != own.npos;
    EXPECT_EQ(loop_turns(function) > 0, loops) << name_of(function);
  }
  const Function only[] = {Function::fmod};
  EXPECT_EQ(libm_source(only).find("neap_add"), std::string::npos);
  EXPECT_LT(libm_source(only).size(), 3000u);
}

}  // namespace
}  // namespace neap::vk
