// Elementwise ops, conversions and leaves of the reference interpreter against values computed by hand or known.
#include "trace/reference/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/trace/host.h"
#include "tests/trace/samples.h"
#include "trace/reference/reference_math.h"

namespace neap::tracing {
namespace {

using testing::ElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::vector<T> unary(Op op, std::vector<T> x) {
  const auto n = static_cast<int64_t>(x.size());
  return elements_of<T>(evaluate(op, {host<T>({n}, x)}));
}
template <class T, class R = T>
std::vector<R> binary(Op op, std::vector<T> x, std::vector<T> y) {
  const auto n = static_cast<int64_t>(x.size());
  return elements_of<R>(evaluate(op, {host<T>({n}, x), host<T>({n}, y)}));
}
template <class To, class From>
std::vector<To> convert(std::vector<From> x) {
  const auto n = static_cast<int64_t>(x.size());
  return elements_of<To>(evaluate(Op::convert, {host<From>({n}, x)}, {{Attr::dtype, dtype_of<To>()}}));
}

// Doubles equal within `ulps` units in the last place.
void expect_near_ulp(double got, double expected, double ulps = 2) {
  EXPECT_LE(std::abs(got - expected), ulps * std::abs(expected) * 0x1p-52) << got << " for " << expected;
}

TEST(Reference, EveryOpOfEveryDtypeRuns) {
  for (const OpInfo& row : op_table()) {
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      const bool elementwise = row.family == Family::elementwise;
      const bool complex = is_complex(dtype) && row.complex;
      if (elementwise ? !accepts(row.types, dtype) && !complex : dtype != f32) continue;
      const Graph graph = sample_graph(row.op, dtype);
      if (row.op == Op::linear_call) continue;  // its transpose alone is known
      std::vector<HostValue> inputs;
      for (const ValueId v : graph.inputs) {
        const Aval& aval = graph.aval(v);
        inputs.push_back({aval, allocate(aval.bytes(), "test")});
        std::memset(inputs.back().data->data(), 1, aval.bytes());
      }
      const std::vector<HostValue> outputs = evaluate_reference(graph, inputs);
      ASSERT_EQ(outputs.size(), graph.outputs.size()) << row.name;
      EXPECT_EQ(outputs[0].aval, graph.aval(graph.outputs[0])) << row.name;
    }
  }
}

TEST(Reference, IntegersWrap) {
  EXPECT_THAT(binary<int8_t>(Op::add, {127, -128}, {1, -1}), ElementsAre(-128, 127));
  EXPECT_THAT(binary<uint8_t>(Op::subtract, {0, 3}, {1, 2}), ElementsAre(255, 1));
  const int64_t low = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(binary<int64_t>(Op::add, {low, low}, {-1, low}), ElementsAre(std::numeric_limits<int64_t>::max(), 0));
  EXPECT_THAT(binary<int64_t>(Op::multiply, {low, 3}, {-1, 4}), ElementsAre(low, 12));
  EXPECT_THAT(unary<int64_t>(Op::negative, {low, 5}), ElementsAre(low, -5));
  EXPECT_THAT(unary<int64_t>(Op::abs, {low, -5}), ElementsAre(low, 5));
  EXPECT_THAT(unary<int8_t>(Op::abs, {-128, -5}), ElementsAre(-128, 5));
  EXPECT_THAT(unary<uint32_t>(Op::negative, {1}), ElementsAre(0xffffffffu));
  EXPECT_THAT(unary<int8_t>(Op::square, {16, 12}), ElementsAre(0, -112));
  EXPECT_THAT(unary<int32_t>(Op::sign, {-7, 0, 9}), ElementsAre(-1, 0, 1));
}

TEST(Reference, IntegerDivision) {
  const int64_t low = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(binary<int64_t>(Op::divide, {7, -7, 7, 1, low}, {2, 2, -2, 0, -1}), ElementsAre(3, -3, -3, -1, low));
  EXPECT_THAT(binary<int64_t>(Op::remainder, {7, -7, 7, 5, low}, {2, 2, -2, 0, -1}), ElementsAre(1, -1, 1, 5, 0));
  EXPECT_THAT(binary<int8_t>(Op::divide, {-128, 1}, {-1, 0}), ElementsAre(-128, -1));
  EXPECT_THAT(binary<uint8_t>(Op::divide, {200, 1}, {3, 0}), ElementsAre(66, 255));
  EXPECT_THAT(binary<uint64_t>(Op::remainder, {~0ull, 9}, {10, 0}), ElementsAre(5, 9));
  EXPECT_THAT(binary<float>(Op::remainder, {5.5f, -5.5f}, {2.0f, 2.0f}), ElementsAre(1.5f, -1.5f));
}

TEST(Reference, BitOperations) {
  EXPECT_THAT(binary<int8_t>(Op::shift_left, {1, 1, 1, -1}, {7, 8, -1, 1}), ElementsAre(-128, 0, 0, -2));
  EXPECT_THAT(binary<int8_t>(Op::shift_right, {-128, -128, 64, 64}, {1, 8, 8, -1}), ElementsAre(-64, -1, 0, 0));
  EXPECT_THAT(binary<uint8_t>(Op::shift_right, {128, 128}, {1, 8}), ElementsAre(64, 0));
  EXPECT_THAT(binary<uint64_t>(Op::shift_left, {1, 1}, {63, 64}), ElementsAre(uint64_t{1} << 63, 0));
  EXPECT_THAT(unary<int8_t>(Op::popcount, {-1, 3, 0}), ElementsAre(8, 2, 0));
  EXPECT_THAT(unary<int64_t>(Op::popcount, {-1}), ElementsAre(64));
  EXPECT_THAT(unary<uint16_t>(Op::clz, {0, 1, 0x8000}), ElementsAre(16, 15, 0));
  EXPECT_THAT(unary<int32_t>(Op::clz, {-1, 0}), ElementsAre(0, 32));
  EXPECT_THAT(unary<uint8_t>(Op::bitwise_not, {0x0f}), ElementsAre(0xf0));
  EXPECT_THAT(unary<bool>(Op::bitwise_not, {true, false}), ElementsAre(false, true));
  EXPECT_THAT(binary<bool>(Op::bitwise_xor, {true, true}, {true, false}), ElementsAre(false, true));
  EXPECT_THAT(binary<bool>(Op::shift_left, {true, true}, {true, false}), ElementsAre(false, true));
  EXPECT_THAT(unary<bool>(Op::clz, {true, false}), ElementsAre(false, true));
}

TEST(Reference, FloatsAreRoundedOnce) {
  // 1 + 2^-8 is halfway between two bf16 values; a little more must go up, though f32 cannot hold the little more.
  EXPECT_EQ(float(convert<bfloat16, double>({1 + 0x1p-8 + 0x1p-40})[0]), 1 + 0x1p-7f);
  EXPECT_EQ(float(convert<bfloat16, double>({1 + 0x1p-8})[0]), 1.0f);
  EXPECT_EQ(float(convert<float16, int64_t>({2049})[0]), 2048.0f);
  EXPECT_EQ(float(convert<bfloat16, int64_t>({(int64_t{1} << 60) + (int64_t{1} << 52) + 1})[0]), 0x1p60f + 0x1p53f);
  EXPECT_EQ(float(convert<bfloat16, uint64_t>({~0ull})[0]), 0x1p64f);
  const bfloat16 third = bfloat16(1.0f / 3);
  EXPECT_EQ(float(binary<bfloat16>(Op::add, {third}, {bfloat16(256.0f)})[0]), 256.0f);
  EXPECT_EQ(unary<float>(Op::exp, {1.0f})[0], static_cast<float>(std::exp(1.0)));
  EXPECT_EQ(float(unary<float16>(Op::exp, {float16(12.0f)})[0]), kInf);
}

TEST(Reference, MaximumComparisonAndSelect) {
  const std::vector<float> x{1, float(kNaN), 3}, y{2, 2, float(kNaN)};
  const std::vector<float> larger = binary<float>(Op::maximum, x, y);
  EXPECT_EQ(larger[0], 2);
  EXPECT_TRUE(std::isnan(larger[1]) && std::isnan(larger[2]));
  EXPECT_THAT((binary<float, bool>(Op::not_equal, x, y)), ElementsAre(true, true, true));
  EXPECT_THAT((binary<float, bool>(Op::greater_equal, x, y)), ElementsAre(false, false, false));
  EXPECT_THAT((binary<uint64_t, bool>(Op::less, {~0ull, 1}, {1, ~0ull})), ElementsAre(false, true));
  EXPECT_THAT((binary<bool, bool>(Op::less, {false, true}, {true, true})), ElementsAre(true, false));
  EXPECT_THAT(elements_of<uint8_t>(evaluate(Op::select, {host<bool>({2}, {true, false}), host<uint8_t>({2}, {1, 2}),
                                                         host<uint8_t>({2}, {3, 4})})),
              ElementsAre(1, 4));
  EXPECT_THAT(elements_of<bool>(evaluate(Op::isfinite, {host<double>({3}, {1, kInf, kNaN})})),
              ElementsAre(true, false, false));
  EXPECT_THAT(elements_of<bool>(evaluate(Op::isnan, {host<double>({3}, {1, kInf, kNaN})})),
              ElementsAre(false, false, true));
}

TEST(Reference, SpecialFunctions) {
  const double x[] = {0.5, 0.9, -0.5, 1e-10, 1e-300};
  const double inverse[] = {0.47693627620446987338, 1.1630871536766740867, -0.47693627620446987338,
                            8.8622692545275801365e-11, 8.8622692545275801365e-301};
  for (size_t i = 0; i < std::size(x); ++i) expect_near_ulp(ref::erf_inv(x[i]), inverse[i]);
  for (double v = -0.9995; v < 1; v += 0.001) expect_near_ulp(std::erf(ref::erf_inv(v)), v, 3);
  for (int e = 2; e <= 53; ++e) {  // towards 1 the complement keeps its digits
    const double tail = std::ldexp(1, -e), t = ref::erf_inv(1 - tail);
    EXPECT_NEAR(std::erfc(t) / tail, 1, 4e-16 * (1 + 2 * t * t)) << e;
  }
  EXPECT_EQ(ref::erf_inv(1), kInf);
  EXPECT_EQ(ref::erf_inv(-1), -kInf);
  EXPECT_TRUE(std::isnan(ref::erf_inv(1.5)) && std::isnan(ref::erf_inv(kNaN)));
  EXPECT_TRUE(std::signbit(ref::erf_inv(-0.0)));

  expect_near_ulp(ref::digamma(1), -0.57721566490153286061);
  expect_near_ulp(ref::digamma(0.5), -1.96351002602142347944);
  expect_near_ulp(ref::digamma(-0.5), 0.03648997397857652056);
  expect_near_ulp(ref::digamma(10), 2.25175258906672110764);
  expect_near_ulp(ref::digamma(1e10), std::log(1e10) - 0.5e-10);
  EXPECT_TRUE(std::isnan(ref::digamma(0)) && std::isnan(ref::digamma(-3)));
  expect_near_ulp(ref::lgamma(10), 12.80182748008146961121);
  expect_near_ulp(ref::lgamma(-0.5), 1.26551212348464539647);
  EXPECT_EQ(ref::sigmoid(-1000), 0);
  EXPECT_EQ(ref::sigmoid(1000), 1);
  expect_near_ulp(ref::sigmoid(-2), 0.11920292202211755594);
}

TEST(Reference, NextafterIsOnTheGridOfItsDtype) {
  EXPECT_EQ(binary<float>(Op::nextafter, {1.0f}, {2.0f})[0], std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(float(binary<bfloat16>(Op::nextafter, {bfloat16(1.0f)}, {bfloat16(2.0f)})[0]), 1 + 0x1p-7f);
  EXPECT_EQ(float(binary<bfloat16>(Op::nextafter, {bfloat16(-1.0f)}, {bfloat16(0.0f)})[0]), -1 + 0x1p-8f);
  EXPECT_EQ(float(binary<float16>(Op::nextafter, {float16(0.0f)}, {float16(-1.0f)})[0]), -0x1p-24f);
  EXPECT_EQ(float(binary<float16>(Op::nextafter, {float16(65504.0f)}, {float16(float(kInf))})[0]), kInf);
  EXPECT_EQ(float(binary<float16>(Op::nextafter, {float16(float(-kInf))}, {float16(0.0f)})[0]), -65504.0f);
  EXPECT_TRUE(std::isnan(float(binary<float16>(Op::nextafter, {float16(float(kNaN))}, {float16(0.0f)})[0])));
}

TEST(Reference, Conversions) {
  EXPECT_THAT((convert<int8_t, float>({300, -300, 1.9f, -1.9f, float(kNaN), float(kInf)})),
              ElementsAre(127, -128, 1, -1, 0, 127));
  EXPECT_THAT((convert<uint8_t, double>({-1, 255.9, 256})), ElementsAre(0, 255, 255));
  EXPECT_THAT((convert<int64_t, double>({0x1p63, -0x1p63, -kInf})),
              ElementsAre(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(),
                          std::numeric_limits<int64_t>::min()));
  EXPECT_THAT((convert<uint64_t, float>({0x1p64f, 3})), ElementsAre(~0ull, 3));
  EXPECT_THAT((convert<int8_t, int32_t>({300, -129})), ElementsAre(44, 127));
  EXPECT_THAT((convert<uint16_t, int8_t>({-1})), ElementsAre(0xffff));
  EXPECT_THAT((convert<bool, float>({0, -0.0f, 0.1f, float(kNaN)})), ElementsAre(false, false, true, true));
  EXPECT_THAT((convert<bool, int8_t>({0, 2})), ElementsAre(false, true));
  EXPECT_THAT((convert<double, bool>({false, true})), ElementsAre(0, 1));
  EXPECT_THAT((convert<float, int32_t>({16777217})), ElementsAre(16777216.0f));
  EXPECT_THAT((convert<int32_t, float16>({float16(-2.5f)})), ElementsAre(-2));
  EXPECT_THAT(elements_of<uint32_t>(evaluate(Op::bitcast, {host<float>({1}, {1.0f})}, {{Attr::dtype, u32}})),
              ElementsAre(0x3f800000u));
}

TEST(Reference, Leaves) {
  const auto constant = [](AttrValue value, DType dtype) {
    return evaluate(Op::constant, {}, {{Attr::value, std::move(value)}, {Attr::dtype, dtype}, {Attr::shape, Ints{2}}});
  };
  EXPECT_THAT(elements_of<float>(constant(0.1, f32)), ElementsAre(0.1f, 0.1f));
  EXPECT_THAT(elements_of<uint8_t>(constant(-1, u8)), ElementsAre(255, 255));
  EXPECT_THAT(elements_of<int64_t>(constant((int64_t{1} << 62) + 1, i64)),
              ElementsAre((int64_t{1} << 62) + 1, (int64_t{1} << 62) + 1));
  EXPECT_THAT(elements_of<bool>(constant(2.0, bool_)), ElementsAre(true, true));
  const Attrs iota{{Attr::dtype, f16}, {Attr::shape, Ints{2, 3}}, {Attr::axis, 0}};
  EXPECT_THAT(elements_of<float16>(evaluate(Op::iota, {}, iota)), ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(Reference, ChecksItsInputs) {
  const Graph graph = sample_graph(Op::exp);
  const std::vector<HostValue> wrong{host<float>({2}, {1, 2})};
  EXPECT_THROW(evaluate_reference(graph, wrong), InternalError);
  EXPECT_THROW(evaluate_reference(graph, {}), InternalError);
}

}  // namespace
}  // namespace neap::tracing
