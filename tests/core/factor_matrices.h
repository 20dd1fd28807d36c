// What tests of factorizations share: running them between marks, matrices in f64, how far off they may be.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/factor/factor.h"

namespace neap::factor::test {

template <class T>
constexpr DType kDtype = sizeof(T) == 8 ? DType::f64 : DType::f32;

inline constexpr int64_t kGuard = 64;
inline constexpr std::byte kMark{0xA5};

// Runs a form with marks behind the result and the scratch.
template <class T>
std::vector<T> factors(const Form& form, const std::vector<T>& a, const std::vector<T>& triangle = {}) {
  const auto size = static_cast<size_t>(form.batch * result_size(form));
  std::vector<T> out(size + kGuard, T(7));
  const size_t bytes = layout(form).bytes();
  auto* const scratch = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 2 * kGuard + 63) / 64 * 64));
  std::memset(scratch, 0xA5, bytes + kGuard);
  run(form, triangle.empty() ? nullptr : triangle.data(), a.data(), out.data(), scratch);
  for (int64_t i = 0; i < kGuard; ++i) {
    EXPECT_EQ(out[size + static_cast<size_t>(i)], T(7));
    EXPECT_EQ(scratch[bytes + static_cast<size_t>(i)], kMark);
  }
  std::free(scratch);
  out.resize(size);
  return out;
}

template <class T>
std::vector<T> numbers(int64_t count, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  std::vector<T> x(static_cast<size_t>(count));
  for (T& v : x) v = static_cast<T>(normal(rng));
  return x;
}

struct Matrix {
  int64_t rows, columns;
  std::vector<double> data;
  double& operator()(int64_t i, int64_t j) { return data[static_cast<size_t>(i * columns + j)]; }
  double operator()(int64_t i, int64_t j) const { return data[static_cast<size_t>(i * columns + j)]; }
};
template <class T>
inline Matrix take(const T*& from, int64_t rows, int64_t columns) {
  Matrix a{rows, columns, {from, from + rows * columns}};
  from += rows * columns;
  return a;
}
inline Matrix zeros(int64_t rows, int64_t columns) {
  return {rows, columns, std::vector<double>(static_cast<size_t>(rows * columns))};
}
inline Matrix operator*(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.columns, b.rows);
  Matrix c = zeros(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t k = 0; k < a.columns; ++k)
      for (int64_t j = 0; j < b.columns; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}
inline Matrix transposed(const Matrix& a) {
  Matrix b = zeros(a.columns, a.rows);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j) b(j, i) = a(i, j);
  return b;
}
inline Matrix triangle(const Matrix& a, bool lower, bool unit) {
  Matrix t = zeros(a.rows, a.columns);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j) {
      if (lower ? j < i : j > i) t(i, j) = a(i, j);
      if (i == j) t(i, j) = unit ? 1 : a(i, j);
    }
  return t;
}
inline Matrix identity(int64_t n) {
  Matrix a = zeros(n, n);
  for (int64_t i = 0; i < n; ++i) a(i, i) = 1;
  return a;
}
inline double difference(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.data.size(), b.data.size());
  double most = 0;
  for (size_t i = 0; i < a.data.size(); ++i) {
    const double d = std::abs(a.data[i] - b.data[i]);
    most = std::isnan(most) || d <= most ? most : d;  // NaN is kept
  }
  return most;
}

template <class T>
class OfMatrices : public testing::Test {
 protected:
  static double tolerance(int64_t n) { return 40.0 * std::sqrt(n + 1.0) * std::numeric_limits<T>::epsilon(); }
};
using Types = testing::Types<float, double>;
inline const std::vector<int64_t> kSizes = {0, 1, 2, 3, 5, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 130, 257};

}  // namespace neap::factor::test
