// Functions with a derivative of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>

namespace neap {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using Floats = std::vector<float>;

Floats values(const Array& x) { return x.to_vector<float>(); }

auto softplus() {
  return custom_jvp([](const Array& x) { return log1p(exp(x)); },
                    [](const Array& x, const Array& dx) { return dx * sigmoid(x); });
}

TEST(CustomJvp, ReplacesTheDerivative) {
  const auto f = softplus();
  EXPECT_NEAR(f(array(0.5f)).item<float>(), std::log1p(std::exp(0.5f)), 1e-6);  // outside of any transform
  EXPECT_EQ(grad(f)(array(100.0f)).item<float>(), 1);
  EXPECT_TRUE(std::isnan(grad([](const Array& x) { return log1p(exp(x)); })(array(100.0f)).item<float>()));
  const auto [y, dy] = jvp(f, array(0.0f), array(3.0f));
  EXPECT_FLOAT_EQ(dy.item<float>(), 1.5f);
}

TEST(CustomJvp, ComposesWithEveryTransform) {
  const auto f = softplus();
  const auto plain = [](const Array& x) { return log1p(exp(x)); };
  const auto total = [](auto g) { return [g](const Array& x) { return sum(g(x) * x); }; };
  const Array x = array({-1.0f, 0.3f, 2.0f});
  const auto near = [&](const Array& a, const Array& b) {
    EXPECT_THAT(values(a), Pointwise(FloatNear(2e-5f), values(b)));
  };
  near(grad(total(f))(x), grad(total(plain))(x));
  near(jit(grad(total(f)))(x), grad(total(plain))(x));
  near(vmap(grad(f))(x), vmap(grad(plain))(x));
  near(grad(total(vmap(f)))(x), grad(total(plain))(x));
  near(grad(total(jit(f)))(x), grad(total(plain))(x));
  near(hessian(total(f))(x), hessian(total(plain))(x));
  near(jacrev(f)(x), jacfwd(plain)(x));
  near(vmap(grad(grad(grad(f))))(x), vmap(grad(grad(grad(plain))))(x));
  const auto looped = [](auto g) {
    return [g](const Array& v) { return sum(fori_loop(0, 3, [&](const Array&, const Array& c) { return g(c); }, v)); };
  };
  near(grad(looped(f))(x), grad(looped(plain))(x));
  const eager_reference reference;
  near(grad(total(f))(x), grad(total(plain))(x));
}

struct Scaled {
  Array value, scale;
};

TEST(CustomJvp, TakesTreesAndIntegersAndClosures) {
  const Array weight = array({1.0f, 10.0f});
  const auto f = custom_jvp(
      [&](const Scaled& s, const Array& rows) { return Scaled{take(s.value, rows) * s.scale, sum(s.value * weight)}; },
      [&](const Scaled&, const Array&, const Scaled& ds, const Array& no) {
        return Scaled{take(ds.value, no) + ds.scale, 7.0f * sum(ds.value * weight)};
      });
  const auto loss = [&](const Scaled& s, const Array& rows) {
    const Scaled r = f(s, rows);
    return sum(r.value) + r.scale;
  };
  const Scaled s{array({2.0f, 3.0f}), array(4.0f)};
  const Array rows = array({1, 0, 1});
  EXPECT_FLOAT_EQ(loss(s, rows).item<float>(), 4 * 8 + 32);
  const Scaled d = jit(grad(loss))(s, rows);
  EXPECT_THAT(values(d.value), ElementsAre(7 + 3, 70));  // zeros stand for the tangent of integers: row 0 three times
  EXPECT_EQ(d.scale.item<float>(), 3);
  // The scale is the same for every example: its cotangents add up.
  const Scaled each = vmap(grad(loss), {.in_axes = {none, 0}})(s, array({{1, 0}, {1, 1}}));
  EXPECT_THAT(values(each.scale), ElementsAre(2, 2));
  const auto batch = [&](const Scaled& t) {
    return sum(vmap(loss, {.in_axes = {none, 0}})(t, array({{1, 0}, {1, 1}})));
  };
  EXPECT_EQ(grad(batch)(s).scale.item<float>(), 4);
}

TEST(CustomJvp, SaysWhatIsWrong) {
  const auto message = [](auto&& run) -> std::string {
    try {
      run();
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  };
  const auto id = [](const Array& x) { return x * 2.0f; };
  const Array x = array({1.0f, 2.0f});
  const auto loss = [](auto f) { return grad([f](const Array& v) { return sum(f(v)); }); };
  EXPECT_THAT(message([&] { loss(custom_jvp(id, [](const Array&, const Array& t) { return sum(t); }))(x); }),
              HasSubstr("tangent 0 is f32[]"));
  EXPECT_THAT(message([&] { loss(custom_jvp(id, [](const Array&, const Array& t) { return t * t; }))(x); }),
              HasSubstr("linear"));
  EXPECT_THAT(message([&] { loss(custom_jvp(id, [](const Array&, const Array& t) { return sin(t); }))(x); }),
              HasSubstr("linear"));
  EXPECT_THAT(message([&] { jvp(custom_jvp(id, [](const Array&, const Array& t) { return t + 1.0f; }), x, x); }),
              HasSubstr("linear"));
  EXPECT_THAT(message([&] { jvp(custom_jvp(id, [](const Array& y, const Array&) { return y; }), x, x); }),
              HasSubstr("linear"));
  EXPECT_THAT(message([&] {
                jvp(custom_jvp(id, [](const Array&, const Array& t) { return t.astype(i32).astype(f32); }), x, x);
              }),
              HasSubstr("linear"));
  const auto closes = grad([&](const Array& v) {
    return sum(custom_jvp([v](const Array& y) { return y * v; }, [](const Array&, const Array& t) { return t; })(x));
  });
  EXPECT_THAT(message([&] { closes(x); }), HasSubstr("closes over"));
}

// Its rule calls it.
Array recursive_exp(const Array& x) {
  return custom_jvp([](const Array& y) { return exp(y); },
                    [](const Array& y, const Array& t) { return t * recursive_exp(y); })(x);
}

TEST(CustomJvp, MayCallItsFunctionInItsRule) {
  const Array x = array(0.5f);
  const float e = std::exp(0.5f);
  EXPECT_NEAR(grad(recursive_exp)(x).item<float>(), e, 1e-6);
  EXPECT_NEAR(jit(grad(grad(grad(grad(recursive_exp)))))(x).item<float>(), e, 1e-6);
  EXPECT_THROW(grad(grad(grad(grad(grad(recursive_exp)))))(x), UserError);
  EXPECT_NEAR(vmap(recursive_exp)(array({0.5f}))[0].item<float>(), e, 1e-6);
}

// Rules with loops and branches: what they decide by x is right, by a tangent an error with its line.
TEST(CustomJvp, IsLinearInLoops) {
  using Step = std::function<Array(const Array& i, const Array& x, const Array& t)>;
  const auto with = [](const Step& step) {
    return custom_jvp([](const Array& x) { return x * 1.0f; },
                      [=](const Array& x, const Array& t) {
                        return fori_loop(0, 3, [&](const Array& i, const Array& v) { return step(i, x, v); }, t);
                      });
  };
  const auto slope = [](auto f) { return grad([f](const Array& v) { return sum(f(v) * array({1.0f, 3.0f})); }); };
  const Array x = array({2.0f, 5.0f});
  const auto doubled = [](const Array& i, const Array&, const Array& t) { return where(i > 0, t + t, t); };
  EXPECT_EQ(slope(with(doubled))(x).to_vector<float>(), (std::vector<float>{4, 12}));
  const auto turned = [](const Array& i, const Array& v, const Array& t) {
    const auto inner = [&](const Array& j, const Array& u) { return take(u, argsort(v * (1 - 2 * (j % 2)))); };
    return cond(
        i > 0, [](const Array& u) { return u * 2.0f; }, [](const Array& u) { return u; }, fori_loop(0, 3, inner, t));
  };
  EXPECT_EQ(slope(with(turned))(x).to_vector<float>(), (std::vector<float>{12, 4}));
  // Zeros from outside, and counters that go through loops and branches.
  const auto masked = [](const Array&, const Array& v, const Array& t) {
    const Array zero = zeros_like(t);
    return fori_loop(
               0, 2, [&](const Array&, const Array& u) { return where(v > 3, u, zero); }, t) +
           cond(
               v[0] > 3, [&](const Array& u) { return where(v > 3, u, zero); },
               [&](const Array& u) { return u * 0.5f + zero.at({array(0)}).set(u[1]); }, t);
  };
  EXPECT_EQ(slope(with(masked))(x).to_vector<float>(),
            (std::vector<float>{0.125f, 13.375f}));  // thrice of 1/2 1; 0 3/2
  using Pair = std::pair<Array, Array>;
  const auto counted = [](const Array&, const Array&, const Array& t) {
    const auto more = [](const Pair& c) { return c.first < 3; };
    const auto step = [](const Pair& c) {
      return cond(
          c.first % 2 == 0, [](const Pair& d) { return Pair(d.first + 1, d.second * 2.0f); },
          [](const Pair& d) { return Pair(d.first + 1, d.second); }, c);
    };
    const auto twice = [&](const Array&, const Pair& c) {
      const Pair d = fori_loop(0, 2, [&](const Array&, const Pair& e) { return step(e); }, c);
      return Pair(d.first, where(d.first > 3, d.second, d.second * 0.5f));
    };
    return fori_loop(0, 3, twice, Pair(zeros({}, i32), t)).second +
           while_loop(more, step, Pair(zeros({}, i32), t)).second;
  };
  const Array forward = jvp(with(counted), x, ones({2})).tangent;
  EXPECT_EQ(forward.to_vector<float>(), (std::vector<float>{512, 512}));
  const auto message = [&](const Step& step) -> std::string {
    try {
      slope(with(step))(x);
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(message([](const Array&, const Array&, const Array& t) { return t * t; }), HasSubstr("multiply of what"));
  EXPECT_THAT(message([](const Array&, const Array&, const Array& t) { return take(t, argsort(t)); }),
              HasSubstr("argsort of what depends on a tangent"));
  EXPECT_THAT(message([](const Array&, const Array&, const Array& t) {
                return cond(t[0] > 0, [](const Array& u) { return u * 2.0f; }, [](const Array& u) { return u; }, t);
              }),
              HasSubstr("greater of what depends on a tangent"));
  EXPECT_THAT(message([](const Array& i, const Array&, const Array& t) {
                return cond(i > 0, [](const Array& u) { return sin(u); }, [](const Array& u) { return u; }, t);
              }),
              HasSubstr("sin of what depends on a tangent"));
}

TEST(CustomJvp, MayCallFunctionsWithRulesOnTangents) {
  const auto twice =
      custom_jvp([](const Array& x) { return x * 2.0f; }, [](const Array&, const Array& t) { return t * 2.0f; });
  const auto product = custom_vjp([](const Array& x) { return x * 3.0f; },
                                  [](const Array& x) { return std::pair{x * 3.0f, std::tuple{}}; },
                                  [](const std::tuple<>&, const Array& ct) { return ct * 3.0f; });
  const auto f = custom_jvp([](const Array& x) { return sin(x); },
                            [=](const Array& x, const Array& t) { return twice(product(t)) * cos(x); });
  EXPECT_FLOAT_EQ(grad(f)(array(0.0f)).item<float>(), 6);
  EXPECT_FLOAT_EQ(jit(grad(grad(f)))(array(1.0f)).item<float>(), -6 * std::sin(1.0f));
}

auto clipped_gradient() {
  return custom_vjp([](const Array& x) { return x * 1.0f; },
                    [](const Array& x) { return std::pair{x * 1.0f, std::tuple{}}; },
                    [](const std::tuple<>&, const Array& ct) { return clip(ct, -1.0f, 1.0f); });
}

TEST(CustomVjp, ReplacesTheReverse) {
  const auto f = clipped_gradient();
  const auto loss = [&](const Array& x) { return sum(f(x) * array({0.5f, 20.0f, -3.0f})); };
  const Array x = array({1.0f, 2.0f, 3.0f});
  EXPECT_THAT(values(grad(loss)(x)), ElementsAre(0.5f, 1, -1));
  EXPECT_THAT(values(jit(grad(loss))(x)), ElementsAre(0.5f, 1, -1));
  EXPECT_THAT(values(vmap(grad([&](const Array& v, const Array& w) { return f(v) * w; }))(x, x)), ElementsAre(1, 1, 1));
  const auto mapped = [&](const Array& v) { return sum(vmap(f)(v) * array({0.5f, 20.0f, -3.0f})); };
  EXPECT_THAT(values(grad(mapped)(x)), ElementsAre(0.5f, 1, -1));
  EXPECT_THAT(values(f(x)), ElementsAre(1, 2, 3));
}

// x * y with cotangents that are told from the true ones by a factor.
auto marked_product() {
  return custom_vjp([](const Array& x, const Array& y) { return x * y; },
                    [](const Array& x, const Array& y) { return std::pair{x * y, std::pair{x, y}}; },
                    [](const std::pair<Array, Array>& xy, const Array& ct) {
                      return std::tuple{2.0f * ct * xy.second, 3.0f * ct * xy.first};
                    });
}

TEST(CustomVjp, ComposesWithVmapLoopsAndItself) {
  const auto f = marked_product();
  const Array x = array({2.0f, 3.0f}), y = array(5.0f);
  const auto [dx, dy] = grad<0, 1>(
      [&](const Array& a, const Array& b) { return sum(vmap([&](const Array& v) { return f(v, b); })(a)); })(x, y);
  EXPECT_THAT(values(dx), ElementsAre(10, 10));
  EXPECT_EQ(dy.item<float>(), 15);  // the whole argument's cotangents add up
  const auto [ex, ey] =
      grad<0, 1>([&](const Array& a, const Array& b) { return sum(vmap(f, {.in_axes = {0, none}})(a, b)); })(x, y);
  EXPECT_THAT(values(ex), ElementsAre(10, 10));
  EXPECT_EQ(ey.item<float>(), 15);
  // d/dx (2 y x') of the reverse pass, which is differentiated as written.
  const auto second = grad([&](const Array& b) { return grad([&](const Array& a) { return f(a, b); })(array(7.0f)); });
  EXPECT_EQ(second(y).item<float>(), 2);
  const auto loop = [&](const Array& a) {
    return fori_loop(0, 3, [&](const Array&, const Array& c) { return f(c, array(1.0f)); }, a);
  };
  EXPECT_EQ(jit(grad(loop))(array(1.0f)).item<float>(), 8);
}

TEST(CustomVjp, KeepsWhatIsTheSameForAllExamplesOnce) {
  const auto f =
      custom_vjp([](const Array& x, const Array& w) { return matmul(x, w); },
                 [](const Array& x, const Array& w) { return std::pair{matmul(x, w), std::pair{x, w * 2.0f}}; },
                 [](const std::pair<Array, Array>& xw, const Array& ct) {
                   return std::tuple{matmul(xw.second, ct), ct * xw.first[slice(0, 1)] + xw.second * 0.0f};
                 });
  const auto loss = [&](const Array& x, const Array& w) { return sum(vmap(f, {.in_axes = {0, none}})(x, w)); };
  const Plan plan = jit(grad(loss)).plan(spec({256, 128}, f32), spec({128, 128}, f32));
  EXPECT_LT(plan.peak_bytes(), 256u * 128 * 128 * 4);
}

TEST(CustomVjp, SaysWhatForwardLacks) {
  using Two = std::vector<Array>;
  const auto f =
      custom_vjp([](const Array& x) { return Two{x, x}; }, [](const Array& x) { return std::pair{Two{x}, x}; },
                 [](const Array&, const Two& ct) { return ct[0]; });
  EXPECT_THROW(grad([&](const Array& x) { return f(x)[0]; })(array(1.0f)), ShapeError);
}

TEST(CustomVjp, HasNoForwardDerivative) {
  const auto f = clipped_gradient();
  try {
    jvp(f, array(1.0f), array(1.0f));
    FAIL();
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), HasSubstr("custom_vjp"));
    EXPECT_THAT(e.what(), HasSubstr("custom_test.cpp"));
  }
}

}  // namespace
}  // namespace neap
