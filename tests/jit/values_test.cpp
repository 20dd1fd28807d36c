// Arrays as values of C++: made of its containers, lent memory, read as spans and rows, printed, and Eigen's matrices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <neap/eigen.h>
#include <neap/fmt.h>
#include <neap/neap.h>

#include <array>
#include <numeric>
#include <sstream>
#include <vector>

#include "tests/message.h"

namespace neap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Values, AreMadeOfContainers) {
  std::vector<float> v{1, 2, 3};
  EXPECT_THAT(array(std::span(v)).to_vector<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(array(std::span<const float>(v)).to_vector<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(array(std::span<const float, 2>(v.data(), 2)).to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(array(std::array{1, 2}).to_vector<int>(), ElementsAre(1, 2));
  EXPECT_EQ(array(std::array{1, 2, 3, 4}, Shape{2, 2}).shape(), (Shape{2, 2}));
  const Array nested = array(std::vector<std::vector<double>>{{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(nested.aval(), (Aval{{2, 3}, f64}));
  EXPECT_THAT(nested.to_vector<double>(), ElementsAre(1, 2, 3, 4, 5, 6));
  const Array bits = array(std::vector<std::vector<std::vector<bool>>>{{{true, false}}});
  EXPECT_EQ(bits.aval(), (Aval{{1, 1, 2}, bool_}));
  EXPECT_THAT(bits.to_vector<bool>(), ElementsAre(true, false));
  EXPECT_EQ(array(std::vector<std::vector<float>>{}).shape(), (Shape{0, 0}));
  EXPECT_THAT(message_of<ShapeError>([] { array(std::vector<std::vector<int>>{{1, 2}, {3}}); }),
              HasSubstr("rows of 2 and of 1"));
}

TEST(Values, OfLentMemoryAreNotCopied) {
  std::vector<float> memory(1000);
  std::iota(memory.begin(), memory.end(), 0.0f);
  int released = 0;
  const size_t before = memory::live_bytes();
  {
    const Array x = borrow(memory.data(), {10, 100}, [&](const void* data) {
      EXPECT_EQ(data, memory.data());
      ++released;
    });
    EXPECT_EQ(x.data<float>(), memory.data());
    EXPECT_EQ(memory::live_bytes() - before, 4032u);
    const auto f = jit([](const Array& a) { return sum(a * a); });
    EXPECT_EQ(f(x).item<float>(), sum(array(memory) * array(memory)).item<float>());
    EXPECT_EQ(f.plan(x).peak_bytes(), f.plan(spec({10, 100}, f32)).peak_bytes()) << "an argument as any other";
    const Array same = jit([](const Array& a) { return a; })(x);
    EXPECT_EQ(same.data<float>(), memory.data());
    EXPECT_EQ(released, 0);
    const auto donating = jit([](const Array& a) { return a + 1; }, {.donate = {0}});
    EXPECT_THAT(message_of<UserError>([&] { donating(x); }), HasSubstr("lent memory"));
    EXPECT_EQ(memory[1], 1.0f);
  }
  EXPECT_EQ(released, 1);
  EXPECT_EQ(memory::live_bytes(), before);
  EXPECT_EQ(borrow(memory.data() + 1, {5}).to_vector<float>()[0], 1.0f) << "aligned as a float";
}

TEST(Values, OfMemoryThatCannotBeLentAreRefused) {
  alignas(8) const std::byte memory[64]{};
  bool released = false;
  const auto release = [&](const void*) { released = true; };
  EXPECT_THAT(message_of<UserError>([&] { borrow(memory + 1, {4}, f32, release); }), HasSubstr("multiple of 4 bytes"));
  EXPECT_THAT(message_of<UserError>([&] { borrow(nullptr, {4}, f32, release); }), HasSubstr("a null pointer"));
  EXPECT_THAT(message_of<ShapeError>([&] { borrow(memory, {-4}, f32, release); }), HasSubstr("negative"));
  memory::set_limit(memory::live_bytes() + 32);
  EXPECT_THROW(borrow(memory, {16}, f32, release), OutOfMemoryError);
  memory::set_limit(std::nullopt);
  EXPECT_FALSE(released);
  EXPECT_EQ(borrow(nullptr, {0, 3}, f32).size(), 0);
}

TEST(Values, AreReadAsSpansAndRows) {
  const Array x = array({{1.0f, 2.0f}, {3.0f, 4.0f}});
  EXPECT_THAT(x.span<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THROW(x.span<double>(), DTypeError);
  std::vector<float> sums;
  for (const Array& row : x) sums.push_back(sum(row).item<float>());
  EXPECT_THAT(sums, ElementsAre(3, 7));
  EXPECT_EQ(item<double>(x[0][1]), 2.0);
  EXPECT_THROW(array(1.0f).begin(), IndexError);
  const auto f = jit([](const Array& a) {
    Array total = zeros({2});
    for (const Array& row : a) total = total + row;
    return total;
  });
  EXPECT_THAT(f(x).to_vector<float>(), ElementsAre(4, 6));
}

// What numpy 2.4 prints, behind dtype and shape.
TEST(Values, ArePrintedAsNumPyDoes) {
  const auto text = [](const Array& x) {
    const std::string all = to_string(x);
    return all.substr(all.find_first_of(" \n") + 1);
  };
  EXPECT_EQ(text(array({1.0f, 2.5f, -3.25f})), "[ 1.    2.5  -3.25]");
  EXPECT_EQ(text(array({{1, 2}, {3, 400}})), "[[  1   2]\n [  3 400]]");
  EXPECT_EQ(text(array({true, false})), "[ True False]");
  EXPECT_EQ(text(array({1e-5f, 2.5e3f})), "[1.0e-05 2.5e+03]");
  EXPECT_EQ(text(array({1e10, 1.0, std::nan(""), -std::numeric_limits<double>::infinity()})),
            "[1.e+10 1.e+00    nan   -inf]");
  EXPECT_EQ(text(array({0.1, 0.1234567890123, 100.0})), "[  0.1          0.12345679 100.        ]");
  EXPECT_EQ(text(reshape(arange(12), {2, 2, 3})), "[[[ 0  1  2]\n  [ 3  4  5]]\n\n [[ 6  7  8]\n  [ 9 10 11]]]");
  EXPECT_EQ(text(arange(2000)), "[   0    1    2 ... 1997 1998 1999]");
  EXPECT_EQ(text(reshape(arange(10000.0f), {100, 100})),
            "[[0.000e+00 1.000e+00 2.000e+00 ... 9.700e+01 9.800e+01 9.900e+01]\n"
            " [1.000e+02 1.010e+02 1.020e+02 ... 1.970e+02 1.980e+02 1.990e+02]\n"
            " [2.000e+02 2.010e+02 2.020e+02 ... 2.970e+02 2.980e+02 2.990e+02]\n"
            " ...\n"
            " [9.700e+03 9.701e+03 9.702e+03 ... 9.797e+03 9.798e+03 9.799e+03]\n"
            " [9.800e+03 9.801e+03 9.802e+03 ... 9.897e+03 9.898e+03 9.899e+03]\n"
            " [9.900e+03 9.901e+03 9.902e+03 ... 9.997e+03 9.998e+03 9.999e+03]]");
  EXPECT_EQ(text(array({1e100, 1e-5})), "[1.e+100 1.e-005]");
  EXPECT_EQ(text(array(std::vector<float16>{float16(0.1f), float16(3.14159f)})), "[0.1  3.14]");
  EXPECT_EQ(text(array(std::vector<bfloat16>{bfloat16(0.1f), bfloat16(256.0f)})), "[1.00e-01 2.56e+02]");
  EXPECT_EQ(text(array(3.5)), "3.5");
  EXPECT_EQ(text(array(2.0)), "2.0");
  EXPECT_EQ(text(array(-0.0)), "-0.0");
  EXPECT_EQ(text(array(1e300)), "1e+300");
  EXPECT_EQ(text(array(123456789.123)), "123456789.123");
  EXPECT_EQ(text(zeros({int64_t{1} << 40, 0})), "[]");
  EXPECT_EQ(text(array({std::complex<float>(1, 1), std::complex<float>(1, -10)})), "[1. +1.j 1.-10.j]");
  EXPECT_EQ(text(zeros({0})), "[]");
  EXPECT_EQ(text(array({std::complex<float>(1, 2), std::complex<float>(3.5f, -4)})), "[1. +2.j 3.5-4.j]");
  EXPECT_EQ(text(linspace(0, 1, 30)),
            "[0.         0.03448276 0.06896552 0.10344828 0.13793103 0.1724138\n"
            " 0.20689656 0.2413793  0.27586207 0.31034482 0.3448276  0.37931034\n"
            " 0.41379312 0.44827586 0.4827586  0.51724136 0.55172414 0.5862069\n"
            " 0.62068963 0.6551724  0.6896552  0.7241379  0.7586207  0.79310346\n"
            " 0.82758623 0.86206895 0.8965517  0.9310345  0.9655172  1.        ]");
}

TEST(Values, ArePrintedWithWhatTheyAre) {
  std::ostringstream out;
  out << array({{1, 2}, {3, 4}}) << '|' << array(2.0f) << '|' << spec({2, 3}, bf16) << '|' << Array();
  EXPECT_EQ(out.str(), "i32[2,2]\n[[1 2]\n [3 4]]|f32[] 2.0|bf16[2,3] (spec)|(an array without a value)");
  EXPECT_EQ(fmt::format("{:>14}", array({1, 2})), "  i32[2] [1 2]");
  jit([](const Array& x) {
    EXPECT_EQ(to_string(x), "f32[2] (traced)");
    return x;
  })(array({1.0f, 2.0f}));
  Array given = array({1.0f, 2.0f});
  jit([](const Array& x) { return x + 1; }, {.donate = {0}})(given);
  EXPECT_EQ(to_string(given), "f32[2] (donated)");
}

TEST(Values, AreEigensMatrices) {
  Eigen::MatrixXd by_columns(2, 3);
  by_columns << 1, 2, 3, 4, 5, 6;
  const Array x = array(by_columns);
  EXPECT_EQ(x.aval(), (Aval{{2, 3}, f64}));
  EXPECT_THAT(x.to_vector<double>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(array(by_columns.transpose() * 2).to_vector<double>(), ElementsAre(2, 8, 4, 10, 6, 12));
  EXPECT_EQ(as_matrix<double>(x), by_columns);
  const Eigen::Vector3f vector(1, 2, 3);
  EXPECT_EQ(array(vector).aval(), (Aval{{3}, f32}));
  const Array column = array(vector);
  EXPECT_EQ(as_vector<float>(column), vector);
  EXPECT_EQ(as_matrix<float>(column).rows(), 3);

  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  RowMajor rows = RowMajor::Random(4, 5);
  const Array lent = borrow(rows);
  EXPECT_EQ(lent.data<float>(), rows.data());
  EXPECT_EQ(as_matrix<float>(lent), rows);
  const float* const data = rows.data();
  const Array moved = borrow(std::move(rows));
  EXPECT_EQ(moved.data<float>(), data) << "the matrix lives in the array";
  EXPECT_EQ(moved.shape(), (Shape{4, 5}));
  const Array cube = zeros({2, 2, 2});
  EXPECT_THROW(as_matrix<float>(cube), ShapeError);
}

}  // namespace
}  // namespace neap
