// The public transforms, run by the reference interpreter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>

#include "tests/message.h"

namespace neap {
namespace {

using Floats = std::vector<float>;

struct Params {
  Array w, b;
  int layers = 1;
};

Array model(const Params& p, const Array& x) { return sum(tanh(matmul(x, p.w) + p.b)) * static_cast<float>(p.layers); }

class Transforms : public ::testing::Test {
  eager_reference reference_;
};

TEST_F(Transforms, GradOfAFunction) {
  const Array x = array({1.0f, -2.0f, 3.0f});
  const Array d = grad([](const Array& v) { return sum(v * v * v); })(x);
  EXPECT_EQ(d.to_vector<float>(), (Floats{3, 12, 27}));
}

TEST_F(Transforms, GradOfAStructIsAStruct) {
  const Params p{ones({3, 2}), zeros({2}), 2};
  const Array x = array({{0.1f, 0.2f, 0.3f}});
  const Params d = grad(model)(p, x);
  EXPECT_EQ(d.layers, 2);
  const float slope = 2 * (1 - std::pow(std::tanh(0.6f), 2.0f));
  EXPECT_EQ(d.w.shape(), (Shape{3, 2}));
  EXPECT_NEAR(d.b.to_vector<float>()[1], slope, 1e-6);
  EXPECT_NEAR(d.w.to_vector<float>()[2], 0.2f * slope, 1e-6);
}

TEST_F(Transforms, SeveralArgumentsGiveATuple) {
  const auto f = [](const Array& x, const Array& n, const Array& y) { return sum(x * y * n); };
  const Array x = array({1.0f, 2.0f}), n = array({2, 3}), y = array({5.0f, 7.0f});
  const auto [value, d] = value_and_grad<2, 0>(f)(x, n, y);
  EXPECT_EQ(value.item<float>(), 52);
  const auto [dy, dx] = d;
  EXPECT_EQ(dy.to_vector<float>(), (Floats{2, 6}));
  EXPECT_EQ(dx.to_vector<float>(), (Floats{10, 21}));
}

TEST_F(Transforms, StaticArgumentsPassThrough) {
  const auto f = [](const Array& x, float scale, const std::string& what) {
    return what == "sum" ? sum(x) * scale : prod(x) * scale;
  };
  EXPECT_EQ(grad(f)(array({2.0f, 3.0f}), 10.0f, std::string("prod")).to_vector<float>(), (Floats{30, 20}));
}

TEST_F(Transforms, HigherOrder) {
  const auto f = [](const Array& x) { return x * x * x; };
  const auto d3 = grad(grad(grad(f)));
  EXPECT_EQ(d3(array(2.0f)).item<float>(), 6);
}

TEST_F(Transforms, InnerGradientCapturesTheOuterVariable) {
  // d/dx [x * d/dy (x * y^2) at y = 3] = d/dx [6 x^2] = 12 x; no perturbation confusion.
  const auto f = [](const Array& x) {
    const Array inner = grad([&](const Array& y) { return x * y * y; })(array(3.0f));
    return x * inner;
  };
  EXPECT_EQ(grad(f)(array(5.0f)).item<float>(), 60);
}

TEST_F(Transforms, JvpAndHessianVectorProduct) {
  const auto f = [](const Array& x) { return sum(x * x * x); };
  const Array x = array({1.0f, 2.0f}), v = array({10.0f, 1.0f});
  const auto [value, tangent] = jvp(f, x, v);
  EXPECT_EQ(value.item<float>(), 9);
  EXPECT_EQ(tangent.item<float>(), 42);
  EXPECT_EQ(jvp(grad(f), x, v).tangent.to_vector<float>(), (Floats{60, 12}));
  const auto [p, t] = jvp([](const Array& a, const Array& b) { return std::tuple{a * b, b.astype(i32)}; },
                          std::tuple{x, v}, std::tuple{v, x});
  EXPECT_EQ(std::get<0>(t).to_vector<float>(), (Floats{101, 5}));
  EXPECT_EQ(std::get<1>(t).dtype(), i32);
}

TEST_F(Transforms, VjpOfATree) {
  const auto f = [](const Array& x, const Array& y) { return Params{x * y, sum(x)}; };
  const auto [out, pullback] = vjp(f, array({1.0f, 2.0f}), array({3.0f, 4.0f}));
  EXPECT_EQ(out.w.to_vector<float>(), (Floats{3, 8}));
  const auto [dx, dy] = pullback(Params{array({1.0f, 10.0f}), array(100.0f)});
  EXPECT_EQ(dx.to_vector<float>(), (Floats{103, 140}));
  EXPECT_EQ(dy.to_vector<float>(), (Floats{1, 20}));
}

TEST_F(Transforms, VjpInsideATrace) {
  const auto f = [](const Array& x) {
    const auto [y, pullback] = vjp([](const Array& v) { return sin(v); }, x);
    return sum(y * pullback(ones_like(y)));
  };
  const double x = 0.7;
  EXPECT_NEAR(grad(f)(array(static_cast<float>(x))).item<float>(), std::cos(2 * x), 1e-6);
}

TEST_F(Transforms, Linearize) {
  const auto [y, lin] =
      linearize([](const Array& x) { return std::pair{x * x, 2 * ones_like(x)}; }, array({1.0f, 3.0f}));
  EXPECT_EQ(y.first.to_vector<float>(), (Floats{1, 9}));
  const auto t = lin(array({1.0f, 10.0f}));
  EXPECT_EQ(t.first.to_vector<float>(), (Floats{2, 60}));
  EXPECT_EQ(t.second.to_vector<float>(), (Floats{0, 0}));
}

TEST_F(Transforms, VmapOfGrad) {
  const auto loss = [](const Array& w, const Array& x) { return square(sum(w * x)); };
  const Array w = array({1.0f, 2.0f}), xs = array({{1.0f, 0.0f}, {0.0f, 1.0f}, {1.0f, 1.0f}});
  const Array each = vmap(grad(loss), {.in_axes = {none, 0}})(w, xs);
  EXPECT_EQ(each.shape(), (Shape{3, 2}));
  EXPECT_EQ(each.to_vector<float>(), (Floats{2, 0, 0, 4, 6, 6}));
  // The gradient of the mean of the losses is the mean of the gradients.
  const Array whole = grad([&](const Array& v) { return mean(vmap(loss, {.in_axes = {none, 0}})(v, xs)); })(w);
  EXPECT_THAT(whole.to_vector<float>(), ::testing::Pointwise(::testing::FloatEq(), mean(each, 0).to_vector<float>()));
}

TEST_F(Transforms, VmapAxes) {
  const Array x = reshape(arange(6, f32), {2, 3});
  const auto f = [](const Params& p, int scale) { return Params{p.w * scale, sum(p.b)}; };
  const Params out = vmap(f, {.in_axes = {1, none}, .out_axes = -1})(Params{x, x}, 10);
  EXPECT_EQ(out.w.to_vector<float>(), (Floats{0, 10, 20, 30, 40, 50}));
  EXPECT_EQ(out.b.to_vector<float>(), (Floats{3, 5, 7}));
  EXPECT_EQ(vmap(vmap([](const Array& a, const Array& b) { return a * b; }, {.in_axes = {none, 0}}),
                 {.in_axes = {0, none}})(arange(2, f32), arange(3, f32))
                .to_vector<float>(),
            (Floats{0, 0, 0, 0, 1, 2}));
}

TEST_F(Transforms, Jacobians) {
  const Array a = reshape(arange(6, f32), {2, 3}), x = array({1.0f, 2.0f, 3.0f});
  const auto f = [&](const Array& v) { return matmul(a, v * v); };
  const Floats expected{0, 4, 12, 6, 16, 30};
  EXPECT_EQ(jacfwd(f)(x).to_vector<float>(), expected);
  EXPECT_EQ(jacrev(f)(x).to_vector<float>(), expected);
  EXPECT_EQ(jacrev(f)(x).shape(), (Shape{2, 3}));
  const Array h = hessian([](const Array& v) { return prod(v); })(x);
  EXPECT_EQ(h.to_vector<float>(), (Floats{0, 3, 2, 3, 0, 1, 2, 1, 0}));
}

TEST_F(Transforms, Ties) {
  EXPECT_EQ(grad([](const Array& x) { return max(x); })(array({3.0f, 1.0f, 3.0f})).to_vector<float>(),
            (Floats{0.5, 0, 0.5}));
  EXPECT_EQ(grad([](const Array& x) { return sum(maximum(x, 1.0f)); })(array({1.0f, 2.0f, 0.0f})).to_vector<float>(),
            (Floats{0.5, 1, 0}));
}

TEST_F(Transforms, ZerosInProductsAndPowers) {
  EXPECT_EQ(grad([](const Array& x) { return prod(x); })(array({2.0f, 0.0f, 5.0f})).to_vector<float>(),
            (Floats{0, 10, 0}));
  EXPECT_EQ(grad([](const Array& x) { return prod(x); })(array({0.0f, 0.0f, 5.0f})).to_vector<float>(),
            (Floats{0, 0, 0}));
  const auto power = [](const Array& x, const Array& y) { return sum(pow(x, y)); };
  const auto [dx, dy] = grad<0, 1>(power)(array({0.0f, 0.0f, 2.0f}), array({0.0f, 2.0f, 3.0f}));
  EXPECT_EQ(dx.to_vector<float>(), (Floats{0, 0, 12}));
  EXPECT_EQ(dy.to_vector<float>()[1], 0);
}

TEST_F(Transforms, ClippedGatherSendsItsGradientToTheCellItRead) {
  const auto f = [](const Array& x, const Array& i) {
    return sum(gather(x, i) * array({1.0f, 10.0f, 100.0f, 1000.0f}));
  };
  const Array x = arange(3, f32);
  const Array d = grad(f)(x, reshape(array({-1, 7, -9, 1}), {4, 1}));
  EXPECT_EQ(d.to_vector<float>(), (Floats{100, 1000, 11}));
  const auto filled = [](const Array& v, const Array& i) {
    const Array read = gather(v, i, GatherMode::fill);
    return sum(select(isnan(read), zeros_like(read), read));
  };
  EXPECT_EQ(grad(filled)(x, reshape(array({-1, 7, -9, 1}), {4, 1})).to_vector<float>(), (Floats{0, 1, 1}));
}

TEST_F(Transforms, LastOfRepeatedRowsTakesTheGradient) {
  const Array x = arange(3, f32), i = array({1, 1, 5});
  const auto f = [&](const Array& v, const Array& u) { return sum(v.at(i).set(u) * array({1.0f, 10.0f, 100.0f})); };
  const auto [dx, du] = grad<0, 1>(f)(x, arange(3, f32));
  EXPECT_EQ(dx.to_vector<float>(), (Floats{1, 0, 100}));
  EXPECT_EQ(du.to_vector<float>(), (Floats{0, 10, 0}));
}

TEST_F(Transforms, ThroughConversions) {
  const Array d =
      grad([](const Array& x) { return sum(x.astype(bf16) * x.astype(bf16)).astype(f32); })(array({1.0f, 2.0f}));
  EXPECT_EQ(d.dtype(), f32);
  EXPECT_EQ(d.to_vector<float>(), (Floats{2, 4}));
  EXPECT_EQ(grad([](const Array& x) { return sum(x * stop_gradient(x) + x.astype(i32)); })(array({1.5f, 2.0f}))
                .to_vector<float>(),
            (Floats{1.5, 2}));
}

TEST_F(Transforms, ThroughLoops) {
  const auto f = [](const Array& x, const Array& w) {
    return sum(fori_loop(0, 3, [&](const Array&, const Array& c) { return c * w; }, x));
  };
  const auto [dx, dw] = grad<0, 1>(f)(array({1.0f, 2.0f}), array(2.0f));
  EXPECT_EQ(dx.to_vector<float>(), (Floats{8, 8}));
  EXPECT_EQ(dw.item<float>(), 36);
  EXPECT_EQ(map([](const Array& v) { return sum(v * v); }, reshape(arange(4, f32), {2, 2})).to_vector<float>(),
            (Floats{1, 13}));
  const Array rows = reshape(arange(14, f32), {7, 2});
  const auto weigh = [](const Array& v) { return std::pair{sum(v * v), v}; };
  const auto one = map(weigh, rows);
  for (const int64_t size : {1, 2, 3, 7, 10}) {
    const auto batched = map(weigh, rows, size);
    EXPECT_EQ(batched.first.to_vector<float>(), one.first.to_vector<float>()) << size;
    EXPECT_EQ(batched.second.to_vector<float>(), rows.to_vector<float>()) << size;
  }
}

TEST_F(Transforms, UnusedArgumentsGetZeros) {
  const auto [dx, dy] = grad<0, 1>([](const Array& x, const Array&) { return sum(x); })(ones({2}), ones({3}));
  EXPECT_EQ(dy.to_vector<float>(), (Floats{0, 0, 0}));
}

TEST_F(Transforms, Errors) {
  const auto f = [](const Array& x) { return sum(x); };
  EXPECT_THAT(message_of<DTypeError>([&] { grad(f)(array({1, 2, 3})); }),
              ::testing::StartsWith("grad: argument 0 is i32[3]; expected a floating dtype; "));
  EXPECT_THAT(message_of<ShapeError>([&] { grad([](const Array& x) { return x; })(ones({3})); }),
              ::testing::HasSubstr("returns f32[3]; expected a scalar; reduce it with sum()"));
  EXPECT_THAT(message_of<DTypeError>([&] { grad([](const Array& x) { return sum(x.astype(i32)); })(ones({3})); }),
              ::testing::HasSubstr("returns i32[]"));
  EXPECT_THAT(message_of<ShapeError>([&] { jvp(f, ones({3}), ones({2})); }),
              ::testing::HasSubstr("tangent 0 is f32[2]; expected f32[3]"));
  EXPECT_THAT(message_of<ShapeError>([&] { vjp(f, ones({3})).second(ones({2})); }),
              ::testing::HasSubstr("cotangent 0 is f32[2]; expected f32[]"));
  EXPECT_THAT(
      message_of<ShapeError>([&] { vmap([](const Array& x, const Array& y) { return x + y; })(ones({3}), ones({2})); }),
      ::testing::HasSubstr("has 2 elements, argument 0 3"));
  EXPECT_THAT(message_of<ShapeError>([&] { vmap(f)(array(1.0f)); }),
              ::testing::HasSubstr("expected an axis to map over"));
  EXPECT_THAT(message_of<OptionError>([&] { vmap(f, {.in_axes = {0, 0}})(ones({2})); }),
              ::testing::HasSubstr("2 entries for 1 arguments"));
  EXPECT_THAT(message_of<UserError>([&] { grad([](float x, const Array& y) { return sum(y) * x; })(1.0f, ones({2})); }),
              ::testing::HasSubstr("argument 0 holds no array"));
  EXPECT_THAT(message_of<ShapeError>([&] {
                fori_loop(0, 3, [](const Array&, const Array& c) { return concatenate({c, c}); }, ones({2}));
              }),
              ::testing::HasSubstr("carry 0 enters as f32[2] and leaves as f32[4]"));
}

}  // namespace
}  // namespace neap
