// Derivatives where a formula is easily wrong: ties, zeros, infinities, sums of half types, trees of Jacobians.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>
#include <limits>

namespace neap {
namespace {

using Floats = std::vector<float>;
using ::testing::ElementsAre;
using ::testing::FloatNear;
constexpr float kInf = std::numeric_limits<float>::infinity();

class Edges : public ::testing::Test {
  eager_reference reference_;
};

template <class F>
Floats slopes(F f, const Array& x) {
  return grad([&](const Array& v) { return sum(f(v)); })(x).template to_vector<float>();
}
template <class F>
Floats slopes(F f, float x, float y) {
  const auto [dx, dy] = grad<0, 1>([&](const Array& a, const Array& b) { return f(a, b); })(array(x), array(y));
  return {dx.template item<float>(), dy.template item<float>()};
}

TEST_F(Edges, Pow) {
  const auto f = [](const Array& x, const Array& y) { return pow(x, y); };
  EXPECT_EQ(slopes(f, kInf, 0)[0], 0);
  EXPECT_EQ(slopes(f, 0, 0)[0], 0);
  EXPECT_EQ(slopes(f, 1e-40f, 0)[0], 0);
  EXPECT_EQ(slopes(f, 0, 1)[0], 1);
  EXPECT_EQ(slopes(f, -2, 3)[0], 12);
  // d/dy of y x^(y - 1) at y = 0 is 1 / x.
  const auto mixed = grad<1>([&](const Array& x, const Array& y) { return grad(f)(x, y); });
  EXPECT_FLOAT_EQ(mixed(array(4.0f), array(0.0f)).item<float>(), 0.25f);
  const auto second = grad(grad([&](const Array& x) { return pow(x, array(2.0f)); }));
  EXPECT_EQ(second(array(0.0f)).item<float>(), 2);
}

TEST_F(Edges, SignsOfZero) {
  const auto f = [](const Array& x, const Array& y) { return copysign(x, y); };
  EXPECT_EQ(slopes(f, 2, 0), (Floats{1, 0}));
  EXPECT_EQ(slopes(f, 2, -0.0f), (Floats{-1, 0}));
  EXPECT_EQ(slopes(f, -2, 3), (Floats{-1, 0}));
  EXPECT_EQ(slopes([](const Array& x) { return relu(x); }, array({-1.0f, 0.0f, 2.0f})), (Floats{0, 0, 1}));
  EXPECT_TRUE(std::isnan(relu(array(NAN)).item<float>()));
}

TEST_F(Edges, NothingOverflowsOnTheWay) {
  EXPECT_THAT(slopes([](const Array& x) { return asinh(x); }, array({1e20f, -1e20f})),
              ElementsAre(::testing::FloatEq(1e-20f), ::testing::FloatEq(1e-20f)));
  EXPECT_FLOAT_EQ(slopes([](const Array& x) { return acosh(x); }, array({1e20f}))[0], 1e-20f);
  const auto angle = [](const Array& y, const Array& x) { return atan2(y, x); };
  for (const float scale : {1e-25f, 1.0f, 1e25f}) {
    const Floats d = slopes(angle, scale, scale);
    EXPECT_FLOAT_EQ(d[0], 0.5f / scale);
    EXPECT_FLOAT_EQ(d[1], -0.5f / scale);
  }
}

TEST_F(Edges, ZerosAmongTheUpdatesOfAScatteredProduct) {
  // 3 u0 u1 + 5 u2, whose Hessian does not depend on u.
  const auto f = [](const Array& u) { return sum(array({3.0f, 5.0f}).at(array({0, 0, 1})).mul(u)); };
  for (const Array& u :
       {array({0.0f, 0.0f, 2.0f}), array({0.0f, 4.0f, 0.0f}), array({4.0f, 0.0f, 1.0f}), array({2.0f, 4.0f, 1.0f})}) {
    const Floats at = u.to_vector<float>();
    EXPECT_EQ(grad(f)(u).to_vector<float>(), (Floats{3 * at[1], 3 * at[0], 5}));
    EXPECT_EQ(hessian(f)(u).to_vector<float>(), (Floats{0, 3, 0, 3, 0, 0, 0, 0, 0}));
    EXPECT_EQ(jacrev(jacrev(f))(u).to_vector<float>(), (Floats{0, 3, 0, 3, 0, 0, 0, 0, 0}));
  }
  // Three in one cell.
  const auto g = [](const Array& u) { return sum(array({1.0f}).at(array({0, 0, 0})).mul(u)); };
  EXPECT_EQ(hessian(g)(array({0.0f, 0.0f, 5.0f})).to_vector<float>(), (Floats{0, 5, 0, 5, 0, 0, 0, 0, 0}));
  EXPECT_EQ(hessian(g)(array({0.0f, 2.0f, 5.0f})).to_vector<float>(), (Floats{0, 5, 2, 5, 0, 0, 2, 0, 0}));
}

TEST_F(Edges, ScatteredExtremes) {
  const auto f = [](const Array& x, const Array& u) { return sum(x.at(array({1, 1, 7})).max(u)); };
  const auto [dx, du] = grad<0, 1>(f)(array({NAN, 3.0f, 2.0f}), array({3.0f, 3.0f, 0.0f}));
  EXPECT_THAT(dx.to_vector<float>(), ElementsAre(1, FloatNear(1 / 3.0f, 1e-6f), 1));
  EXPECT_THAT(du.to_vector<float>(), ElementsAre(FloatNear(1 / 3.0f, 1e-6f), FloatNear(1 / 3.0f, 1e-6f), 0));
}

struct Weights {
  Array w, b;
};

TEST_F(Edges, JacobiansOfTrees) {
  const Weights p{array({1.0f, 2.0f}), array(3.0f)};
  const auto vector = [](const Weights& v) { return v.w * v.w * v.b; };
  for (const Weights& d : {jacfwd(vector)(p), jacrev(vector)(p)}) {
    EXPECT_EQ(d.w.to_vector<float>(), (Floats{6, 0, 0, 12}));
    EXPECT_EQ(d.w.shape(), (Shape{2, 2}));
    EXPECT_EQ(d.b.to_vector<float>(), (Floats{1, 4}));
  }
  const auto pair = [](const Array& x) { return std::pair{x * x, sum(x)}; };
  for (const auto& d : {jacfwd(pair)(p.w), jacrev(pair)(p.w)}) {
    EXPECT_EQ(d.first.to_vector<float>(), (Floats{2, 0, 0, 4}));
    EXPECT_EQ(d.second.to_vector<float>(), (Floats{1, 1}));
  }
  const auto scalar = [&](const Weights& v) { return sum(vector(v)); };
  const std::vector<Weights> h = hessian(scalar)(p);
  ASSERT_EQ(h.size(), 2u);
  EXPECT_EQ(h[0].w.to_vector<float>(), (Floats{6, 0, 0, 6}));
  EXPECT_EQ(h[0].b.to_vector<float>(), (Floats{2, 4}));
  EXPECT_EQ(h[1].w.to_vector<float>(), (Floats{2, 4}));
  EXPECT_EQ(h[1].b.item<float>(), 0);
  // Under vmap, and with an integer argument beside.
  const auto scaled = [](const Array& n, const Weights& v) { return sum(v.w * v.w) * n + v.b; };
  const Weights each = vmap(jacrev<1>(scaled), {.in_axes = {0, none}})(array({1, 2}), p);
  EXPECT_EQ(each.w.to_vector<float>(), (Floats{2, 4, 4, 8}));
  EXPECT_EQ(each.b.to_vector<float>(), (Floats{1, 1}));
  EXPECT_THROW(jacrev<0>(scaled)(array({1, 2}), p), DTypeError);
  EXPECT_EQ(jacfwd([](const Array& x) { return x * x; })(zeros({0})).shape(), (Shape{0, 0}));
}

TEST_F(Edges, TransformsOfTransforms) {
  const auto f = [](const Array& x) { return sum(x * x * x); };
  const Array x = array({1.0f, 2.0f}), rows = array({{1.0f, 2.0f}, {3.0f, 4.0f}});
  EXPECT_EQ(vmap(hessian(f))(rows).to_vector<float>(), (Floats{6, 0, 0, 12, 18, 0, 0, 24}));
  EXPECT_EQ(grad([&](const Array& v) { return sum(vmap(grad(f))(v)); })(rows).to_vector<float>(),
            (Floats{6, 12, 18, 24}));
  const auto pulled = [&](const Array& v) {
    const auto [y, pullback] = vjp(f, v);
    return pullback(ones_like(y));
  };
  EXPECT_EQ(jvp(pulled, x, array({1.0f, 10.0f})).tangent.to_vector<float>(), (Floats{6, 120}));
  const auto [y, pullback] = vjp([](const Array& v) { return v * v; }, x);
  EXPECT_EQ(vmap([&](const Array& c) { return pullback(c); })(eye(2)).to_vector<float>(), (Floats{2, 0, 0, 4}));
  // An integer carry beside a floating one.
  const auto loop = [](const Array& w) {
    const auto step = [&](const std::pair<Array, Array>& c, const Array& v) {
      return std::pair{std::pair{c.first + 1, c.second * w[{c.first}] + v}, nullptr};
    };
    return scan(step, std::pair{array(0), array(1.0f)}, ones({3})).first.second;
  };
  EXPECT_EQ(grad(loop)(array({2.0f, 3.0f, 4.0f})).to_vector<float>(), (Floats{12, 12, 10}));
}

// Compiled: there a scatter of half types rounds at each addition.
TEST(HalfSums, DerivativesAreAddedUpInF32) {
  constexpr int64_t n = 3000;
  const Array one = ones({}, bf16);
  const Array rows = zeros({n, 1}, i32);
  const auto item = [](const Array& a) { return a.astype(f32).item<float>(); };
  EXPECT_EQ(item(grad([&](const Array& x) { return sum(gather(x, rows)); })(ones({1}, bf16))[{0}]), 3008);  // of bf16
  EXPECT_EQ(item(grad([&](const Array& w) {
              return fori_loop(0, n, [&](const Array&, const Array& c) { return c + w.astype(f32); }, array(0.0f));
            })(one)),
            3008);
  const auto shared = [](const Array& x) { return max(x); };
  const Array many = grad(shared)(zeros({100000}, f16));  // f16 ends at 65504
  EXPECT_NEAR(item(many[{5}]), 1e-5f, 1e-7f);
  const auto scattered = [](const Array& u) { return sum(zeros({1}, bf16).at(zeros({n}, i32)).max(u)); };
  EXPECT_NEAR(item(grad(scattered)(zeros({n}, bf16))[{7}]), 1.0f / (n + 1), 2e-6f);
  // 1.1^4 in bf16, rounded once.
  const Array x = full({5}, 1.1, bf16);
  const float factor = item(x[{0}]);
  EXPECT_EQ(item(grad([](const Array& v) { return prod(v); })(x)[{0}]),
            item(array(std::pow(factor, 4.0f)).astype(bf16)));
}

// A table that is read twice has one gradient of its size, not two that are added.
TEST(Gathers, AddUpInOnePlace) {
  const auto loss = [](const Array& table, const Array& i, const Array& j) {
    return sum(take(table, i, 0) * take(table, j, 0)) + sum(table * table);
  };
  const Array table = reshape(arange(8, f32), {4, 2}), i = array({0, 3, 3}), j = array({1, 3, -1});
  EXPECT_EQ(jit(grad(loss))(table, i, j).to_vector<float>(), (Floats{2, 5, 4, 7, 8, 10, 36, 42}));
  constexpr size_t kTable = size_t{100000} * 64 * 4;
  const Plan plan = jit(grad(loss)).plan(spec({100000, 64}, f32), spec({1000}, i32), spec({1000}, i32));
  EXPECT_LE(plan.peak_bytes(), 2 * kTable + kTable / 10);
}

TEST(Gathers, AreNotLostBesideLargeTerms) {
  const Array i = zeros({1000}, i32);
  const auto loss = [&](const Array& t) { return sum(take(t, i, 0)) + 1e8f * sum(t); };
  EXPECT_EQ(jit(grad(loss))(ones({2})).to_vector<float>(), (Floats{100001000, 1e8f}));
}

}  // namespace
}  // namespace neap
