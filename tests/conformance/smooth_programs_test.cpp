// Derivatives of functions at random are what differences say, and right where differences say nothing.
// NEAP_TEST_SEED=n checks that one alone.
#include <cstdlib>

#include "tests/conformance/check_derivatives.h"

namespace neap::conformance {
namespace {

constexpr uint64_t kPrograms = 12;

class SmoothPrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(SmoothPrograms, HaveTheDerivativesThatDifferencesSay) {
  if (const char* seed = std::getenv("NEAP_TEST_SEED")) return check_derivatives(std::strtoull(seed, nullptr, 10));
  for (uint64_t seed = GetParam() * kPrograms; seed < (GetParam() + 1) * kPrograms && !HasFailure(); ++seed)
    check_derivatives(seed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SmoothPrograms, testing::Range<uint64_t>(0, 17));

// What is bent has no slope at NaN, whatever branch the library takes there.
TEST(Smooth, NoSlopeAtNaN) {
  using Function = Array (*)(const Array&);
  const std::pair<const char*, Function> functions[] = {
      {"logaddexp", [](const Array& x) { return logaddexp(x, 1.0); }},
      {"logaddexp, second", [](const Array& x) { return logaddexp(1.0, x); }},
      {"logaddexp2", [](const Array& x) { return logaddexp2(x, 1.0); }},
      {"logaddexp2, second", [](const Array& x) { return logaddexp2(1.0, x); }},
      {"softplus", [](const Array& x) { return softplus(x); }},
      {"log_sigmoid", [](const Array& x) { return log_sigmoid(x); }},
      {"gelu", [](const Array& x) { return gelu(x); }},
      {"gelu_tanh", [](const Array& x) { return gelu_tanh(x); }},
      {"silu", [](const Array& x) { return silu(x); }},
      {"mish", [](const Array& x) { return mish(x); }},
      {"squareplus", [](const Array& x) { return squareplus(x); }},
      {"sinc", [](const Array& x) { return sinc(x); }},
      {"entr", [](const Array& x) { return entr(x); }},
      {"xlogy", [](const Array& x) { return xlogy(x, x); }},
      {"logsumexp", [](const Array& x) { return logsumexp(stack({x, 2.0 * x})); }},
      {"softmax", [](const Array& x) { return softmax(stack({x, 2.0 * x}))[0]; }},
      {"log_softmax", [](const Array& x) { return log_softmax(stack({x, 2.0 * x}))[0]; }},
      {"cumlogsumexp", [](const Array& x) { return cumlogsumexp(stack({x, 2.0 * x}))[1]; }},
      {"var", [](const Array& x) { return var(stack({x, x * x})); }},
      {"prod", [](const Array& x) { return prod(stack({x, 2.0 * x, x})); }},
      {"pow", [](const Array& x) { return pow(x, x); }},
      {"hypot", [](const Array& x) { return hypot(x, 1.0); }},
      {"atan2", [](const Array& x) { return atan2(x, 1.0); }},
  };
  const eager_reference reference;
  for (const auto& [name, f] : functions) {
    SCOPED_TRACE(name);
    const Array x = array(std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(std::isnan(grad(f)(x).item<double>()));
    EXPECT_TRUE(std::isnan(grad(grad(f))(x).item<double>()));
    EXPECT_TRUE(std::isnan(jvp(f, x, array(1.0)).tangent.item<double>()));
  }
}

// Where a function flattens out or becomes a line, so does its slope at infinity.
TEST(Smooth, SlopesAtInfinity) {
  using Function = Array (*)(const Array&);
  struct Row {
    const char* name;
    Function f;
    double below, above;  // slopes at -inf and inf
  };
  const Row rows[] = {
      {"logaddexp", [](const Array& x) { return logaddexp(x, 1.0); }, 0, 1},
      {"logaddexp, second", [](const Array& x) { return logaddexp(1.0, x); }, 0, 1},
      {"logaddexp2", [](const Array& x) { return logaddexp2(x, 1.0); }, 0, 1},
      {"softplus", [](const Array& x) { return softplus(x); }, 0, 1},
      {"log_sigmoid", [](const Array& x) { return log_sigmoid(x); }, 1, 0},
      {"sigmoid", [](const Array& x) { return sigmoid(x); }, 0, 0},
      {"tanh", [](const Array& x) { return tanh(x); }, 0, 0},
      {"erf", [](const Array& x) { return erf(x); }, 0, 0},
      {"atan", [](const Array& x) { return atan(x); }, 0, 0},
      {"ndtr", [](const Array& x) { return ndtr(x); }, 0, 0},
  };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const eager_reference reference;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(grad(row.f)(array(-kInf)).item<double>(), row.below);
    EXPECT_EQ(grad(row.f)(array(kInf)).item<double>(), row.above);
  }
}

}  // namespace
}  // namespace neap::conformance
