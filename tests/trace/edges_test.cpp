// Functions where their operands run out: nothing to reduce, division by zero and infinity, bools as numbers.
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>
#include <limits>

namespace neap {
namespace {

class Edges : public ::testing::Test {
  eager_reference reference_;
};

TEST_F(Edges, AnExtremeNeedsAnElement) {
  const Array none_there = zeros({0, 3});
  EXPECT_THROW(max(none_there, 0), ShapeError);
  EXPECT_THROW(min(none_there), ShapeError);
  EXPECT_THROW(max(zeros({0}, bool_)), ShapeError);
  EXPECT_EQ(max(none_there, 1).shape(), (Shape{0}));
  EXPECT_EQ(logsumexp(zeros({0})).item<float>(), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(softmax(zeros({2, 0})).shape(), (Shape{2, 0}));
  try {
    max(none_there, -2);
  } catch (const ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("max: axis 0 of [0,3] is empty; expected at least one element  [edges_test"),
              std::string::npos)
        << e.what();
  }
}

TEST_F(Edges, FloorDivide) {
  const Array x = array({-5, 5, 0, -7, 7}), y = array({0, 0, 0, 2, -2});
  EXPECT_EQ(floor_divide(x, y).to_vector<int32_t>(), (std::vector<int32_t>{-1, -1, -1, -4, -4}));
  EXPECT_EQ(mod(x, y).to_vector<int32_t>(), (std::vector<int32_t>{-5, 5, 0, 1, -1}));
  const float inf = std::numeric_limits<float>::infinity();
  const Array q = floor_divide(array({-5.0f, 5.0f, -5.0f, -7.0f, inf}), array({inf, inf, 0.0f, 2.0f, 2.0f}));
  const std::vector<float> got = q.to_vector<float>();
  EXPECT_EQ(got, (std::vector<float>{-1, 0, -inf, -4, inf}));
}

TEST_F(Edges, ZeroQuotientsAndRemaindersHaveSigns) {
  const Array x = array({-0.0f, 0.0f, -0.0f, -5.0f, -4.0f, 4.0f}),
              y = array({2.0f, -2.0f, -2.0f, -INFINITY, 2.0f, -2.0f});
  EXPECT_EQ(signbit(floor_divide(x, y)).to_vector<bool>(), (std::vector<bool>{true, true, false, false, true, true}));
  EXPECT_EQ(signbit(mod(x, y)).to_vector<bool>(), (std::vector<bool>{false, true, true, true, false, true}));
  EXPECT_EQ(
      grad([](const Array& v) { return sum(mod(v, array({2.0f, -2.0f}))); })(array({-4.0f, 4.0f})).to_vector<float>(),
      (std::vector<float>{1, 1}));
}

TEST_F(Edges, PowersOfIntegersAreIntegers) {
  const Array p = power(array({2, -3, 0, 7, 0, 1, -1, 2}), array({10, 3, 0, 1, -2, -5, -3, -1}));
  EXPECT_EQ(p.to_vector<int32_t>(), (std::vector<int32_t>{1024, -27, 1, 7, 0, 1, -1, 0}));
  EXPECT_EQ(power(2, array({uint8_t{7}, uint8_t{8}})).to_vector<uint8_t>(), (std::vector<uint8_t>{128, 0}));
  EXPECT_EQ(power(array(int64_t{3}), array(int64_t{39})).item<int64_t>(), 4052555153018976267);
}

// Products, quotients and roots have the special cases of pow, and its derivatives.
TEST_F(Edges, PowersByNumbersArePow) {
  for (const DType dtype : {f32, f64}) {
    const Array x =
        array({0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-30, 1e30, 3e38, HUGE_VAL, -HUGE_VAL, double{NAN}}).astype(dtype);
    for (const double y : {0.5, -0.5, 1.5, 1.0, 2.0, 3.0, -1.0, 0.0, 2.5}) {
      const auto got = power(x, y).to_vector<double>(), want = pow(x, full({}, y, dtype)).to_vector<double>();
      for (size_t i = 0; i < got.size(); ++i) {
        if (std::isnan(want[i])) {
          EXPECT_TRUE(std::isnan(got[i])) << i << " to the " << y;
        } else if (want[i] == 0 || std::isinf(want[i])) {
          EXPECT_EQ(got[i], want[i]) << i << " to the " << y;
          EXPECT_EQ(std::signbit(got[i]), std::signbit(want[i])) << i << " to the " << y;
        } else {
          EXPECT_NEAR(got[i] / want[i], 1, dtype == f32 ? 3e-7 : 1e-15) << i << " to the " << y;
        }
      }
      const Array positive = linspace(0.2, 3, 7, dtype);
      const auto of = [&](const auto& f) { return grad([&](const Array& x) { return sum(f(x)); })(positive); };
      const auto slope = of([&](const Array& x) { return power(x, y); }).template to_vector<double>();
      const auto expected = of([&](const Array& x) { return pow(x, full({}, y, dtype)); }).template to_vector<double>();
      for (size_t i = 0; i < slope.size(); ++i) EXPECT_NEAR(slope[i], expected[i], 1e-5 * std::abs(expected[i]) + 1e-6);
    }
  }
  EXPECT_EQ(power(array({4, 9}), 0.5).to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_EQ(power(array({4, 9}), 2.0).dtype(), f32);
}

TEST_F(Edges, ProductsOfBoolsAreBools) {
  const Array p = matmul(array({true, true}), array({true, true}));
  EXPECT_EQ(p.dtype(), bool_);
  EXPECT_TRUE(p.item<bool>());
  EXPECT_EQ(matmul(array({true, false}), array({2, 3})).item<int32_t>(), 2);
}

TEST_F(Edges, FoldInTakesIntegers) {
  EXPECT_THROW(random::fold_in(random::key(0), array(1.5f)), DTypeError);
  EXPECT_THROW(random::fold_in(random::key(0), 1.5f), DTypeError);
}

}  // namespace
}  // namespace neap
