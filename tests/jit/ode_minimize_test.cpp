// odeint() and minimize(): accuracy, memory, derivatives, what stops them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>

namespace neap {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::Pointwise;

struct Motion {
  Array x, v;
};

Array oscillation(const Array& frequency, const Array& t, const OdeOptions& options = {}) {
  return odeint([&](const Motion& m, const Array&) { return Motion{m.v, -square(frequency) * m.x}; },
                Motion{ones({}, frequency.dtype()), zeros({}, frequency.dtype())}, t, options)
      .x;
}

TEST(Odeint, FollowsAnOscillation) {
  const Array t = linspace(0.0, 20.0, 41, f64), w = array(1.3);
  EXPECT_THAT(oscillation(w, t).to_vector<double>(), Pointwise(DoubleNear(2e-6), cos(w * t).to_vector<double>()));
  const auto f = jit([](const Array& frequency, const Array& times) { return oscillation(frequency, times); });
  EXPECT_THAT(f(w, t).to_vector<double>(), Pointwise(DoubleNear(2e-6), cos(w * t).to_vector<double>()));
  const auto rough = oscillation(w.astype(f32), t.astype(f32), {.rtol = 1e-5, .atol = 1e-5});
  EXPECT_EQ(rough.dtype(), f32);
  EXPECT_THAT(rough.to_vector<double>(), Pointwise(DoubleNear(2e-3), cos(w * t).to_vector<double>()));
}

TEST(Odeint, HasDerivativesInAllThatItDependsOn) {
  // x' = -k x s: x(t) = x0 exp(-k (t^2 - t0^2) / 2)
  const auto last = [](const Array& x0, const Array& t, const Array& k) {
    return sum(odeint([&](const Array& x, const Array& s) { return -k * x * s; }, x0, t)[-1]);
  };
  const Array x0 = array({1.0, 2.0}), t = array({0.5, 1.0, 2.0}), k = array(0.7);
  const double e = std::exp(-0.7 * (4 - 0.25) / 2);
  const auto [of_x, of_t, of_k] = jit(grad<0, 1, 2>(last))(x0, t, k);
  EXPECT_THAT(of_x.to_vector<double>(), Each(DoubleNear(e, 1e-7)));
  EXPECT_THAT(of_t.to_vector<double>(),
              Pointwise(DoubleNear(1e-6), std::vector{3 * e * 0.7 * 0.5, 0.0, -3 * e * 0.7 * 2}));
  EXPECT_NEAR(of_k.item<double>(), -3 * e * (4 - 0.25) / 2, 1e-6);
  const Array second = jacfwd([&](const Array& at) { return grad<2>(last)(x0, t, at); })(k);
  EXPECT_NEAR(second.item<double>(), 3 * e * std::pow((4 - 0.25) / 2, 2), 1e-5);
  const Array each = vmap([&](const Array& at) { return grad<2>(last)(x0, t, at); })(array({0.7, 0.1}));
  EXPECT_NEAR(each[0].item<double>(), of_k.item<double>(), 1e-6);
}

// Where t is large the first step may be shorter than what t can be moved by.
TEST(Odeint, FarFromTheOrigin) {
  const auto last = [](const auto& f, const Array& y0, const Array& t) {
    return odeint(f, y0, t).template to_vector<double>().back();
  };
  const auto decay = [](const Array& y, const Array&) { return 1 - y; };
  EXPECT_NEAR(last(decay, array(0.0f), array({1e5f, 1e5f + 1})), 1 - std::exp(-1), 1e-2);
  EXPECT_EQ(last(decay, array(1.0f), array({1000.0f, 1001.0f})), 1);
  EXPECT_NEAR(last([](const Array&, const Array& t) { return sin(t - 1e9); }, array(1.0), array({1e9, 1e9 + 1})),
              2 - std::cos(1), 1e-6);
  const auto still = [](const Array& y0) {
    return odeint([](const Array& y, const Array&) { return 0 * y; }, y0, array({1e4f, 1e4f + 1}))[-1];
  };
  EXPECT_EQ(grad(still)(array(1.0f)).item<float>(), 1);
}

TEST(Odeint, ComplexNumbersMayBeCaptured) {
  const auto f = [](const Array& z) {
    return odeint([&](const Array& y, const Array&) { return -y * real(z * z); }, array(1.0), array({0.0, 1.0}))[-1];
  };
  const Array z = array(std::complex<double>(1.2, 0.5)), slope = grad(f)(z);
  const double e = std::exp(-(1.44 - 0.25));
  EXPECT_NEAR(real(slope).item<double>(), -2.4 * e, 1e-6);
  EXPECT_NEAR(imag(slope).item<double>(), -1.0 * e, 1e-6);  // df/dx - i df/dy
}

TEST(Odeint, MemoryDoesNotGrowWithTheSteps) {
  const auto f = [](double tolerance) {
    return jit([=](const Array& y0) {
             return odeint([](const Array& y, const Array& t) { return sin(10 * t) * y; }, y0, array({0.0f, 10.0f}),
                           {.rtol = tolerance, .atol = tolerance});
           })
        .plan(spec({1000}, f32))
        .peak_bytes();
  };
  EXPECT_EQ(f(1e-2), f(1e-6));
}

TEST(Odeint, SaysWhereStepsRunOut) {
  const Array t = array({0.0, 0.01, 50.0});
  const std::vector<double> x = oscillation(array(3.0), t, {.mxstep = 10}).to_vector<double>();
  EXPECT_NEAR(x[1], std::cos(0.03), 1e-6);
  EXPECT_TRUE(std::isnan(x[2]));
  const auto back =
      odeint([](const Array& y, const Array&) { return y; }, array(1.0), array({1.0, 0.0, 2.0})).to_vector<double>();
  EXPECT_TRUE(std::isnan(back[1]));  // times ascend
  EXPECT_NEAR(back[2], std::exp(1), 1e-6);
  // Where the equation has no value there is an end, too.
  const Array none = odeint([](const Array& y, const Array&) { return log(y - 2); }, array(1.0), array({0.0, 1.0}));
  EXPECT_TRUE(std::isnan(none.to_vector<double>()[1]));
  EXPECT_EQ(odeint([](const Array& y, const Array&) { return y; }, array(1.0), array({3.0})).to_vector<double>()[0], 1);
}

Array rosenbrock(const Array& x) {
  const Array low = x[{slice(0, -1)}], high = x[{slice(1, end)}];
  return sum(100 * square(high - square(low)) + square(1 - low));
}

TEST(Minimize, FindsTheBottomOfAValley) {
  for (const auto method : {MinimizeMethod::bfgs, MinimizeMethod::lbfgs}) {
    for (const DType dtype : {f32, f64}) {
      const auto found = minimize(rosenbrock, zeros({8}, dtype) - 1.2f, {.method = method});
      if (dtype == f64) EXPECT_TRUE(found.success.item<bool>());  // a gradient of 1e-5 is rounding in f32
      EXPECT_EQ(found.status.item<int>(), found.success.item<bool>() ? 0 : 3);
      EXPECT_THAT(found.x.to_vector<double>(), Each(DoubleNear(1, dtype == f64 ? 1e-5 : 2e-3)));
      EXPECT_LE(found.nit.item<int>(), 120);
      EXPECT_GE(found.nfev.item<int>(), found.nit.item<int>());
    }
  }
}

TEST(Minimize, OfATreeUnderJitAndVmap) {
  const Array targets = array<double>({{1.0, 2.0, 3.0}, {-1.0, 0.5, 0.0}});
  const auto f = [](const Array& target) {
    return minimize([&](const Motion& m) { return sum(square(m.x - target)) + square(m.v - sum(m.x)); },
                    Motion{zeros({3}, f64), zeros({}, f64)});
  };
  const Minimized<Motion> found = jit(vmap(f))(targets);
  EXPECT_THAT(found.x.x.to_vector<double>(), Pointwise(DoubleNear(1e-5), targets.to_vector<double>()));
  EXPECT_THAT(found.x.v.to_vector<double>(), Pointwise(DoubleNear(1e-5), std::vector{6.0, -0.5}));
  EXPECT_EQ(found.hess_inv.shape(), (Shape{2, 4, 4}));
}

TEST(Minimize, SaysWhyItStopped) {
  const auto slope = minimize([](const Array& x) { return sum(x); }, zeros({2}), {.maxiter = 5});  // has no minimum
  EXPECT_FALSE(slope.success.item<bool>());
  EXPECT_EQ(minimize(rosenbrock, zeros({4}), {.maxiter = 2}).status.item<int>(), 1);
  EXPECT_EQ(minimize([](const Array& x) { return sum(x / x * log(-abs(x))); }, ones({2})).status.item<int>(), 3);
  EXPECT_EQ(minimize(rosenbrock, ones({4})).nit.item<int>(), 0);
}

TEST(Minimize, MemoryOfTheMethods) {
  const auto peak = [](MinimizeMethod method) {
    return jit([=](const Array& x) { return minimize(rosenbrock, x, {.method = method}).x; })
        .plan(spec({2000}, f32))
        .peak_bytes();
  };
  EXPECT_LT(peak(MinimizeMethod::lbfgs), 40 * 2000 * 4);
  EXPECT_GT(peak(MinimizeMethod::bfgs), 2000 * 2000 * 4);
}

}  // namespace
}  // namespace neap
