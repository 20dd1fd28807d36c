// Convolutions: every dtype, one to three axes of space, strides, dilations, zeros between elements, paddings that add
// and cut, groups, axes in any order; their derivatives and batches; the same bits in every pipeline.
#include <neap/neap.h>

#include "tests/conformance/harness.h"
#include "trace/graph/convolution.h"

namespace neap::conformance {
namespace {

using tracing::convolution_attrs;
using tracing::Window;

class Convolution : public testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(DType, Convolution, testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

struct Sizes {
  int64_t groups, batch, out, in;
  Shape extents;
  std::vector<Window> windows;
};

const Sizes kSizes[] = {{1, 2, 3, 2, {9}, {{3, 1, 1, 1, 1, 0}}},
                        {2, 3, 2, 3, {8}, {{2, 2, 3, 0, 2, 0}}},
                        {1, 1, 2, 2, {7}, {{4, 1, 1, 3, 2, 1}}},
                        {1, 2, 1, 3, {6}, {{2, 2, 2, 1, 1, 2}}},
                        {1, 2, 2, 2, {9}, {{3, 1, 1, -2, -1, 0}}},
                        {1, 1, 1, 1, {5}, {{1, 1, 1, 0, 0, 3}}},
                        {1, 2, 5, 4, {6, 7}, {{3, 1, 1, 1, 1, 0}, {2, 3, 1, 0, 1, 0}}},
                        {3, 2, 1, 1, {5, 6}, {{3, 1, 1, 2, 1, 1}, {2, 1, 2, 0, 0, 0}}},
                        {1, 2, 2, 2, {3, 4, 5}, {{2, 1, 1, 1, 0, 0}, {3, 2, 1, 1, 1, 0}, {2, 1, 2, 0, 1, 1}}},
                        {1, 9, 2, 2, {4}, {{4, 1, 1, 0, 0, 0}}},
                        {1, 1, 1, 1, {4}, {{7, 1, 1, 0, 0, 0}}}};  // fits nowhere

// Shape by role, in this order of axes.
Shape placed(const Ints& axes, const Shape& by_role) {
  Shape shape(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) shape[axes[i]] = by_role[i];
  return shape;
}

TEST_P(Convolution, ShapesStepsAndAxes) {
  const DType t = GetParam();
  if (t == bool_) return;  // conv_general counts them as i32
  Sheet s(900 + static_cast<uint64_t>(t));
  for (const Sizes& size : kSizes) {
    Shape x{size.groups, size.batch, size.in}, w{size.groups, size.out, size.in};
    x.insert(x.end(), size.extents.begin(), size.extents.end());
    Ints straight, turned;
    for (const Window& window : size.windows) w.push_back(window.size);
    for (size_t i = 0; i < x.size(); ++i) straight.push_back(static_cast<int64_t>(i));
    turned.assign(straight.rbegin(), straight.rend());
    for (const auto& [lhs, rhs, out] : {std::array{straight, straight, straight},
                                        std::array{turned, straight, straight}, std::array{straight, turned, turned}}) {
      const Tolerance near = size_of(t) == 2 ? Tolerance{2, 1e-2}
                             : t == f32      ? Tolerance{64, 1e-5}
                                             : Tolerance{64, 1e-13};
      s.check(fmt::format("{} {} with {}", name(t), to_string(placed(lhs, x)), to_string(placed(rhs, w))),
              Op::convolution, {s.input(placed(lhs, x), t, Fill::tame), s.input(placed(rhs, w), t, Fill::tame)},
              convolution_attrs(lhs, rhs, out, size.windows), is_float(t) ? near : kSameBits);
    }
  }
  s.run();
}

Array values(const Shape& shape, uint32_t seed) { return random::normal(random::key(seed), shape, f64); }

// The sum of a convolution and weights, as a function of both operands at once.
double slope(const std::function<Array(const Array&, const Array&)>& f, const Array& x, const Array& w, const Array& dx,
             const Array& dw) {
  const double h = 1e-5;
  return (f(x + h * dx, w + h * dw) - f(x - h * dx, w - h * dw)).item<double>() / (2 * h);
}

TEST(ConvolutionDerivatives, AreThoseOfDifferences) {
  for (const Windows& windows :
       {Windows{}, Windows{.stride = {2, 3}, .padding = {{1, 2}, {0, 1}}}, Windows{.same = true, .dilation = {1, 2}},
        Windows{.stride = {3, 1}, .same = true, .groups = 2},
        Windows{.padding = {{2, 2}, {1, 1}}, .input_dilation = {2, 3}},
        Windows{.stride = {2, 1}, .padding = {{-1, 3}, {2, -1}}, .dilation = {1, 2}, .input_dilation = {1, 2}}}) {
    const Array x = values({2, 4, 7, 8}, 1), dx = values(x.shape(), 2), w = values({4, 4 / windows.groups, 3, 2}, 3),
                dw = values(w.shape(), 4);
    const Array weights = values(conv_general(x, w, windows).shape(), 5);
    const auto f = [&](const Array& a, const Array& b) {
      const Array y = conv_general(a, b, windows);
      return sum(y * y * weights);
    };
    const double expected = slope(f, x, w, dx, dw);
    const auto [gx, gw] = jit(grad<0, 1>(f))(x, w);
    EXPECT_NEAR((sum(gx * dx) + sum(gw * dw)).item<double>(), expected, 1e-6 * std::fabs(expected) + 1e-6);
    EXPECT_NEAR(jvp(f, std::tuple{x, w}, std::tuple{dx, dw}).tangent.item<double>(), expected,
                1e-6 * std::fabs(expected) + 1e-6);
    const auto first = [&](const Array& a, const Array& b) {
      const auto [ga, gb] = grad<0, 1>(f)(a, b);
      return sum(ga * dx) + sum(gb * dw);
    };
    const double second = slope(first, x, w, dx, dw);
    const auto [hx, hw] = jit(grad<0, 1>(first))(x, w);
    EXPECT_NEAR((sum(hx * dx) + sum(hw * dw)).item<double>(), second, 1e-5 * std::fabs(second) + 1e-5);
  }
}

TEST(ConvolutionBatches, AreThoseOfEachExample) {
  const Array x = values({3, 2, 4, 6, 5}, 1), w = values({3, 6, 2, 3, 2}, 2);
  const Windows windows{.stride = {2, 1}, .same = true, .groups = 2};
  const auto f = [&](const Array& a, const Array& b) { return conv_general(a, b, windows); };
  const auto gradient = [&](const Array& a, const Array& b) {
    return grad([&](const Array& c) { return sum(square(f(a, c))); })(b);
  };
  for (int64_t i = 0; i < 3; ++i) {
    const auto near = [&](const Array& got, const Array& want) {
      EXPECT_TRUE(allclose(got, want, 1e-12, 1e-12).item<bool>()) << i;
    };
    near(vmap(f)(x, w)[{i}], f(x[{i}], w[{i}]));
    near(vmap([&](const Array& a) { return f(a, w[{0}]); })(x)[{i}], f(x[{i}], w[{0}]));
    near(vmap([&](const Array& b) { return f(x[{0}], b); })(w)[{i}], f(x[{0}], w[{i}]));
    near(vmap(gradient)(x, w)[{i}], gradient(x[{i}], w[{i}]));
    near(vmap([&](const Array& a) { return gradient(a, w[{0}]); })(x)[{i}], gradient(x[{i}], w[{0}]));
  }
}

TEST(ConvolutionBits, AreTheSameUnderBudgetsAndNaive) {
  if (default_device() != cpu()) GTEST_SKIP() << "a sum of products, whose sums over examples are cut like others";
  const Array x = random::normal(random::key(1), {16, 8, 24, 24}), w = random::normal(random::key(2), {8, 8, 3, 3});
  const auto f = [](const Array& a, const Array& b) {
    const auto loss = [&](const Array& c) {
      return sum(square(conv_general(tanh(conv_general(a, c, {.same = true})), c, {.stride = {2, 2}, .same = true})));
    };
    return grad(loss)(b);
  };
  const auto free = jit(f);
  const Array whole = free(x, w);
  const size_t peak = free.plan(x, w).peak_bytes();
  EXPECT_TRUE(array_equal(jit(f, {.pipeline = Pipeline::naive})(x, w), whole).item<bool>());
  for (const double share : {0.9, 0.75, 0.6}) {
    const auto small = jit(f, {.memory_budget = static_cast<size_t>(share * static_cast<double>(peak))});
    EXPECT_TRUE(array_equal(small(x, w), whole).item<bool>()) << share;
  }
}

TEST(ConvolutionOfComplexNumbers, IsThatOfTheirParts) {
  const Array x = complex(values({2, 3, 6}, 1), values({2, 3, 6}, 2)),
              w = complex(values({4, 3, 2}, 3), values({4, 3, 2}, 4));
  const Array y = conv_general(x, w);
  EXPECT_TRUE(
      allclose(real(y), conv_general(real(x), real(w)) - conv_general(imag(x), imag(w)), 1e-12, 1e-12).item<bool>());
  EXPECT_TRUE(
      allclose(imag(y), conv_general(real(x), imag(w)) + conv_general(imag(x), real(w)), 1e-12, 1e-12).item<bool>());
}

// What one convolution writes transposed is what the next one reads: the transpose is one of theirs alone.
TEST(ConvolutionsOfConvolutions, WithTransposesBetweenThem) {
  const Array x = values({2, 3, 9, 9}, 1), w = values({3, 3, 1, 5}, 2);
  const auto separable = [&](const Array& a, const Array& b) {
    const Array rows = conv_general(a, b, {.same = true});
    const Array turned = swapaxes(rows, 2, 3);
    return conv_general(turned, b, {.same = true}) + tanh(turned) * 0.5;
  };
  const auto alone = [&](const Array& a, const Array& b) {
    return conv_general(swapaxes(conv_general(a, b, {.same = true}), 2, 3), b, {.same = true});
  };
  EXPECT_TRUE(allclose(jit(separable)(x, w), separable(x, w), 1e-12, 1e-12).item<bool>());
  EXPECT_TRUE(allclose(jit(alone)(x, w), alone(x, w), 1e-12, 1e-12).item<bool>());
  const Array narrow = x.astype(bf16), weights = w.astype(bf16);
  EXPECT_TRUE(array_equal(jit(alone)(narrow, weights), alone(narrow, weights)).item<bool>());
}

TEST(ConvolutionsOfNothing, AndOfFarSteps) {
  const Array w = ones({2, 3, 2, 2}, f64);
  const auto f = [&](const Array& a) { return conv_general(a, w); };
  EXPECT_EQ(vmap(f)(zeros({0, 2, 3, 6, 8}, f64)).shape(), (Shape{0, 2, 2, 5, 7}));
  const Array far = conv_general(ones({1, 1, 4}), ones({1, 1, 2}), {.stride = {int64_t{1} << 62}});
  EXPECT_EQ(far.to_vector<float>(), std::vector<float>{2});
}

// Zeros between elements are multiplied by nothing, whatever the steps.
TEST(ConvolutionsOfDilatedInputs, SkipTheirZeros) {
  const Array infinite = where(iota({1, 1, 3}, 2) == 1, std::numeric_limits<float>::infinity(), 1.0f);
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t dilation : {1, 2, 3}) {
      const Windows windows{.stride = {stride}, .dilation = {dilation}, .input_dilation = {2}};
      EXPECT_FALSE(any(isnan(conv_general(ones({1, 1, 6}), infinite, windows))).item<bool>()) << stride << dilation;
    }
  }
}

// What is not finite stays where windows reach it.
TEST(ConvolutionOfInfinities, AreWhereWindowsReachThem) {
  const Array x = ones({1, 1, 9});
  const Array y =
      conv_general(where(iota({1, 1, 9}, 2) == 4, std::numeric_limits<float>::infinity(), 1.0f), ones({1, 1, 3}));
  EXPECT_TRUE(array_equal(isinf(y), (iota({1, 1, 7}, 2) >= 2) & (iota({1, 1, 7}, 2) <= 4)).item<bool>());
  EXPECT_FALSE(any(isnan(y)).item<bool>());
  const auto gradient = jit([](const Array& a, const Array& c) {
    return grad([&](const Array& b) { return sum(conv_general(b, ones({1, 1, 3}), {.stride = {2}}) * c); })(a);
  });
  const Array c = where(iota({1, 1, 4}, 2) == 1, std::numeric_limits<float>::infinity(), 1.0f), g = gradient(x, c);
  EXPECT_TRUE(array_equal(isinf(g), (iota({1, 1, 9}, 2) >= 2) & (iota({1, 1, 9}, 2) <= 4)).item<bool>());
  EXPECT_FALSE(any(isnan(g)).item<bool>());
}

}  // namespace
}  // namespace neap::conformance
