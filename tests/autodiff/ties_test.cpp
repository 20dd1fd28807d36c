// Derivatives where elements are equal, infinite or NaN: true ones, of every order, where a function is smooth, and
// JAX's (0.10.2) where it is not. Each as the reference interpreter has it, and compiled.
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

namespace neap {
namespace {

using Function = std::function<Array(const Array&)>;
using Doubles = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

Array c(double value) { return array(value); }
Function derivative(const Function& f) {
  return [f](const Array& x) { return grad(f)(x); };
}
Function forward(const Function& f) {
  return [f](const Array& x) { return jvp(f, x, ones_like(x)).tangent; };
}

void expect_same(double got, double want, double tolerance, const std::string& what) {
  if (std::isnan(want) || std::isinf(want))
    EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << what << ": " << got << " for " << want;
  else
    EXPECT_NEAR(got, want, tolerance * (1 + std::abs(want))) << what;
}

class Ties : public ::testing::TestWithParam<bool> {
 protected:
  Ties() {
    if (GetParam()) reference_.emplace();
  }
  // The values of f and of its first derivatives at a scalar, the first in both modes.
  static void expect_derivatives(const std::string& name, const Function& f, double at, const Doubles& want,
                                 double tolerance = 1e-12) {
    Function g = f;
    for (size_t order = 0; order < want.size(); ++order) {
      const std::string what = name + " at " + std::to_string(at) + ", derivative " + std::to_string(order);
      expect_same(g(c(at)).item<double>(), want[order], tolerance, what);
      if (order == 1) expect_same(forward(f)(c(at)).item<double>(), want[order], tolerance, what + " forward");
      g = derivative(g);
    }
  }
  static Doubles gradient(const Function& f, const Array& x) {
    return grad([&](const Array& v) { return sum(f(v)); })(x).to_vector<double>();
  }
  std::optional<eager_reference> reference_;
};

struct Smooth {
  std::string name;
  Function f;
  Doubles points;
};

// Every function that is smooth where its formula, or the derivative of its formula, has a tie, a division by zero or a
// bend of one of its parts.
std::vector<Smooth> smooth_functions() {
  const Doubles all{0, 1, -1, 3, -3, 0.25, -0.5}, positive{0.25, 1, 2, 3};
  std::vector<Smooth> list;
  const auto add = [&](const std::string& name, const Function& f, const Doubles& points) {
    list.push_back({name, f, points});
  };
#define UNARY(name, points) add(#name, [](const Array& x) { return neap::name(x); }, points)
  UNARY(softplus, all);
  UNARY(log_sigmoid, all);
  UNARY(sigmoid, all);
  UNARY(silu, all);
  UNARY(gelu, all);
  UNARY(gelu_tanh, all);
  UNARY(mish, all);
  UNARY(squareplus, all);
  UNARY(ndtr, all);
  UNARY(erf, all);
  UNARY(erfc, all);
  UNARY(tanh, all);
  UNARY(asinh, all);
  UNARY(atan, all);
  UNARY(exp, all);
  UNARY(exp2, all);
  UNARY(expm1, all);
  UNARY(sin, all);
  UNARY(cos, all);
  UNARY(sinh, all);
  UNARY(cosh, all);
  UNARY(square, all);
  UNARY(log1p, (Doubles{0, 0.25, 1, 3}));
  UNARY(erf_inv, (Doubles{0, 0.25, -0.5}));
  UNARY(atanh, (Doubles{0, 0.25, -0.5}));
  UNARY(tan, (Doubles{0, 0.25, -1}));
  UNARY(sinc, (Doubles{0, 1e-4, -0.25, 0.3183098, 0.3183099, 1, -1, 3}));
  UNARY(logit, (Doubles{0.25, 0.3, 0.5, 0.7, 0.9}));
  UNARY(entr, positive);
  UNARY(lgamma, (Doubles{0.25, 0.5, 1, 2, 3, 10, -0.5, -1.25}));
  UNARY(digamma, (Doubles{0.25, 0.5, 1, 1.4616321449683622, 2, 3, 10, -0.5, -1.25}));
#undef UNARY
  add("logaddexp(x, 0)", [](const Array& x) { return logaddexp(x, c(0)); }, all);
  add("logaddexp(1, x)", [](const Array& x) { return logaddexp(c(1), x); }, all);
  add("logaddexp(x, x)", [](const Array& x) { return logaddexp(x, x); }, all);
  add("logaddexp(x, -x)", [](const Array& x) { return logaddexp(x, -x); }, all);
  add("logaddexp(x, -inf)", [](const Array& x) { return logaddexp(x, c(-kInf)); }, all);
  add("logaddexp2(x, 0)", [](const Array& x) { return logaddexp2(x, c(0)); }, all);
  add("logaddexp2(x, x x)", [](const Array& x) { return logaddexp2(x, x * x); }, all);
  add("logsumexp(x, 0)", [](const Array& x) { return logsumexp(stack({x, c(0)})); }, all);
  add("logsumexp(x, -x, 0)", [](const Array& x) { return logsumexp(stack({x, -x, c(0)})); }, all);
  add("softmax(x, 0)", [](const Array& x) { return softmax(stack({x, c(0)}))[{0}]; }, all);
  add("log_softmax(x, 0)", [](const Array& x) { return log_softmax(stack({x, c(0)}))[{0}]; }, all);
  add("cumlogsumexp(x, 0, x)", [](const Array& x) { return sum(cumlogsumexp(stack({x, c(0), x}))); }, all);
  add("cumlogsumexp(-inf, x)", [](const Array& x) { return cumlogsumexp(stack({c(-kInf), x}))[{1}]; }, all);
  add("hypot(x, 1)", [](const Array& x) { return hypot(x, c(1)); }, all);
  add("atan2(x, 1)", [](const Array& x) { return atan2(x, c(1)); }, all);
  add("pow(x, 3)", [](const Array& x) { return pow(x, c(3)); }, all);
  add("prod(x, 0, x)", [](const Array& x) { return prod(stack({x, c(0), x})); }, all);
  add("cumprod(x, 0, x)", [](const Array& x) { return sum(cumprod(stack({x, c(0), x}))); }, all);
  add("var(x, 0, 1)", [](const Array& x) { return var(stack({x, c(0), c(1)})); }, all);
  add("xlogy(x, x)", [](const Array& x) { return xlogy(x, x); }, positive);
  add("xlog1py(x, x)", [](const Array& x) { return xlog1py(x, x); }, positive);
  add("rel_entr(x, 1)", [](const Array& x) { return rel_entr(x, c(1)); }, positive);
  add("rel_entr(2, x)", [](const Array& x) { return rel_entr(c(2), x); }, positive);
  add("kl_div(x, 1)", [](const Array& x) { return kl_div(x, c(1)); }, positive);
  add("betaln(x, 1)", [](const Array& x) { return betaln(x, c(1)); }, {0.25, 1, 2, 9.5, 10, 12});
  add("betaln(x, x)", [](const Array& x) { return betaln(x, x); }, {0.25, 1, 2, 9.5, 10, 12});
  add("betaln(x, 12)", [](const Array& x) { return betaln(x, c(12)); }, {0.25, 1, 2, 9.5, 10, 12});
  return list;
}

// Each derivative is what the one before it changes by.
TEST_P(Ties, SmoothFunctionsAreDifferentiatedAsSuch) {
  constexpr double h = 1e-5;
  for (const auto& [name, f, points] : smooth_functions()) {
    Doubles moved;
    for (const double p : points) {
      moved.push_back(p);
      moved.push_back(p + h);
      moved.push_back(p - h);
    }
    const auto orders_of = [&f = f](const Array& x) {
      std::vector<Array> orders;
      Function g = f;
      for (int order = 0; order <= 3; ++order, g = derivative(g)) orders.push_back(vmap(g)(x));
      return orders;
    };
    const std::vector<Array> values = GetParam() ? orders_of(array(moved)) : jit(orders_of)(array(moved));
    for (size_t order = 1; order <= 3; ++order) {
      const Doubles before = values[order - 1].to_vector<double>(), now = values[order].to_vector<double>();
      for (size_t i = 0; i < points.size(); ++i) {
        const double slope = (before[3 * i + 1] - before[3 * i + 2]) / (2 * h);
        EXPECT_NEAR(now[3 * i], slope, 1e-5 * (1 + std::abs(slope)))
            << name << " at " << points[i] << ", derivative " << order;
      }
    }
  }
}

TEST_P(Ties, LogisticLoss) {
  const Array x = reshape(arange(6, f64), {3, 2}) - 2.0, y = array({1.0, 0.0, 1.0});
  const auto loss = [&](const Array& w) {
    const Array z = matmul(x, w);
    return sum(softplus(z) - y * z);
  };
  const Doubles want = (matmul(transpose(x), x) * 0.25).to_vector<double>();
  EXPECT_EQ(hessian(loss)(zeros({2}, f64)).to_vector<double>(), want);
}

TEST_P(Ties, SumsOfExponentials) {
  const auto plus = [](const Array& x) { return softplus(x); };
  expect_derivatives("softplus", plus, 0, {std::log(2.0), 0.5, 0.25, 0, -0.125});
  expect_derivatives("softplus", plus, kInf, {kInf, 1, 0, 0});
  expect_derivatives("softplus", plus, -kInf, {0, 0, 0, 0});
  expect_derivatives("softplus", plus, -40, {std::exp(-40.0), std::exp(-40.0), std::exp(-40.0)}, 1e-30);
  expect_derivatives("softplus", plus, kNaN, {kNaN, kNaN, kNaN, kNaN});
  const double s = std::log(2.0);
  expect_derivatives("logaddexp2", [](const Array& x) { return logaddexp2(x, c(0)); }, 0, {1, 0.5, s / 4, 0});
  // Equal infinities: all of the derivative is somewhere, as that of a maximum.
  for (const double inf : {kInf, -kInf}) {
    const auto [dx, dy] = grad<0, 1>([](const Array& x, const Array& y) { return logaddexp(x, y); })(c(inf), c(inf));
    EXPECT_EQ(dx.item<double>() + dy.item<double>(), 1);
  }
  for (const auto& [x, y] : {std::pair{kNaN, 1.0}, {1.0, kNaN}, {kNaN, kInf}, {kInf, kNaN}}) {
    const auto both = [](const Array& a, const Array& b) { return logaddexp(a, b); };
    EXPECT_TRUE(std::isnan(both(c(x), c(y)).item<double>()));
    const auto [dx, dy] = grad<0, 1>(both)(c(x), c(y));
    EXPECT_TRUE(std::isnan(dx.item<double>()) && std::isnan(dy.item<double>())) << x << ' ' << y;
  }
}

TEST_P(Ties, BendsAndPolesAreAsInJax) {
  const auto floor_by_zero = [](const Array& x) { return floor_divide(x, c(0)); };
  expect_derivatives("floor_divide(x, 0)", floor_by_zero, 1, {kInf, 0, 0});
  expect_derivatives("floor_divide(x, 0)", floor_by_zero, kInf, {kInf, 0, 0});
  expect_derivatives("floor_divide(1, x)", [](const Array& x) { return floor_divide(c(1), x); }, 0, {kInf, 0, 0});
  const auto entropy = [](const Array& x) { return entr(x); };
  expect_derivatives("entr", entropy, 0, {0, kInf, -kInf, kInf});
  expect_derivatives("logit", [](const Array& x) { return logit(x); }, 0, {-kInf, kInf, -kInf});
  expect_derivatives("logit", [](const Array& x) { return logit(x); }, 1, {kInf, kInf, kInf});
  expect_derivatives("digamma", [](const Array& x) { return digamma(x); }, -1, {kNaN, kInf});
  expect_derivatives("digamma", [](const Array& x) { return digamma(x); }, -40, {kNaN, kInf});
  const auto silu = [](const Array& x) { return hard_silu(x); };
  expect_derivatives("hard_silu", silu, 3, {3, 1, 0});
  expect_derivatives("hard_silu", silu, -3, {0, 0, 0});
  expect_derivatives("hard_silu", silu, 0, {0, 0.5, 1.0 / 3, 0});
  expect_derivatives("hard_silu", silu, kInf, {kInf, 1, 0, 0});
  expect_derivatives("hard_silu", silu, -kInf, {kNaN, 0, 0, 0});
  for (const double bend : {0.0, 6.0, kInf, -kInf})
    expect_derivatives("relu6", [](const Array& x) { return relu6(x); }, bend, {std::clamp(bend, 0.0, 6.0), 0, 0});
  for (const double bend : {-3.0, 3.0})
    expect_derivatives("hard_sigmoid", [](const Array& x) { return hard_sigmoid(x); }, bend,
                       {bend > 0 ? 1.0 : 0.0, 0, 0});
  expect_derivatives("fmax(x, 0)", [](const Array& x) { return fmax(x, c(0)); }, 0, {0, 0, 0});
  expect_derivatives("fmin(x, NaN)", [](const Array& x) { return fmin(x, c(kNaN)); }, 2, {2, 1, 0});
  expect_derivatives("maximum(x, 0)", [](const Array& x) { return maximum(x, c(0)); }, 0, {0, 0.5, 0});
  expect_derivatives("max(x, 0)", [](const Array& x) { return max(stack({x, c(0)})); }, 0, {0, 0.5, 0});
  expect_derivatives("max(x, 0)", [](const Array& x) { return max(stack({x, c(0)})); }, kNaN, {kNaN, kNaN});
  expect_derivatives("rel_entr(x, 2)", [](const Array& x) { return rel_entr(x, c(2)); }, 0, {0, 0, 0});
  expect_derivatives("xlogy(0, x)", [](const Array& x) { return xlogy(c(0), x); }, 3, {0, 0, 0});
  EXPECT_TRUE(std::isnan(xlogy(c(0), c(kNaN)).item<double>()));
  EXPECT_TRUE(std::isnan(xlog1py(c(0), c(kNaN)).item<double>()));
}

// What stands for elements that are not there (below a triangle, beyond the end, NaN) has no part in a tie.
TEST_P(Ties, RunningExtremesLoseNothing) {
  const auto rows = [](const Function& f, const Array& x) { return jacrev(f)(x).to_vector<double>(); };
  const Function up = [](const Array& x) { return cummax(x); }, down = [](const Array& x) { return cummin(x); };
  EXPECT_EQ(rows(up, array({-kInf, 0.0, 1.0})), (Doubles{1, 0, 0, 0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(rows(down, array({kInf, 0.0, -1.0})), (Doubles{1, 0, 0, 0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(rows(up, array({-kInf, -kInf, 0.0})), (Doubles{1, 0, 0, 0.5, 0.5, 0, 0, 0, 1}));
  EXPECT_EQ(rows(up, array({kInf, kInf, 1.0})), (Doubles{1, 0, 0, 0.5, 0.5, 0, 0.5, 0.5, 0}));
  const Function logs = [](const Array& x) { return cumlogsumexp(x); };
  const Doubles got = rows(logs, array({-kInf, 0.0, 1.0}));
  const double share = 1 / (1 + std::exp(1.0));
  const Doubles want{1, 0, 0, 0, 1, 0, 0, share, 1 - share};
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << i;
  // The derivatives of n running results are n in all, whatever the elements and however many blocks.
  for (const double value : {-kInf, kInf, 0.0}) {
    for (const int64_t n : {1, 3, 32, 33, 100, 1100}) {
      for (const Function& f : {up, down, logs}) {
        double total = 0;
        for (const double d : gradient(f, full({n}, value, f64))) total += d;
        EXPECT_NEAR(total, static_cast<double>(n), 1e-9 * static_cast<double>(n)) << value << ' ' << n;
      }
    }
  }
  EXPECT_EQ(gradient([](const Array& x) { return nanmax(x); }, array({kNaN, -kInf, -kInf})), (Doubles{0, 0.5, 0.5}));
  EXPECT_EQ(gradient([](const Array& x) { return nanmin(x); }, array({kNaN, kInf})), (Doubles{0, 1}));
}

struct Pooled {
  Doubles x;
  int64_t window, stride, padding;
  Doubles gradient;
};

TEST_P(Ties, PooledExtremesGoToTheFirst) {
  const Pooled cases[] = {
      {{0, 0, 0, 0}, 2, 1, 0, {1, 1, 1, 0}},
      {{0, 0, 0, 0}, 3, 1, 1, {2, 1, 1, 0}},
      {{0, 0, 0, 0}, 3, 1, 3, {3, 1, 1, 1}},
      {{-kInf, -kInf, -kInf, -kInf}, 2, 1, 0, {1, 1, 1, 0}},
      {{-kInf, -kInf, -kInf, -kInf}, 3, 1, 1, {2, 1, 1, 0}},
      {{-kInf, 1, 2, 3}, 2, 2, 1, {1, 0, 1, 1}},
      {{-kInf, -kInf, 1, -kInf}, 2, 1, 0, {1, 0, 2, 0}},
      {{kInf, kInf, 1, 1}, 3, 1, 1, {2, 1, 1, 0}},
  };
  for (const Pooled& p : cases) {
    const Windows windows{.stride = {p.stride}, .padding = {{p.padding, p.padding}}};
    const Function most = [&](const Array& x) { return max_pool(x, {p.window}, windows); };
    const Function least = [&](const Array& x) { return min_pool(x, {p.window}, windows); };
    const Array x = array(p.x);
    EXPECT_EQ(gradient(most, x), p.gradient) << testing::PrintToString(p.x) << p.window << p.padding;
    EXPECT_EQ(gradient(least, -x), p.gradient) << testing::PrintToString(p.x) << p.window << p.padding;
    const Array t = arange(1, 5, 1, f64);
    EXPECT_EQ(sum(jvp(most, x, t).tangent).item<double>(), sum(t * array(p.gradient)).item<double>());
  }
}

TEST_P(Ties, Quantiles) {
  const auto middle = [](const Array& x) { return median(x); };
  EXPECT_EQ(gradient(middle, array({1.0, 2.0, 2.0, 3.0})), (Doubles{0, 0.5, 0.5, 0}));
  EXPECT_EQ(gradient(middle, array({1.0, 2.0, 2.0, 2.0, 3.0})), (Doubles{0, 0, 1, 0, 0}));
  const Doubles third = gradient([](const Array& x) { return quantile(x, 0.3); }, array({1.0, 2.0, 2.0, 2.0, 3.0}));
  EXPECT_NEAR(third[1], 0.8, 1e-12);
  EXPECT_NEAR(third[2], 0.2, 1e-12);
  const Array x = array({1.0, 2.0, 4.0});
  for (const double q : {kNaN, kInf, -kInf}) EXPECT_TRUE(std::isnan(quantile(x, c(q)).item<double>())) << q;
  EXPECT_EQ(quantile(x, c(-1)).item<double>(), 1);
  EXPECT_EQ(quantile(x, c(2)).item<double>(), 4);
  EXPECT_EQ(quantile(array({-kInf, -kInf, 1.0, kInf, kInf}), array({0.0, 0.125, 0.5, 0.9})).to_vector<double>(),
            (Doubles{-kInf, -kInf, 1, kInf}));
}

// NaN in the operand of a running extreme or an activation: only what it reaches, alike in both modes.
TEST_P(Ties, NaNReachesTheResultsAfterIt) {
  const Array x = array({1.0, kNaN, 2.0});
  for (const Function& f :
       {Function([](const Array& v) { return cummax(v); }), Function([](const Array& v) { return cummin(v); })}) {
    const Doubles by_rows = jacrev(f)(x).to_vector<double>(), by_columns = jacfwd(f)(x).to_vector<double>();
    EXPECT_EQ(by_columns[0], 1);
    for (size_t i = 0; i < by_rows.size(); ++i) {
      EXPECT_EQ(std::isnan(by_rows[i]), std::isnan(by_columns[i])) << i;
      if (!std::isnan(by_rows[i])) EXPECT_EQ(by_rows[i], by_columns[i]) << i;
      if (i < 3) EXPECT_EQ(by_rows[i], i == 0 ? 1 : 0) << i;
    }
  }
}

// Where a formula is not used, its derivative is not either: a zero times an infinity would be NaN in one mode alone.
TEST_P(Ties, BothModesAgreeOutsideTheDomain) {
  const auto entropy = [](const Array& x) { return entr(x); };
  for (const double x : {-1.0, -2.5}) expect_derivatives("entr", entropy, x, {-kInf, 0, 0});
  for (const auto& [a, b] : {std::pair{1.0, kInf}, {kInf, 1.0}, {kInf, kInf}, {0.5, kInf}, {20.0, kInf}}) {
    const auto first = [b = b](const Array& x) { return betaln(x, c(b)); };
    const auto second = [a = a](const Array& x) { return betaln(c(a), x); };
    expect_same(grad(first)(c(a)).item<double>(), forward(first)(c(a)).item<double>(), 0, "betaln's first");
    expect_same(grad(second)(c(b)).item<double>(), forward(second)(c(b)).item<double>(), 0, "betaln's second");
    EXPECT_EQ(first(c(a)).item<double>(), -kInf);
  }
  expect_derivatives("rel_entr(NaN, 1)", [](const Array& x) { return rel_entr(x, c(1)); }, kNaN, {kNaN});
  expect_derivatives("rel_entr(1, NaN)", [](const Array& x) { return rel_entr(c(1), x); }, kNaN, {kNaN});
}

// An infinite largest one takes no more memory than the exponentials of the rest.
TEST(CumLogSumExp, Peak) {
  const Array x = spec({1 << 22}, f32);
  const auto bytes = static_cast<double>((1 << 22) * 4);
  const auto value = jit([](const Array& v) { return cumlogsumexp(v); }).plan(x);
  EXPECT_LE(static_cast<double>(value.peak_bytes()), 3.2 * bytes) << value;
  const auto slope = jit(grad([](const Array& v) { return sum(cumlogsumexp(v)); })).plan(x);
  EXPECT_LE(static_cast<double>(slope.peak_bytes()), 4.3 * bytes) << slope;
}

INSTANTIATE_TEST_SUITE_P(Each, Ties, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Reference" : "Compiled"; });

}  // namespace
}  // namespace neap
