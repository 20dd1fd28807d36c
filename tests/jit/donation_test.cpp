// Updates where things lie: optimiser steps in the donated buffers, and tables that loops update row by row.
#include <gtest/gtest.h>

#include <map>

#include "tests/jit/measure.h"

namespace neap {
namespace {

struct Params {
  std::vector<Array> weights;
  std::map<std::string, Array> biases;
};

struct Adam {
  Params parameters, first, second;
};

std::vector<Array> leaves(const Params& p) { return tree_leaves(p); }

Params filled(float value) {
  Params p;
  for (int64_t i = 0; i < 3; ++i) {
    p.weights.push_back(full({96, 96}, value));
    p.biases["layer " + std::to_string(i)] = full({96}, value);
  }
  return p;
}

Params map_leaves(const auto& f, const Params& like, const auto&... trees) {
  std::vector<Array> results;
  const std::vector<std::vector<Array>> all{leaves(like), leaves(trees)...};
  for (size_t i = 0; i < all[0].size(); ++i) {
    if constexpr (sizeof...(trees) == 0) results.push_back(f(all[0][i]));
    if constexpr (sizeof...(trees) == 1) results.push_back(f(all[0][i], all[1][i]));
    if constexpr (sizeof...(trees) == 2) results.push_back(f(all[0][i], all[1][i], all[2][i]));
  }
  return tree_unflatten(like, std::span<const Array>(results));
}

Adam update(const Adam& state, const Params& gradient) {
  Adam next;
  next.first = map_leaves([](auto& m, auto& g) { return 0.9f * m + 0.1f * g; }, state.first, gradient);
  next.second = map_leaves([](auto& v, auto& g) { return 0.999f * v + 0.001f * g * g; }, state.second, gradient);
  next.parameters = map_leaves([](auto& w, auto& m, auto& v) { return w - 0.01f * m / (sqrt(v) + 1e-8f); },
                               state.parameters, next.first, next.second);
  return next;
}

Adam initial() { return {filled(0.5f), filled(0.0f), filled(0.0f)}; }

// Rows in another order, and their gradient in the order that they came in.
TEST(Donation, TheGradientOfAPermutationLiesWhereItsRowsDid) {
  namespace nr = random;
  for (const auto& [rows, width] : {std::pair{3000, 33}, {50000, 16}, {257, 1}, {1, 40}}) {
    const auto f = [](const Array& x, const Array& keys, const Array& target) {
      const Array order = argsort(keys), n = arange(keys.shape()[0]);
      const Array place = zeros(n.shape(), i32).at({order}).set(n);
      const auto loss = [&](const Array& y) { return sum(square(take(y, place) - target)); };
      return cumsum(grad(loss)(cumsum(x, 0)), 0);
    };
    const Array x = nr::normal(nr::key(1), {rows, width}), target = nr::normal(nr::key(3), {rows, width});
    const Array keys = nr::randint(nr::key(2), {rows}, 0, 100);
    const Array want = jit(f, {.pipeline = Pipeline::naive})(x, keys, target);
    const Measured m = measure(jit(f), x, keys, target);
    EXPECT_TRUE(same_bits(m.outputs[0], want)) << m.plan;
    if (width > 1 && rows > 1)  // beside the arguments one array
      EXPECT_LT(m.planned, x.bytes() * 3 + x.bytes() / 2) << m.plan;
  }
}

// The carry of a loop is read and written in the order of the step.
TEST(Donation, AStepThatUpdatesAllRowsInSomeOrderIsInPlace) {
  namespace nr = random;
  for (const auto& [rows, width] : {std::pair{3000, 33}, {1, 40}}) {
    const auto f = [](const Array& x, const Array& keys, const Array& less) {
      return fori_loop(
          0, 5,
          [&](const Array& i, const Array& v) {
            const Array order = argsort(keys * (i + 1) % 101);
            return zeros_like(v).at({order}).set(take(v, order) * 0.5f - less);
          },
          x);
    };
    const Array x = nr::normal(nr::key(1), {rows, width}), less = nr::normal(nr::key(3), {rows, width});
    const Array keys = nr::randint(nr::key(2), {rows}, 0, 1000);
    const Array want = jit(f, {.pipeline = Pipeline::naive})(x, keys, less);
    const Measured m = measure(jit(f), x, keys, less);
    EXPECT_TRUE(same_bits(m.outputs[0], want)) << m.plan;
    if (rows > 1)  // the arguments and the carry
      EXPECT_LT(m.planned, x.bytes() * 3 + x.bytes() / 2) << m.plan;
  }
}

TEST(Donation, AnEmbeddingChangesInTheRowsThatWereRead) {
  namespace nr = random;
  constexpr int64_t kWords = 20'000, kWidth = 64;
  const auto step = [](const Array& table, const Array& words, const Array& others) {
    const auto loss = [&](const Array& t) {
      const Array x = mean(take(t, words), 1), y = take(t, others);
      return sum(softplus(sum(expand_dims(x, 1) * y, 2)));
    };
    return table - 0.1f * grad(loss)(table);
  };
  const auto table = [] { return nr::normal(nr::key(1), {kWords, kWidth}); };
  const Array words = nr::randint(nr::key(2), {500, 4}, -300, 300),
              others = nr::randint(nr::key(3), {500, 3}, 0, kWords);
  const Array want = jit(step, {.pipeline = Pipeline::naive})(table(), words, others);
  const Measured m = measure(jit(step, {.donate = {0}}), table(), words, others);
  EXPECT_TRUE(same_bits(m.outputs[0], want));
  EXPECT_LT(m.planned, table().bytes() * 4 / 3) << m.plan;
}

TEST(Donation, AnOptimiserUpdatesItsStateInPlace) {
  const auto f = jit(update, {.donate = {0}});
  const Params g = filled(0.25f);
  const std::vector<Array> want = tree_leaves(jit(update)(initial(), g));
  const Adam state = initial();
  const Measured m = measure(f, state, g);
  EXPECT_EQ(m.planned, counted(tree_leaves(initial())) + counted(leaves(g))) << m.plan;
  ASSERT_EQ(m.outputs.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(m.outputs[i], want[i])) << i;
}

Array loss(const Params& p, const Array& x) {
  Array y = x;
  for (size_t i = 0; i < p.weights.size(); ++i) {
    y = tanh(matmul(y, p.weights[i]) + p.biases.at("layer " + std::to_string(i)));
  }
  return mean(y * y);
}

TEST(Donation, ATrainingStepHoldsItsArgumentsAndWhatItsGradientsNeed) {
  const auto step = [](const Adam& state, const Array& x) { return update(state, grad(loss)(state.parameters, x)); };
  const Array x = random::normal(random::key(1), {32, 96});
  const std::vector<Array> want = tree_leaves(jit(step)(initial(), x));
  const Adam state = initial();
  const Measured m = measure(jit(step, {.donate = {0}}), state, x);
  const size_t arguments = counted(tree_leaves(initial())) + counted({x});
  const size_t activation = counted(32 * 96 * 4), gradient = counted(96 * 96 * 4);
  // The activations of three layers, the cotangent of one, one gradient, and a product's packing.
  EXPECT_LE(m.planned, arguments + 4 * activation + gradient + 128 * 1024) << m.plan;
  EXPECT_EQ(m.planned, m.plan.lower_bound_bytes()) << m.plan;
  for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(m.outputs[i], want[i])) << i;
}

// Arguments and nothing else: no copy of the table, in any iteration or before the first.
template <class F>
void expect_in_place(const std::string& name, const F& f, size_t results = 0) {
  SCOPED_TRACE(name);
  const auto table = [] { return random::normal(random::key(1), {1000, 64}); };
  const Array at = (iota({50}, 0, i32) * 37) % 1000, rows = random::normal(random::key(2), {50, 64});
  const auto want = tree_leaves(jit(f)(table(), at, rows));
  const Array own = table();
  const Measured m = measure(jit(f, {.donate = {0}}), own, at, rows);
  const size_t arguments = counted({table(), at, rows});
  EXPECT_LE(m.planned, arguments + results + 4096) << m.plan;
  EXPECT_GE(m.planned, arguments + results);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(m.outputs[i], want[i])) << i;
}

