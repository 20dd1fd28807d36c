// The layers and optimisers that users copy from examples/.
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>

#include "examples/nn.h"
#include "examples/optimizers.h"

namespace neap {
namespace {

namespace nr = random;

struct Params {
  Array w, b;
};
Array bowl(const Params& p) { return sum(square(p.w - 3.0f)) + 2.0f * sum(square(p.b + 1.0f)); }
Params start() { return {array({1.0f, -2.0f}), array(0.5f)}; }

// What the papers write, for one number.
template <class Step>
void follow(const std::vector<float>& got, float x, float slope, float goal, Step step) {
  for (const float g : got) {
    x = step(x, slope * 2 * (x - goal));
    EXPECT_NEAR(g, x, 1e-5 * std::abs(x) + 1e-6);
  }
}

TEST(Optimizers, SgdAndMomentum) {
  Params p = start();
  std::vector<float> path;
  for (int i = 0; i < 5; ++i) {
    p = optim::Sgd{.rate = 0.1f}.update(p, grad(bowl)(p));
    path.push_back(p.b.item<float>());
  }
  follow(path, 0.5f, 2, -1, [](float x, float g) { return x - 0.1f * g; });
  for (const bool nesterov : {false, true}) {
    const optim::Momentum momentum{.rate = 0.05f, .decay = 0.8f, .nesterov = nesterov};
    p = start(), path.clear();
    Params velocity = momentum.init(p);
    for (int i = 0; i < 5; ++i) {
      std::tie(p, velocity) = momentum.update(p, grad(bowl)(p), velocity);
      path.push_back(p.w[1].item<float>());
    }
    float v = 0;
    follow(path, -2, 1, 3, [&](float x, float g) {
      v = 0.8f * v + g;
      return x - 0.05f * (nesterov ? 0.8f * v + g : v);
    });
  }
}

TEST(Optimizers, AdamAndAdamW) {
  for (const float decay : {0.0f, 0.1f}) {
    const optim::Adam adam{.rate = 0.1f, .decay = decay};
    Params p = start();
    auto state = adam.init(p);
    const auto step =
        jit([&](const Params& at, const optim::Adam::State<Params>& s) { return adam.update(at, grad(bowl)(at), s); });
    std::vector<float> path;
    for (int i = 0; i < 8; ++i) {
      std::tie(p, state) = step(p, state);
      path.push_back(p.w[0].item<float>());
    }
    EXPECT_EQ(state.step.item<int>(), 8);
    double m = 0, s = 0;
    int t = 0;
    follow(path, 1, 1, 3, [&](float x, float g) {
      m = 0.9 * m + 0.1 * g, s = 0.999 * s + 0.001 * g * g, ++t;
      const double mean = m / (1 - std::pow(0.9, t)), square = s / (1 - std::pow(0.999, t));
      return static_cast<float>(x - 0.1 * (mean / (std::sqrt(square) + 1e-8) + decay * x));
    });
  }
}

TEST(Optimizers, KeepDtypes) {
  for (const DType t : {bf16, f16, f64}) {
    const Array p = ones({2}, t);
    const optim::Adam adam;
    const auto [next, state] = adam.update(p, p, adam.init(p));
    EXPECT_EQ(next.dtype(), t);
    EXPECT_EQ(state.square.dtype(), t);
    const optim::Momentum momentum;
    EXPECT_EQ(momentum.update(p, p, momentum.init(p)).first.dtype(), t);
    EXPECT_EQ(optim::Sgd{}.update(p, p).dtype(), t);
  }
}

// Parameters, gradients and both moments, each once: nothing else of their size.
TEST(Optimizers, DonatedStateIsUpdatedInPlace) {
  const optim::Adam adam;
  const Array w = spec({1024, 1024}, f32), x = spec({64, 1024}, f32);
  const optim::Adam::State<Array> state{w, w, spec({}, i32)};
  const auto step = jit(
      [&](const Array& at, const optim::Adam::State<Array>& s, const Array& in) {
        const auto loss = [&](const Array& v) { return sum(square(matmul(in, v))); };
        return adam.update(at, grad(loss)(at), s);
      },
      {.donate = {0, 1}});
  const size_t weights = 1024 * 1024 * 4, rows = 64 * 1024 * 4, packing = 1 << 20;
  EXPECT_LE(step.plan(w, state, x).peak_bytes(), 4 * weights + 2 * rows + packing);
}

TEST(Layers, LinearConvolutionEmbeddingNorm) {
  const auto linear = nn::linear(nr::key(1), 400, 300);
  EXPECT_NEAR(std(linear.w).item<float>(), 1 / std::sqrt(400.0), 1e-3);
  const Array x = nr::normal(nr::key(2), {5, 400});
  EXPECT_TRUE(allclose(nn::apply(linear, x)[2], matmul(x[2], linear.w) + linear.b, 1e-5, 1e-5).item<bool>());
  const auto conv = nn::conv2d(nr::key(3), 2, 4, 3);
  const Array image = nr::normal(nr::key(4), {1, 2, 6, 5});
  const Array out = nn::apply(conv, image, {.same = true});
  EXPECT_EQ(out.shape(), (Shape{1, 4, 6, 5}));
  const Array window = image[{0, slice(), slice(1, 4), slice(2, 5)}];
  const float there = out[{0, 3, 2, 3}].item<float>();
  EXPECT_NEAR(there, sum(window * conv.w[3]).item<float>(), 1e-5);
  const auto table = nn::embedding(nr::key(5), 7, 3);
  EXPECT_TRUE(array_equal(nn::apply(table, array({6, 0}))[0], table.table[6]).item<bool>());
  const Array normed = nn::apply(nn::layer_norm(400), x * 5.0f + 2.0f);
  EXPECT_NEAR(mean(normed[1]).item<float>(), 0, 1e-5);
  EXPECT_NEAR(std(normed[1]).item<float>(), 1, 1e-4);
}

TEST(Layers, CausalAttentionDoesNotSeeTheFuture) {
  const auto layer = nn::attention(nr::key(1), 16, 4);
  const Array x = nr::normal(nr::key(2), {2, 9, 16});
  const Array later = x.at({slice(), 8}).add(3.0f);
  const Array a = nn::apply(layer, x), b = nn::apply(layer, later);
  EXPECT_TRUE(array_equal(a[{slice(), slice(8)}], b[{slice(), slice(8)}]).item<bool>());
  EXPECT_FALSE(allclose(a[{slice(), 8}], b[{slice(), 8}]).item<bool>());
  EXPECT_FALSE(
      allclose(nn::apply(layer, x, false)[{slice(), 0}], nn::apply(layer, later, false)[{slice(), 0}]).item<bool>());
  // One position and one head: the values, projected.
  const auto one = nn::attention(nr::key(3), 4, 1);
  const Array y = nr::normal(nr::key(4), {1, 4});
  EXPECT_TRUE(allclose(nn::apply(one, y), matmul(matmul(y, one.v[{slice(), 0}]), one.out[0]), 1e-4).item<bool>());
}

TEST(Layers, DropoutLossAndAccuracy) {
  const Array kept = nn::dropout(nr::key(1), ones({100'000}), 0.25f);
  EXPECT_NEAR(mean(kept).item<float>(), 1, 0.01);
  EXPECT_NEAR(mean(kept == 0.0f).item<float>(), 0.25, 0.01);
  const Array logits = array({{0.0f, std::log(3.0f)}, {0.0f, 0.0f}}), labels = array({1, 0});
  EXPECT_NEAR(nn::cross_entropy(logits, labels).item<float>(), (std::log(4.0 / 3) + std::log(2.0)) / 2, 1e-6);
  EXPECT_NEAR(nn::accuracy(logits, array({1, 1})).item<float>(), 0.5, 1e-6);
}

}  // namespace
}  // namespace neap
