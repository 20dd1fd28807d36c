// Float sums that are split: their bits depend neither on the number of slices, nor on the budget that asked for them,
// nor on threads.
#include <map>

#include "planner/plan/plan.h"
#include "tests/jit/measure.h"
#include "tests/threads.h"

namespace neap {
namespace {

namespace nr = random;

// What the plan slices, and along which axis.
std::string sliced(const Plan& plan) {
  for (const auto& decision : plan.data().decisions) {
    const size_t at = decision.reason.find(" along axis");
    if (decision.chosen == "chunked" && at != std::string::npos) return decision.reason.substr(at);
  }
  return "";
}

// In so many slices as pinned: of what is sliced one way one set of bits. Each count runs with other threads than the
// one before.
template <class F, class... A>
void check_counts(const F& f, const A&... arguments) {
  std::map<std::string, std::vector<Array>> seen;
  size_t compared = 0;
  for (const int64_t chunks : {2, 3, 5, 7, 8, 13, 16, 31, 64}) {
    SCOPED_TRACE(fmt::format("{} slices", chunks));
    const Threads threads(chunks % 2 == 0 ? 2 : 1);
    const Measured m = measure(jit(f, {.strategy = "chunked", .chunks = chunks}), arguments...);
    if (!has(m.plan, "chunked")) continue;  // all in one slice
    const auto [first, added] = seen.emplace(sliced(m.plan), m.outputs);
    if (added) continue;
    ++compared;
    for (size_t k = 0; k < m.outputs.size(); ++k) {
      EXPECT_TRUE(same_bits(m.outputs[k], first->second[k])) << "result " << k << '\n' << m.plan;
    }
  }
  EXPECT_GT(compared, 3u);
}

// Under ever smaller budgets: the bits of the plan without one.
template <class F, class... A>
void check_budgets(const F& f, const A&... arguments) {
  const std::vector<Tradeoff> curve = jit(f).tradeoff(arguments...);
  const Measured free = measure(jit(f), arguments...);
  size_t splits = 0;
  for (size_t i = 0; i < curve.size(); i += 1 + curve.size() / 6) {
    const Tradeoff& at = curve[curve.size() - 1 - i];
    SCOPED_TRACE(fmt::format("budget {}: {}", at.peak_bytes, at.how));
    const Threads threads(i % 2 == 0 ? 1 : 2);
    const Measured m = measure(jit(f, {.memory_budget = at.peak_bytes}), arguments...);
    splits += has(m.plan, "chunked");
    for (size_t k = 0; k < m.outputs.size(); ++k)
      EXPECT_TRUE(same_bits(m.outputs[k], free.outputs[k])) << "result " << k << '\n' << m.plan;
  }
  EXPECT_GT(splits, 0u);
}

Array samples(uint64_t seed, const Shape& shape, DType dtype) { return nr::normal(nr::key(seed), shape, dtype); }

class SplitSums : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, SplitSums, testing::Values(f32, f64),
                         [](const auto& info) { return std::string(name(info.param)); });

// However many slices there are, and along whichever axis.
TEST_P(SplitSums, OverSeveralAxesHaveOneSetOfBits) {
  const auto f = [](const Array& a, const Array& b) { return sum(sort(sin(a * b), 2), {0, 1}); };
  const Array a = samples(1, {3, 257, 1}, GetParam()), b = samples(2, {1, 1, 17}, GetParam());
  const Measured two = measure(jit(f, {.strategy = "chunked", .chunks = 2}), a, b);
  for (const int64_t chunks : {3, 5, 7, 50}) {
    const Measured m = measure(jit(f, {.strategy = "chunked", .chunks = chunks}), a, b);
    EXPECT_TRUE(has(m.plan, "chunked"));
    EXPECT_TRUE(same_bits(m.outputs[0], two.outputs[0])) << chunks << " slices\n" << m.plan;
  }
}

TEST_P(SplitSums, OfSamples) {
  const auto f = [t = GetParam()](const Array& key) {
    const Array x = nr::normal(key, {30'011, 8}, t), y = sort(x, -1);
    return std::vector{sum(y), mean(y * y), sum(exp(y), {0}), prod(1 + y * 1e-5, {0})};
  };
  check_counts(f, nr::key(1));
}

TEST_P(SplitSums, OfColumnsAndRows) {
  const auto f = [](const Array& a, const Array& b) {
    const Array x = tanh(matmul(a, b));
    return std::vector{sum(x, {0}), sum(x, {1}), mean(x)};
  };
  check_counts(f, samples(1, {1000, 24}, GetParam()), samples(2, {24, 96}, GetParam()));
}

TEST_P(SplitSums, OfProducts) {
  const auto f = [](const Array& x, const Array& y, const Array& w) {
    const Array h = tanh(matmul(x, w)), g = sin(matmul(y, w));
    return matmul(swapaxes(h, 0, 1), g);
  };
  const DType t = GetParam();
  check_counts(f, samples(1, {1009, 16}, t), samples(2, {1009, 16}, t), samples(3, {16, 200}, t));
  check_budgets(f, samples(1, {1009, 16}, t), samples(2, {1009, 16}, t), samples(3, {16, 200}, t));
}

// Down columns in order, in f32: along whichever axis a budget cuts them.
TEST(SplitSums, OfAVectorAndAMatrixUnderBudgets) {
  const Array a = samples(1, {2048, 16}, f32), b = samples(2, {16, 300}, f32), v = samples(3, {2048}, f32);
  check_budgets([](const Array& x, const Array& y, const Array& w) { return matmul(w, sin(matmul(x, y))); }, a, b, v);
  check_budgets([](const Array& x, const Array& y, const Array& w) { return matmul(w, sort(sin(matmul(x, y)), 1)); }, a,
                b, v);
}

TEST_P(SplitSums, OfGradientsOfLayers) {
  const auto f = grad<0, 1>([](const Array& w, const Array& b, const Array& x) {
    Array h = x;
    for (int i = 0; i < 3; ++i) h = tanh(matmul(h, w) + b);
    return mean(h * h);
  });
  const DType t = GetParam();
  check_counts(f, samples(2, {32, 32}, t), samples(3, {32}, t), samples(1, {2000, 32}, t));
}

TEST(SplitSums, OfLayersUnderBudgets) {
  const auto f = grad([](const Array& w, const Array& x) {
    Array h = x;
    for (int i = 0; i < 4; ++i) h = tanh(matmul(h, w));
    return sum(h * h);
  });
  check_budgets(f, samples(2, {64, 64}, f32), samples(1, {512, 64}, f32));
}

TEST_P(SplitSums, OfAttention) {
  const auto f = [](const Array& q, const Array& k, const Array& v) {
    return matmul(softmax(matmul(q, swapaxes(k, -1, -2)) / 4), v);
  };
  const DType t = GetParam();
  check_counts(f, samples(1, {2, 300, 16}, t), samples(2, {2, 300, 16}, t), samples(3, {2, 300, 16}, t));
}

TEST(SplitSums, OfAttentionUnderBudgets) {
  const auto f = [](const Array& q, const Array& k, const Array& v) {
    return matmul(softmax(matmul(q, swapaxes(k, -1, -2)) / 4), v);
  };
  check_budgets(f, samples(1, {2, 256, 16}, f32), samples(2, {2, 256, 16}, f32), samples(3, {2, 256, 16}, f32));
}

TEST_P(SplitSums, OfNormalisedLayers) {
  const auto f = grad([](const Array& w, const Array& x) {
    const Array h = matmul(x, w), m = mean(h, {-1}, true);
    const Array v = mean((h - m) * (h - m), {-1}, true);
    return sum(tanh((h - m) / sqrt(v + 1e-5)));
  });
  check_counts(f, samples(2, {24, 80}, GetParam()), samples(1, {1500, 24}, GetParam()));
}

// Sliced between the sums, which are not split: the bits of the whole.
TEST_P(SplitSums, OfOuterProducts) {
  const auto f = [](const Array& x, const Array& y) {
    const Array p = expand_dims(x, 2) * expand_dims(y, 1);
    return sqrt(sum(p * p, {1, 2})) + sum(exp(p), {1, 2});
  };
  const Array x = samples(1, {200, 30}, GetParam()), y = samples(2, {200, 45}, GetParam()), whole = jit(f)(x, y);
  for (const int64_t chunks : {2, 3, 7, 64, 200}) {
    const Measured m = measure(jit(f, {.strategy = "chunked", .chunks = chunks}), x, y);
    EXPECT_TRUE(has(m.plan, "chunked")) << m.plan;
    EXPECT_TRUE(same_bits(m.outputs[0], whole)) << chunks << '\n' << m.plan;
  }
}

TEST(SplitSums, OfRowsAddedToTables) {
  const auto f = grad(
      [](const Array& table, const Array& rows, const Array& w) { return sum(tanh(matmul(take(table, rows), w))); });
  const Array rows = nr::randint(nr::key(5), {6, 20'000}, 0, 50, i32);
  check_counts(f, samples(1, {50, 8}, f32), rows, samples(2, {8, 8}, f32));
}

TEST(SplitSums, OfEachExample) {
  const auto one = [](const Array& table, const Array& rows) { return sum(tanh(take(table, rows)) * 0.1); };
  const auto f = [=](const Array& table, const Array& rows) { return sum(vmap(grad(one))(table, rows), {0}); };
  check_counts(f, samples(1, {16, 500, 4}, f32), nr::randint(nr::key(5), {16, 30'000}, 0, 500, i32));
}

}  // namespace
}  // namespace neap
