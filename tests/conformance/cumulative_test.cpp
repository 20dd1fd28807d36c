// cumsum and its kin: every dtype, along every axis and from both ends, of shapes around what each way of running them
// is for; over a dying operand; and in slices of the other axes.
#include <neap/neap.h>

#include "tests/conformance/harness.h"

namespace neap::conformance {
namespace {

class Cumulative : public testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(DType, Cumulative, testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

// A sum or product is rounded where it is written, of doubles at every step, where the reference has more digits.
Tolerance rounded(DType t) { return {t == f64 ? 16 : 1, 1e-13}; }

constexpr Op kOps[] = {Op::cumsum, Op::cumprod, Op::cummax, Op::cummin};

TEST_P(Cumulative, ShapesAndAxes) {
  const DType t = GetParam();
  Sheet s(700 + static_cast<uint64_t>(t));
  const std::pair<Shape, int64_t> cases[] = {{{0}, 0},      {{1}, 0},         {{2}, 0},          {{5, 33}, 0},
                                             {{5, 33}, 1},  {{2, 7, 129}, 1}, {{3, 0, 4}, 1},    {{0, 4}, 1},
                                             {{3, 700}, 0}, {{2, 300, 3}, 1}, {{2, 40, 600}, 1}, {{19, 2}, 1},
                                             {{8, 5}, 1},   {{3, 7, 16}, 2},  {{9, 17}, 1}};
  for (const auto& [shape, axis] : cases) {
    for (const Op op : kOps) {
      if (t == bool_ && (op == Op::cumsum || op == Op::cumprod)) continue;  // of integers, by numpy.h
      for (const int64_t reverse : {0, 1}) {
        s.check(fmt::format("{} {}{} along {}{}", tracing::name(op), name(t), to_string(shape), axis,
                            reverse ? " from the end" : ""),
                op, {s.input(shape, t, op == Op::cummax || op == Op::cummin ? Fill::wild : Fill::tame)},
                {{Attr::axis, axis}, {Attr::reverse, reverse}},
                is_float(t) && (op == Op::cumsum || op == Op::cumprod) ? rounded(t) : kSameBits);
      }
    }
  }
  s.run();
}

// Rows of several blocks: whole numbers of which every sum is exact.
TEST(CumulativeRows, LongOnesAreExact) {
  for (const Shape& shape : {Shape{100'003}, Shape{3, 50'000}, Shape{40'000, 3}, Shape{9'000, 513}}) {
    const int64_t axis = shape[0] > 10 ? 0 : 1, n = shape[static_cast<size_t>(axis)];
    for (const bool reverse : {false, true}) {
      const Array x = (iota(shape, axis, i32) % 7 - 2).astype(f32);
      const Array sums = jit([=](const Array& a) { return cumsum(a, axis, reverse); })(x);
      // By halves: the sum of the first k is that of 1, 2, 4, ... elements before.
      Array expected = x;
      for (int64_t step = 1; step < n; step *= 2) {
        Shape low(shape.size(), 0), high = low;
        (reverse ? high : low)[static_cast<size_t>(axis)] = step;
        (reverse ? low : high)[static_cast<size_t>(axis)] = -step;
        expected = expected + pad(expected, low, high, 0);
      }
      EXPECT_TRUE(array_equal(sums, expected).item<bool>()) << to_string(shape) << reverse;
    }
  }
}

// However many rows are taken at once, and however they lie: blocks follow from the length alone.
TEST(CumulativeRows, BitsDoNotDependOnSlicesOrLayout) {
  const Array y = random::normal(random::key(4), {64, 20'000}, f64);
  const auto f = [](const Array& x) { return max(cumsum(sin(x), 1), {1}); };
  const Array whole = jit(f)(y);
  const auto same = [&](const Array& got) { return array_equal(got, whole).item<bool>(); };
  EXPECT_TRUE(same(jit(f, {.pipeline = Pipeline::naive})(y)));
  EXPECT_TRUE(same(jit(f, {.memory_budget = y.bytes() + y.bytes() / 8})(y)));
  const auto columns = [](const Array& x) { return max(cumsum(sin(x), 0), {0}); };
  EXPECT_TRUE(same(jit(columns)(transpose(y))));
  EXPECT_TRUE(same(jit(vmap([](const Array& row) { return max(cumsum(sin(row))); }))(y)));
  EXPECT_EQ(jit([](const Array& row) { return max(cumsum(sin(row))); })(y[{0}]).item<double>(),
            whole[{0}].item<double>());
}

// What blocks of a product alone would overflow or vanish in is no part of the result.
TEST(CumulativeRows, ProductsHaveOneBlock) {
  const Array even = iota({40'000}, 0, i32) % 2 == 0;
  const Array products = cumprod(where(even, 2.0f, 0.5f));
  EXPECT_TRUE(array_equal(products, where(even, 2.0f, 1.0f)).item<bool>());
  EXPECT_TRUE(array_equal(cumprod(iota({40'000}, 0, f32)), zeros({40'000})).item<bool>());
}

TEST(CumulativeRows, ZerosKeepTheirSigns) {
  const Array minus = cumsum(full({3}, -0.0f, f32));
  EXPECT_TRUE(all(signbit(minus)).item<bool>());
  std::vector<float> values(40'000, -1);
  values[1] = 0.0f, values[8] = -0.0f;
  EXPECT_FALSE(any(signbit(cummax(array(values))[{slice(1, 40'000)}])).item<bool>()) << "the first of equal ones";
}

TEST(CumulativeRows, SumsDoNotDrift) {
  const Array sums = cumsum(full({1 << 20}, 0.1f, f32));
  EXPECT_FLOAT_EQ(sums[{-1}].item<float>(), 104857.6f);
  const Array narrow = cumsum(full({4096}, 1, bf16));
  EXPECT_EQ(narrow[{-1}].astype(f32).item<float>(), 4096);
}

TEST(CumulativeTransforms, OverADyingOperandAndInSlices) {
  const auto f = [](const Array& x) { return sum(exp(cumsum(sin(x), 1)), {1}); };
  const Array x = random::normal(random::key(3), {512, 1000});
  const auto free = jit(f);
  const Array whole = free(x);
  const size_t bytes = x.bytes(), tight = bytes + bytes / 4;
  EXPECT_LT(free.plan(x).peak_bytes(), 2 * bytes + bytes / 4) << "in place";
  const auto small = jit(f, {.memory_budget = tight});
  EXPECT_TRUE(array_equal(small(x), whole).item<bool>());
  EXPECT_LE(small.plan(x).peak_bytes(), tight);
  EXPECT_TRUE(
      array_equal(jit(vmap([](const Array& row) { return sum(exp(cumsum(sin(row)))); }))(x), whole).item<bool>());
}

TEST(CumulativeTransforms, DerivativesAreThoseOfTheMasks) {
  const Array x = array(std::vector<double>{0.5, -2, 0, 3, 3, 1.5});
  const Array w = array(std::vector<double>{1, 0.5, -1, 2, 0.25, 3});
  for (const bool reverse : {false, true}) {
    const auto slope = [&](auto f) {
      return jit(grad([&](const Array& a) { return sum(f(a) * w); }))(x).template to_vector<double>();
    };
    const std::vector<double> of_sum = slope([&](const Array& a) { return cumsum(a, 0, reverse); });
    const std::vector<double> weights = w.to_vector<double>();
    for (size_t i = 0; i < weights.size(); ++i) {
      double expected = 0;
      for (size_t j = 0; j < weights.size(); ++j) expected += (reverse ? j <= i : j >= i) ? weights[j] : 0;
      EXPECT_DOUBLE_EQ(of_sum[i], expected);
    }
    // A zero takes part: the derivative there is the product of the others.
    const std::vector<double> of_product = slope([&](const Array& a) { return cumprod(a, 0, reverse); });
    EXPECT_NE(of_product[2], 0);
    const std::vector<double> of_max = slope([&](const Array& a) { return cummax(a, 0, reverse); });
    double total = 0;
    for (const double d : of_max) total += d;
    EXPECT_DOUBLE_EQ(total, 5.75) << "each extreme hands on all of its derivative";
  }
}

}  // namespace
}  // namespace neap::conformance
