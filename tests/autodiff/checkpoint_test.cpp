// checkpoint(): what the backward pass keeps and what it computes again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <algorithm>
#include <cmath>

#include "planner/plan/plan.h"

namespace neap {
namespace {

constexpr int kLayers = 8;
constexpr double kActivation = 1024 * 64 * 4;

Array layer(const Array& h, const Array& w) { return tanh(matmul(tanh(matmul(h, w)), w)); }

template <class Layer>
auto gradient(Layer f) {
  return grad([f](const Array& w, const Array& x) {
    Array h = x;
    for (int i = 0; i < kLayers; ++i) h = f(h, w);
    return sum(h * h);
  });
}

struct Cost {
  double activations;
  int64_t products;
};

template <class Layer>
Cost cost(Layer f) {
  const Plan plan = jit(gradient(f)).plan(spec({64, 64}, f32), spec({1024, 64}, f32));
  return {static_cast<double>(plan.peak_bytes()) / kActivation,
          std::ranges::count(plan.data().steps, planner::PlanStep::Kind::dot, &planner::PlanStep::kind)};
}

TEST(Checkpoint, KeepsArgumentsAlone) {
  const Cost plain = cost(layer), lean = cost(checkpoint(layer));
  EXPECT_GE(plain.activations, 2 * kLayers);  // two in each layer
  EXPECT_LE(lean.activations, kLayers + 5);
  EXPECT_EQ(lean.products, plain.products + kLayers);  // what a layer returns, the next one keeps
}

TEST(Checkpoint, KeepsWhatThePolicySays) {
  namespace policies = checkpoint_policies;
  const Cost plain = cost(layer), lean = cost(checkpoint(layer));
  const Cost everything = cost(checkpoint(layer, policies::everything_saveable));
  EXPECT_EQ(everything.activations, plain.activations);
  EXPECT_EQ(everything.products, plain.products);
  EXPECT_EQ(cost(checkpoint(layer, policies::dots_saveable)).products, plain.products);
  const auto named = [](const Array& h, const Array& w) {
    return tanh(matmul(checkpoint_name(tanh(matmul(h, w)), "middle"), w));
  };
  EXPECT_EQ(cost(checkpoint(named, policies::save_only_these_names({"other", "middle"}))).products, plain.products);
  EXPECT_EQ(cost(checkpoint(named, policies::save_only_these_names({"mid"}))).products, lean.products);
  EXPECT_THROW(policies::save_only_these_names({"a,b"}), OptionError);
}

// A loop that ends a checkpoint runs again on the way back: its stacks do not stay.
TEST(Checkpoint, RunsALoopAgain) {
  const auto loop = [](const Array& h, const Array& w) {
    return fori_loop(0, 16, [&](const Array&, const Array& c) { return tanh(matmul(c, w)); }, h);
  };
  const Cost plain = cost(loop), lean = cost(checkpoint(loop));
  EXPECT_GE(plain.activations, 16 * kLayers);
  EXPECT_LE(lean.activations, 2 * 16 + kLayers + 6);
  const Cost everything = cost(checkpoint(loop, checkpoint_policies::everything_saveable));
  EXPECT_EQ(everything.activations, plain.activations);
}

// In the body of a loop the policy decides as well.
TEST(Checkpoint, DecidesInABody) {
  const auto peak = [](auto step) {
    const auto loss = [step](const Array& w, const Array& x) {
      return sum(fori_loop(0, 16, [&](const Array&, const Array& c) { return step(c, w); }, x));
    };
    return static_cast<double>(jit(grad(loss)).plan(spec({64, 64}, f32), spec({1024, 64}, f32)).peak_bytes()) /
           kActivation;
  };
  const double plain = peak(layer);  // the carry, and what each of the two products gives
  EXPECT_GE(plain, 3 * 16);
  EXPECT_LE(peak(checkpoint(layer)), 16 + 8);
  EXPECT_GE(peak(checkpoint(layer, checkpoint_policies::dots_saveable)), 3 * 16);
}

TEST(Checkpoint, NamesAreNotThoseOfThePlanner) {
  for (const char* name : {"dot", "kept", "again", "join"}) {
    const auto named = [name](const Array& h, const Array& w) {
      return checkpoint_name(tanh(matmul(checkpoint_name(h * w[0], name), w)), name);
    };
    const auto plain = [](const Array& h, const Array& w) { return tanh(matmul(h * w[0], w)); };
    EXPECT_EQ(cost(named).products, cost(plain).products);
    EXPECT_EQ(cost(named).activations, cost(plain).activations);
  }
  EXPECT_THROW(checkpoint_name(array(1.0f), "a,b"), OptionError);
}

TEST(Checkpoint, GivesTheSameBits) {
  const Array w = random::normal(random::key(1), {64, 64}) / 8.0f, x = random::normal(random::key(2), {1024, 64});
  const Array expected = jit(gradient(layer))(w, x);
  const auto same = [&](const Array& got) { EXPECT_TRUE(std::ranges::equal(got.raw(), expected.raw())); };
  same(jit(gradient(checkpoint(layer)))(w, x));
  same(jit(gradient(checkpoint(checkpoint(layer))))(w, x));
  same(jit(gradient(checkpoint(layer, checkpoint_policies::dots_saveable)))(w, x));
  same(gradient(checkpoint(layer))(w, x));
  same(jit(gradient(checkpoint(jit(layer))))(w, x));
}

TEST(Checkpoint, ComposesWithLoopsVmapAndItself) {
  const auto f = [](const Array& x) {
    return sin(fori_loop(0, 3, [](const Array&, const Array& c) { return c * cos(c); }, x));
  };
  const auto total = [](auto g) { return [g](const Array& x) { return sum(g(x) * g(x + 1.0f)); }; };
  const auto nested = [f](const Array& x) { return exp(checkpoint(f)(x) * x); };
  const auto plain = [f](const Array& x) { return exp(f(x) * x); };
  const Array x = array({0.1f, -0.4f, 0.7f});
  const auto near = [](const Array& got, const Array& expected) {
    const auto a = got.to_vector<float>(), b = expected.to_vector<float>();
    for (size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * (1 + std::abs(b[i])));
  };
  near(jit(grad(total(checkpoint(nested))))(x), grad(total(plain))(x));
  near(vmap(grad(checkpoint(nested)))(x), vmap(grad(plain))(x));
  near(grad(total(vmap(checkpoint(nested))))(x), grad(total(plain))(x));
  near(hessian(total(checkpoint(nested)))(x), hessian(total(plain))(x));
  near(jacfwd(checkpoint(nested))(x), jacrev(plain)(x));
  const auto looped = [](auto g) {
    return [g](const Array& v) { return sum(fori_loop(0, 4, [&](const Array&, const Array& c) { return g(c); }, v)); };
  };
  near(jit(grad(looped(checkpoint(f))))(x), grad(looped(f))(x));
  near(jit(grad(grad([&](const Array& s) { return looped(checkpoint(f))(x * s); })))(array(1.0f)),
       grad(grad([&](const Array& s) { return looped(f)(x * s); }))(array(1.0f)));
}

}  // namespace
}  // namespace neap
