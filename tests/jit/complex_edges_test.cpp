// Complex numbers at their edges: zeros, infinities, branch cuts, numbers whose squares overflow. As C's and JAX's.
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <sstream>

namespace neap {
namespace {

using C = std::complex<double>;
using namespace std::complex_literals;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

struct Edge {
  C z, expected;
};

// Parts are equal, with their signs of zero, or both NaN.
void expect_same(C got, C expected, C z, const char* how) {
  for (const auto& [a, b] : {std::pair{got.real(), expected.real()}, std::pair{got.imag(), expected.imag()}})
    EXPECT_TRUE(std::isnan(b) ? std::isnan(a) : a == b && std::signbit(a) == std::signbit(b))
        << how << " of " << z << ": " << got << ", expected " << expected;
}

void expect_edges(const char* name, const std::function<Array(const Array&)>& f, const std::vector<Edge>& edges) {
  SCOPED_TRACE(name);
  std::vector<C> z;
  for (const Edge& edge : edges) z.push_back(edge.z);
  const auto check = [&](const Array& y, const char* how) {
    const std::vector<C> got = y.to_vector<C>();
    for (size_t i = 0; i < edges.size(); ++i) expect_same(got[i], edges[i].expected, edges[i].z, how);
  };
  check(jit(f)(array(z)), "jit");
  const eager_reference reference;
  check(f(array(z)), "reference");
}

TEST(ComplexEdges, QuotientsOfZeroAndInfinity) {
  expect_edges("over", [](const Array& z) { return (1.0 + 2i) / z; },
               {{0, {kInf, kInf}}, {{-0.0, 0}, {-kInf, -kInf}}, {{kInf, kInf}, {0, 0}}, {{kInf, 1}, {0, 0}}});
  expect_edges("reciprocal", [](const Array& z) { return reciprocal(z); }, {{0, {kInf, kNan}}, {{0, 2}, {0, -0.5}}});
  EXPECT_EQ(sigmoid(array(C(-kInf, 1))).item<C>(), C(0));
}

TEST(ComplexEdges, ExponentialsOfInfinity) {
  expect_edges("exp", [](const Array& z) { return exp(z); },
               {{kInf, kInf}, {{kInf, -0.0}, {kInf, -0.0}}, {{1000, 0}, kInf}, {{-kInf, 0}, 0}});
  expect_edges("sinh", [](const Array& z) { return sinh(z); }, {{kInf, kInf}, {1000, kInf}});
  expect_edges("cosh", [](const Array& z) { return cosh(z); }, {{kInf, kInf}, {1000, kInf}});
  expect_edges("sin", [](const Array& z) { return sin(z); }, {{{0, kInf}, {0, kInf}}, {{0, 1000}, {0, kInf}}});
  expect_edges("expm1", [](const Array& z) { return expm1(z); }, {{kInf, kInf}, {1000, kInf}});
}

TEST(ComplexEdges, RootsOnBothSidesOfTheCutAndOfLargeNumbers) {
  const double large = 0x1p1023;
  expect_edges("sqrt", [](const Array& z) { return sqrt(z); },
               {{{-4, 0.0}, {0, 2}},
                {{-4, -0.0}, {0, -2}},
                {{1, kInf}, {kInf, kInf}},
                {{-kInf, -kInf}, {kInf, -kInf}},
                {{-kInf, 1}, {0, kInf}},
                {0, 0},
                {2 * (large / 2), std::sqrt(large)}});
  const C root = sqrt(array(C(1.5 * large, 1.5 * large))).item<C>();
  EXPECT_LE(std::abs(root * 0x1p-512 - std::sqrt(C(1.5 * 0x1p-1, 1.5 * 0x1p-1))), 1e-15);
  // A scalar keeps the sign of its zero, too.
  EXPECT_EQ(sqrt(Operand(C(-4, -0.0))).item<C>(), C(0, -2));
  EXPECT_EQ(sqrt(full({1}, C(-4, -0.0))).to_vector<C>(), std::vector<C>{C(0, -2)});
}

TEST(ComplexEdges, SquaresOfLargeNumbers) {
  expect_edges("square", [](const Array& z) { return square(z); },
               {{{1e200, 1e200}, {0, kInf}}, {{2e200, 1e200}, {kInf, kInf}}, {{3, 4}, {-7, 24}}});
}

TEST(ComplexEdges, PowersOfZero) {
  const auto power_of_zero = [](C w) { return pow(array(C(0)), array(w)).item<C>(); };
  EXPECT_EQ(power_of_zero(2), C(0));
  EXPECT_EQ(power_of_zero({0.5, 3}), C(0));
  EXPECT_EQ(power_of_zero(0), C(1));
  for (const C w : {C(-1), C(0, 1)}) EXPECT_TRUE(std::isnan(power_of_zero(w).real())) << w;
}

TEST(ComplexEdges, PlansNameTheUsersLines) {
  const auto f = jit([](const Array& z) { return matmul(transpose(z), matmul(z, conj(z))); });
  std::ostringstream text;
  text << f.plan(spec({16, 16}, c64));
  EXPECT_EQ(text.str().find("complex.cpp"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("complex_edges"), std::string::npos);
}

// By the name that the user wrote, also where no window fits and the result would be empty.
TEST(ComplexEdges, HaveNoOrder) {
  const auto message = [](const std::function<Array()>& f) -> std::string {
    try {
      f();
    } catch (const DTypeError& e) {
      return e.what();
    }
    return "no error";
  };
  const Array z = zeros({2, 3}, c64);
  for (const Shape& window : {Shape{7, 2}, Shape{1, 2}}) {
    EXPECT_EQ(message([&] { return max_pool(z, window); }).find("max_pool: c64[2,3]; expected a real"), 0u)
        << message([&] { return max_pool(z, window); });
    EXPECT_EQ(message([&] { return min_pool(z, window); }).find("min_pool: c64[2,3]; expected a real"), 0u)
        << message([&] { return min_pool(z, window); });
  }
  EXPECT_EQ(message([] { return arange(3.0 + 4i); }).find("arange: a complex bound"), 0u)
      << message([] { return arange(3.0 + 4i); });
  EXPECT_EQ(message([] { return arange(0, 3.0 + 4i, 1, c64); }).find("arange: a complex bound"), 0u)
      << message([] { return arange(0, 3.0 + 4i, 1, c64); });
}

}  // namespace
}  // namespace neap