TEST(InPlace, TablesThatLoopsUpdate) {
  const auto looped = [](const auto& body) {
    return [=](const Array& table, const Array& at, const Array& rows) {
      return scan([&](const Array& t,
                      const std::pair<Array, Array>& x) { return std::pair(body(t, x.first, x.second), nullptr); },
                  table, std::pair(at, rows))
          .first;
    };
  };
  expect_in_place("add", looped([](const Array& t, const Array& i, const Array& row) { return t.at(i).add(row); }));
  expect_in_place("set", looped([](const Array& t, const Array& i, const Array& row) { return t.at(i).set(row); }));
  expect_in_place("mul", looped([](const Array& t, const Array& i, const Array& row) { return t.at(i).mul(row); }));
  expect_in_place("of itself", looped([](const Array& t, const Array& i, const Array& row) {
                    return t.at(i).set(0.5f * t[i] + row);
                  }));
  expect_in_place("of another row of itself", looped([](const Array& t, const Array& i, const Array& row) {
                    return t.at(i).add(tanh(t[(i * 7) % 1000]) * row);
                  }));
  expect_in_place("twice", looped([](const Array& t, const Array& i, const Array& row) {
                    return t.at(i).add(row).at((i + 1) % 1000).set(row * 2);
                  }));
  expect_in_place("with a sum of it",
                  looped([](const Array& t, const Array& i, const Array& row) { return t.at(i).add(row * mean(t)); }));
}

TEST(InPlace, ATableThatOneCallUpdates) {
  expect_in_place("add", [](const Array& t, const Array& at, const Array& rows) { return t.at(at).add(rows); });
  expect_in_place(
      "of itself", [](const Array& t, const Array& at, const Array& rows) { return t.at(at).set(t[at] * rows); },
      counted(50 * 64 * 4));
}

}  // namespace
}  // namespace neap
