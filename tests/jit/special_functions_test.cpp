// Values of special functions where a plain formula loses its digits: against mpmath's, compiled and by the reference.
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace neap {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class SpecialFunctions : public ::testing::TestWithParam<bool> {
 protected:
  SpecialFunctions() {
    if (GetParam()) reference_.emplace();
  }
  std::optional<eager_reference> reference_;
};

// Within so many units in the last place of the dtype.
template <class T>
void expect_close(const Array& got, double want, double ulps, const std::string& what) {
  const T value = got.item<T>();
  const double unit = std::nextafter(std::abs(static_cast<T>(want)), std::numeric_limits<T>::infinity()) -
                      std::abs(static_cast<T>(want));
  EXPECT_LE(std::abs(static_cast<double>(value) - want), ulps * unit) << what << ": " << value << " for " << want;
}

// To the bit that of C, of any lane: with the quotients of many digits, with those that round up to an integer, with
// none.
template <class T>
void expect_remainders_of_c(uint64_t seed) {
  constexpr T kLeast = std::numeric_limits<T>::denorm_min(), kMost = std::numeric_limits<T>::max();
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> edges{T{0},
                             -T{0},
                             T{1},
                             T{-1},
                             T{3},
                             T{0.1f},
                             kLeast,
                             -3 * kLeast,
                             kMost,
                             -kMost,
                             std::numeric_limits<T>::min(),
                             inf,
                             -inf,
                             nan,
                             T{6.2831855f},
                             T{16777216},
                             T{9007199254740992.0}};
  std::vector<T> x, y;
  for (const T a : edges)
    for (const T b : edges) x.push_back(a), y.push_back(b);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const T b =
        static_cast<T>(std::ldexp(1.0 + static_cast<double>(random() >> 12) * 0x1p-52, static_cast<int>(random() % 8)));
    const auto n = static_cast<T>(random() % 4 == 0 ? random() >> 20 : random() % 1000);
    T a = n * b;  // beside a multiple, or far from it
    if (random() % 2) a = std::nextafter(a, random() % 2 ? kMost : T{0});
    if (random() % 4 == 0) a += static_cast<T>(0.37) * b;
    x.push_back(random() % 2 ? a : -a);
    y.push_back(random() % 2 ? b : -b);
  }
  const auto got =
      jit([](const Array& a, const Array& b) { return remainder(a, b); })(array(x), array(y)).template to_vector<T>();
  const std::vector<T> by_scalar =
      jit([](const Array& a) { return remainder(a, array(T{0.7f})); })(array(x)).template to_vector<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    for (const auto& [value, divisor] : {std::pair(got[i], y[i]), std::pair(by_scalar[i], T{0.7f})}) {
      const T want = std::fmod(x[i], divisor);
      EXPECT_TRUE(std::isnan(want) ? std::isnan(value) : value == want && std::signbit(value) == std::signbit(want))
          << x[i] << " by " << divisor << ": " << value << ", not " << want;
    }
  }
}

TEST_P(SpecialFunctions, RemaindersAreThoseOfC) {
  expect_remainders_of_c<float>(1);
  expect_remainders_of_c<double>(2);
}

TEST_P(SpecialFunctions, LogarithmOfBeta) {
  const auto check = [](auto zero, double a, double b, double want, double ulps) {
    using T = decltype(zero);
    const Array x = array(static_cast<T>(a)), y = array(static_cast<T>(b));
    const std::string what = "betaln(" + std::to_string(a) + ", " + std::to_string(b) + ")";
    expect_close<T>(betaln(x, y), want, ulps, what);
    expect_close<T>(betaln(y, x), want, ulps, what + " swapped");
  };
  check(0.0f, 1e6, 1, -13.815510557964274104, 1);
  check(0.0f, 1e6, 1e6, -1386300.0033629211163, 2);
  check(0.0f, 0.5, 1000, -2.8813876965715767707, 2);
  check(0.0f, 12, 15, -18.568172732389434645, 2);
  check(0.0f, 9, 9, -12.295867644646388427, 4);
  check(0.0, 1e30, 1, -69.07755278982137054, 1);
  check(0.0, 1e10, 1e10, -13862943621.44631953, 2);
  check(0.0, 0.5, 1e15, -16.697023254530642418, 2);
  check(0.0, 20, 1e18, -789.5907492906569524, 2);
  check(0.0, 3.5, 2.25, -3.0408707193828155248, 4);
  EXPECT_EQ(betaln(array(kInf), array(2.0)).item<double>(), -kInf);
  EXPECT_EQ(betaln(array(0.0), array(20.0)).item<double>(), kInf);
  // d/db betaln(a, b) is about -a / b where b is large: a difference of equals, were it made of digammas.
  const auto slope = grad<1>([](const Array& a, const Array& b) { return betaln(a, b); });
  EXPECT_NEAR(slope(array(1.0), array(1e20)).item<double>() * 1e20, -1, 1e-12);
}

TEST_P(SpecialFunctions, TailsOfGelu) {
  const std::pair<float, double> exact[] = {{-3, -0.00404969409489},
                                            {-5, -1.4332578594e-6},
                                            {-8, -4.97676845942e-15},
                                            {-10, -7.61985302416e-23},
                                            {2, 1.9544997361}};
  for (const auto& [x, want] : exact) EXPECT_NEAR(gelu(array(x)).item<float>() / want, 1, 1e-5) << x;
  const std::pair<float, double> by_tanh[] = {
      {-3, -0.00363739208177}, {-5, -2.29179619663e-7}, {-8, -3.1077829375e-21}};
  for (const auto& [x, want] : by_tanh) EXPECT_NEAR(gelu_tanh(array(x)).item<float>() / want, 1, 1e-5) << x;
}

