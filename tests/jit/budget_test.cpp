// Budgets are contracts, and choices flip when they should.
#include "planner/plan/plan.h"
#include "tests/jit/measure.h"
#include "tests/threads.h"

#include <set>
#include <thread>

namespace neap {
namespace {

namespace nr = random;
using namespace literals;

// The smallest peak that planning finds.
template <class F, class... A>
size_t smallest(const F& f, const A&... arguments) {
  try {
    jit(f, {.memory_budget = 1}).plan(arguments...);
  } catch (const BudgetError& e) {
    EXPECT_GT(e.smallest_peak_bytes(), 1u);
    return e.smallest_peak_bytes();
  }
  ADD_FAILURE() << "one byte is enough";
  return 0;
}

// Every budget from the smallest upwards is met exactly as promised, a smaller one never has a larger peak, and all
// give the bits of the plan without one, with any number of threads.
template <class F, class... A>
void check_budgets(const F& f, const A&... arguments) {
  const Measured free = measure(jit(f), arguments...);
  const size_t least = smallest(f, arguments...);
  EXPECT_LE(least, free.planned);
  EXPECT_THROW(jit(f, {.memory_budget = least - 1}).plan(arguments...), BudgetError);
  size_t previous = 0;
  for (int i = 0; i <= 4; ++i) {
    const size_t budget = least + (free.planned - least) * static_cast<size_t>(i) / 4;
    SCOPED_TRACE(fmt::format("budget {} of {} to {}", budget, least, free.planned));
    const auto compiled = jit(f, {.memory_budget = budget});
    const Measured m = measure(compiled, arguments...);
    EXPECT_LE(m.planned, budget);
    EXPECT_GE(m.planned, previous);
    previous = m.planned;
    const Threads one(1);
    const std::vector<Array> again = tree_leaves(compiled(arguments...));
    for (size_t k = 0; k < m.outputs.size(); ++k) {
      EXPECT_TRUE(same_bits(m.outputs[k], free.outputs[k])) << "result " << k << '\n' << m.plan;
      EXPECT_TRUE(same_bits(again[k], free.outputs[k])) << "result " << k << " with one thread\n" << m.plan;
    }
  }
}

TEST(Budget, SamplesTimesMatrix) {
  const Array key = nr::key(3), w = nr::normal(nr::key(4), {64, 8});
  check_budgets([](const Array& k, const Array& m) { return matmul(nr::normal(k, {4000, 64}), m); }, key, w);
}

auto gradient_of_layers(int layers) {
  return grad([layers](const Array& w, const Array& x) {
    Array h = x;
    for (int i = 0; i < layers; ++i) h = tanh(matmul(h, w));
    return sum(h * h);
  });
}

TEST(Budget, Layers) {
  const Array x = nr::normal(nr::key(1), {256, 64}), w = nr::normal(nr::key(2), {64, 64});
  check_budgets(gradient_of_layers(6), w, x);
}

// Of the sums over features some are read in slices of them again.
TEST(Budget, ResidualLayers) {
  const auto f = grad([](const Array& w, const Array& x) {
    Array h = x;
    for (int i = 0; i < 6; ++i) h = h + tanh(matmul(h, w));
    return sum(h * h);
  });
  const Array x = nr::normal(nr::key(1), {256, 32}), w = nr::normal(nr::key(2), {32, 32}) * 0.1f;
  check_budgets(f, w, x);
}

TEST(Budget, Reductions) {
  const auto f = [](const Array& key, const Array& w) {
    const Array x = exp(matmul(nr::normal(key, {5000, 16}), w));
    return std::vector{sum(x), mean(x, {0}), max(x, {1}), var(x, {0}), argmin(x, 1), logsumexp(x, {0})};
  };
  check_budgets(f, nr::key(1), nr::normal(nr::key(2), {16, 40}) * 0.1f);
}

TEST(Budget, ProductsOverManyTerms) {
  const auto f = [](const Array& x, const Array& w) {
    const Array h = tanh(matmul(x, w));
    return matmul(swapaxes(h, 0, 1), sin(h));
  };
  check_budgets(f, nr::normal(nr::key(1), {9001, 12}), nr::normal(nr::key(2), {12, 80}));
}

TEST(Budget, TheTradeoffIsWhatBudgetsCost) {
  const Array x = nr::normal(nr::key(1), {4096, 64}), w = nr::normal(nr::key(2), {64, 64});
  const auto f = gradient_of_layers(12);
  const std::vector<Tradeoff> curve = jit(f).tradeoff(w, x);
  ASSERT_GT(curve.size(), 3u);
  EXPECT_EQ(curve.front().peak_bytes, jit(f).plan(w, x).peak_bytes());
  EXPECT_EQ(curve.back().peak_bytes, smallest(f, w, x));
  for (size_t i = 0; i < curve.size(); ++i) {
    SCOPED_TRACE(curve[i].how);
    EXPECT_FALSE(curve[i].how.empty());
    if (i > 0) EXPECT_LT(curve[i].peak_bytes, curve[i - 1].peak_bytes);
    if (i % (1 + curve.size() / 8) != 0) continue;  // each plan is a search
    const Plan plan = jit(f, {.memory_budget = curve[i].peak_bytes}).plan(w, x);
    EXPECT_EQ(plan.peak_bytes(), curve[i].peak_bytes);
    EXPECT_EQ(plan.data().predicted_seconds, curve[i].predicted_seconds);
  }
}

TEST(Budget, Attention) {
  const auto attention = [](const Array& q, const Array& k, const Array& v) {
    return matmul(softmax(matmul(q, swapaxes(k, -1, -2)) / 8.0f), v);
  };
  const auto make = [](uint64_t seed) { return nr::normal(nr::key(seed), {4, 256, 16}); };
  check_budgets(attention, make(1), make(2), make(3));
}

TEST(Budget, AttentionGradient) {
  const auto loss = [](const Array& q, const Array& k, const Array& v) {
    return sum(sin(matmul(softmax(matmul(q, swapaxes(k, -1, -2)) / 4), v)));
  };
  const auto make = [](uint64_t seed) { return nr::normal(nr::key(seed), {2, 200, 16}); };
  check_budgets(grad<0, 1, 2>(loss), make(1), make(2), make(3));
}

// One array for both operands is sliced for each of them in its way, or read whole, as two arrays are.
template <class F>
void check_meeting(const F& of_two, const Shape& shape) {
  const Array a = nr::normal(nr::key(17), shape);
  const auto of_one = [&](const Array& x) { return of_two(x, x); };
  check_budgets(of_one, a);
  EXPECT_LE(smallest(of_one, a), smallest(of_two, a, a));
}

Array distances(const Array& x, const Array& y) {
  return sqrt(sum(square(expand_dims(x, 0) - expand_dims(y, 1)), {2}) + 1.f);
}

TEST(Budget, ProductsOfAnArrayWithItself) {
  check_meeting([](const Array& x, const Array& y) { return sum(exp(matmul(x, transpose(y)))); }, {700, 3});
  check_meeting([](const Array& x, const Array& y) { return matmul(softmax(matmul(x, transpose(y))), y); }, {500, 8});
}

TEST(Budget, AnArrayAndItsTranspose) {
  check_meeting([](const Array& x, const Array& y) { return matmul(tanh(x + transpose(y)), x); }, {400, 400});
  check_meeting([](const Array& x, const Array& y) { return sum(exp(x - transpose(y)) * transpose(x)); }, {400, 400});
}

TEST(Budget, PairsOfAnArraysRows) {
  check_meeting([](const Array& x, const Array& y) { return sum(distances(x, y)); }, {600, 3});
  check_meeting([](const Array& x, const Array& y) { return argmin(distances(x, y), 1); }, {600, 3});
  check_meeting(
      [](const Array& x, const Array& y) { return vmap([&](const Array& r) { return sum(exp(matmul(y, r))); })(x); },
      {600, 3});
  const Array a = nr::normal(nr::key(18), {400, 3});
  check_budgets(grad([](const Array& x) { return sum(distances(x, x)); }), a);
  // What meets itself is computed, not read.
  const auto scaled = [](const Array& x) { return sum(distances(2.f * x, 2.f * x)); };
  check_budgets(scaled, a);
  EXPECT_LE(smallest(scaled, a), a.bytes() * 64);
}

TEST(Budget, EmbeddingGradient) {
  const auto loss = [](const Array& table, const Array& rows, const Array& w) {
    return sum(tanh(matmul(take(table, rows), w)));
  };
  const Array rows = nr::randint(nr::key(5), {30'000}, 0, 500, i32);
  check_budgets(grad<0, 2>(loss), nr::normal(nr::key(1), {500, 8}), rows, nr::normal(nr::key(2), {8, 24}));
}

TEST(Budget, GradientsOfEachExample) {
  const auto loss = [](const Array& w, const Array& x) { return sum(tanh(matmul(tanh(matmul(x, w)), w))); };
  const auto f = [=](const Array& w, const Array& xs) {
    const Array g = vmap(grad(loss), {.in_axes = {none, 0}})(w, xs);
    const Array norm = sqrt(sum(g * g, {1, 2}, true));
    return mean(g / maximum(norm, 1.0f), {0});
  };
  check_budgets(f, nr::normal(nr::key(2), {24, 24}) * 0.2f, nr::normal(nr::key(1), {128, 8, 24}));
}

TEST(Budget, GatherGradient) {
  const auto loss = [](const Array& x, const Array& idx) { return sum(gather(x, idx) * 2.5f); };
  const Array x = nr::normal(nr::key(1), {32, 32, 32}), idx = nr::randint(nr::key(5), {300'000, 3}, 0, 32, i16);
  check_budgets(grad(loss), x, idx);
}

TEST(Budget, TheErrorSaysWhatIsPossible) {
  const auto f = [](const Array& x) { return x * 2; };
  try {
    jit(f, {.memory_budget = 100_KiB}).plan(spec({1 << 20}, f32));
    FAIL();
  } catch (const BudgetError& e) {
    EXPECT_EQ(e.smallest_peak_bytes(), 8_MiB);
    EXPECT_NE(std::string(e.what()).find("8.00 MiB"), std::string::npos) << e.what();
  }
  EXPECT_NO_THROW(jit(f, {.memory_budget = 8_MiB}).plan(spec({1 << 20}, f32)));
}

// --- choices

TEST(Choice, FusedBecomesChunkedBeforeAProduct) {
  const auto f = [](const Array& key, const Array& w) { return matmul(nr::normal(key, {20'000, 128}), w); };
  const Array key = nr::key(3), w = nr::normal(nr::key(4), {128, 8});
  const Measured free = measure(jit(f), key, w), tight = measure(jit(f, {.memory_budget = 3_MiB}), key, w);
  EXPECT_FALSE(has(free.plan, "chunked")) << free.plan;
  EXPECT_TRUE(has(tight.plan, "chunked")) << tight.plan;
  EXPECT_LE(tight.planned, 3_MiB);
  EXPECT_TRUE(same_bits(free.outputs[0], tight.outputs[0]));
}

TEST(Choice, PinnedChunksKeepTheBits) {
  const auto f = [](const Array& key) { return nr::normal(key, {1000, 333}, bf16); };
  const Array key = nr::key(8), want = jit(f)(key);
  for (const int64_t k : {4, 7, 1000}) {
    const Measured m = measure(jit(f, {.strategy = "chunked", .chunks = k}), key);
    EXPECT_TRUE(same_bits(m.outputs[0], want)) << k;
    EXPECT_LE(m.planned, 64 + counted(m.outputs) + 4 * counted(m.outputs) / static_cast<size_t>(k) + 16_KiB);
    EXPECT_TRUE(has(m.plan, "chunked")) << m.plan;
  }
}

TEST(Choice, SubkeysDrawOtherNumbersAndSaySo) {
  const auto f = [](const Array& key) { return nr::normal(key, {512, 512}, bf16); };
  const Array key = nr::key(8), whole = jit(f)(key);
  std::vector<Array> drawn{whole};
  for (const int64_t k : {4, 17, 64}) {
    const Measured m = measure(jit(f, {.strategy = "subkey", .chunks = k}), key);
    EXPECT_TRUE(has(m.plan, "subkey")) << m.plan;
    const auto out = static_cast<double>(counted(m.outputs));
    EXPECT_LE(static_cast<double>(m.planned), 1.001 * (1 + 2.0 / static_cast<double>(k)) * out + 1024) << k;
    for (const Array& other : drawn) EXPECT_FALSE(same_bits(m.outputs[0], other));
    drawn.push_back(m.outputs[0]);
    EXPECT_NEAR(mean(m.outputs[0].astype(f32)).item<float>(), 0, 5.0 / 512);
    EXPECT_NEAR(std(m.outputs[0].astype(f32)).item<float>(), 1, 0.01);
    EXPECT_TRUE(same_bits(jit(f, {.strategy = "subkey", .chunks = k})(key), m.outputs[0]));
  }
}

TEST(Choice, ACheapProducerIsRecomputedADearOneKept) {
  const int64_t n = 1 << 20;
  // Two readers that cannot share a kernel: reductions along different axes of different shapes, and a product.
  const auto use = [](const Array& y) {
    const Array square = reshape(y, {1024, 1024});
    return std::tuple{sum(square, 0), max(square, 1), cos(transpose(square))};
  };
  const auto cheap = jit([&](const Array& x) { return use(x * 2 + 1); });
  const auto dear = jit([&](const Array& x) {
    Array y = x;
    for (int i = 0; i < 12; ++i) y = lgamma(y) + erf_inv(tanh(y));
    return use(y);
  });
  const Array x = nr::uniform(nr::key(1), {n}, f32, 1.5f, 3.0f);
  const Measured a = measure(cheap, x), b = measure(dear, x);
  EXPECT_LT(a.planned, counted({x}) + counted(a.outputs) + x.bytes() / 2) << a.plan;
  EXPECT_GE(b.planned, counted({x}) + counted(b.outputs) + x.bytes()) << b.plan;
}

TEST(Choice, GatherGradientGivesWayWhenNaiveIsPinned) {
  const auto loss = [](const Array& x, const Array& idx) { return sum(gather(x, idx) * 2.5f); };
  const Array x = nr::normal(nr::key(1), {16, 16, 16}), idx = nr::randint(nr::key(5), {100'000, 3}, 0, 16, i32);
  const Measured chosen = measure(jit(grad(loss)), x, idx),
                 pinned = measure(jit(grad(loss), {.strategy = "naive"}), x, idx);
  EXPECT_TRUE(has(chosen.plan, "nocopy-gather-grad"));
  EXPECT_FALSE(has(pinned.plan, "nocopy-gather-grad")) << pinned.plan;
  EXPECT_GT(pinned.planned, chosen.planned);
  EXPECT_TRUE(same_bits(chosen.outputs[0], pinned.outputs[0]));
  EXPECT_EQ(chosen.plan.decision("scatter_add"), "nocopy-gather-grad") << chosen.plan;
}

TEST(Choice, UnknownStrategiesAreRefused) {
  EXPECT_THROW(jit([](const Array& x) { return x + 1; }, {.strategy = "magic"})(ones({3})), UserError);
}

TEST(Threads, DoNotChangePlans) {
  const auto loss = [](const Array& w, const Array& x) {
    Array h = x;
    for (int64_t i = 0; i < 3; ++i) h = tanh(matmul(h, w[i]));
    return sum(h);
  };
  const auto path = [](const Array& x, const Array& k) {
    return sum(fori_loop(
        0, 50,
        [&](const Array& i, const Array& y) { return y + 0.1f * sin(y) * nr::normal(nr::fold_in(k, i), {3000}); }, x));
  };
  const auto w = spec({3, 48, 48}, f32), x = spec({256, 48}, f32);
  const auto plans = [&](int n) {
    const Threads threads(n);
    return std::vector{jit(hessian(loss)).plan(spec({3, 6, 6}, f32), spec({64, 6}, f32)).to_json(),
                       jit(grad(loss)).plan(w, x).to_json(),
                       jit(grad(path)).plan(spec({3000}, f32), nr::key(1)).to_json(),
                       jit(grad(loss), {.memory_budget = 640_KiB}).plan(w, x).to_json()};
  };
  const auto one = plans(1);
  for (const int n : {2, 8, 64}) EXPECT_EQ(plans(n), one) << n << " threads";
}

TEST(Threads, CallOneFunctionAtOnce) {
  const auto f = jit([](const Array& key, const Array& w) { return matmul(nr::normal(key, {200, 64}), w); });
  const Array w = nr::normal(nr::key(4), {64, 8});
  std::vector<Array> want;
  for (uint64_t i = 0; i < 4; ++i) want.push_back(f(nr::key(i), w));
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Array key = nr::key(t);
      for (int i = 0; i < 50; ++i) wrong[t] += !same_bits(f(key, w), want[t]);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace neap