TEST_P(SpecialFunctions, DigammaAtItsRoot) {
  const std::pair<double, double> values[] = {{1.4616321449683622, -9.2412655217294275168e-17},
                                              {1.4616321449683625, 1.2245374622004069031e-16},
                                              {1.4616, -0.000031106251230341649658},
                                              {1.5, 0.036489973978576520559},
                                              {1.0, -0.57721566490153286061},
                                              {1.9, 0.35618416116405965812}};
  for (const auto& [x, want] : values) expect_close<double>(digamma(array(x)), want, 4, "digamma(" + std::to_string(x));
}

TEST_P(SpecialFunctions, Ratios) {
  // Out of range, and near one.
  expect_close<float>(rel_entr(array(1e-30f), array(1e30f)), -1.3815510603e-28, 2, "rel_entr, small ratio");
  expect_close<double>(rel_entr(array(1e-300), array(1e300)), -1.3815510557964274451e-297, 2, "rel_entr, small ratio");
  expect_close<float>(rel_entr(array(1.0001f), array(1.0f)), 0.000100021595426, 2, "rel_entr, near 1");
  EXPECT_EQ(kl_div(array(1e-300), array(1e300)).item<double>(), 1e300);
  expect_close<float>(logit(array(0.5001f)), 0.000400066381068, 2, "logit near 1/2");
  expect_close<double>(logit(array(0.5001)), 0.00040000000533328940768, 2, "logit near 1/2");
}

// The derivatives of sin(x) / x near 0 are not quotients of what is almost 0.
TEST_P(SpecialFunctions, SincNearZero) {
  const auto first = [](const Array& x) { return grad([](const Array& v) { return sinc(v); })(x); };
  const double pi2 = 9.8696044010893586;
  EXPECT_NEAR(first(array(1e-6f)).item<float>() / (-pi2 / 3 * 1e-6), 1, 1e-6);
  EXPECT_NEAR(grad(first)(array(1e-5f)).item<float>() / (-pi2 / 3), 1, 1e-6);
}

// A C++ number that is finite as a double may be infinite in the dtype of the other operand.
TEST_P(SpecialFunctions, SumsOfExponentialsWithInfiniteNumbers) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(logaddexp(array(inf), 1e300).item<float>(), inf);
  EXPECT_EQ(logaddexp(array(-inf), -1e300).item<float>(), -inf);
  EXPECT_EQ(logaddexp2(array(inf), 1e300).item<float>(), inf);
  EXPECT_EQ(logaddexp(full({}, kInf, f16), 1e5).astype(f32).item<float>(), inf);
  EXPECT_EQ(logaddexp(full({}, kInf, f16), 65519).astype(f32).item<float>(), inf);
}

// A half is widened before anything is rounded.
TEST_P(SpecialFunctions, Halves) {
  const auto half = [](double x, DType dtype) { return full({}, x, dtype); };
  const auto value = [](const Array& x) { return double{x.astype(f32).item<float>()}; };
  const auto near = [&](const Array& got, double want) {
    EXPECT_LE(std::abs(value(got) - want), 0x1p-133 + std::abs(want) * (got.dtype() == bf16 ? 0x1p-8 : 0x1p-11))
        << want;
  };
  for (const double x : {-12.9375, -7.03125, -3.015625, 1.0078125}) {
    const double exact = x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    near(gelu(half(x, bf16)), exact);
    near(ndtr(half(x, bf16)), exact / x);
    near(silu(half(x, bf16)), x / (1 + std::exp(-x)));
    near(gelu_tanh(half(x, bf16)), x / (1 + std::exp(-1.5957691216057308 * (x + 0.044715 * x * x * x))));
  }
  near(gelu(half(-2.001953125, f16)), -2.001953125 * 0.5 * std::erfc(2.001953125 / std::sqrt(2.0)));
  EXPECT_EQ(value(sinc(half(20864, f16))), 0);
  EXPECT_EQ(value(sinc(half(65504, f16))), 0);
  near(sinc(half(100.5, f16)), 1 / (100.5 * 3.14159265358979323846));
  const auto trigamma = grad([](const Array& x) { return digamma(x); });
  near(trigamma(half(1, f16)), 1.6449340668482264);
  near(trigamma(half(0.125, f16)), 65.3881334);
  near(trigamma(half(300, f16)), 0.003338895);
}

TEST_P(SpecialFunctions, DivergenceNearOne) {
  const auto check = [](float a, float b, double want) {
    EXPECT_NEAR(kl_div(array(a), array(b)).item<float>() / want, 1, 1e-6) << a << ' ' << b;
  };
  check(9514193, 9514516, 0.00548268459538191598);
  check(1.25f, 1, 0.028929439142762795);
  check(1, 1.25f, 0.026856448685790244);
  check(3, 2.5f, 0.046964670381863879);
  check(1.5f, 1, 0.10819766216224657);
  check(3.0000002384185791f, 3, 9.4739028924952873e-15);
  EXPECT_EQ(kl_div(array(3.0f), array(3.0f)).item<float>(), 0);
  EXPECT_EQ(kl_div(array(0.0f), array(3.0f)).item<float>(), 3);
  const auto [da, db] = grad<0, 1>([](const Array& a, const Array& b) { return kl_div(a, b); })(array(3.0), array(2.5));
  EXPECT_NEAR(da.item<double>(), std::log(1.2), 1e-15);
  EXPECT_NEAR(db.item<double>(), -0.2, 1e-15);
}

INSTANTIATE_TEST_SUITE_P(Each, SpecialFunctions, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Reference" : "Compiled"; });

}  // namespace
}  // namespace neap
