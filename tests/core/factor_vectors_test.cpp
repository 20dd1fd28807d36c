// Eigenvectors and singular vectors by what they must satisfy, of matrices whose values are equal, close or far apart.
#include "tests/core/factor_matrices.h"

#include <numbers>

namespace neap::factor {
namespace {

using namespace test;

template <class T>
class FactorVectors : public OfMatrices<T> {};
TYPED_TEST_SUITE(FactorVectors, Types);

TYPED_TEST(FactorVectors, EighDiagonalises) {
  using T = TypeParam;
  for (const int64_t n : kSizes) {
    for (const double scale : {1.0, 1e-30, 1e30, 0.0}) {
      std::vector<T> a = numbers<T>(n * n, static_cast<uint64_t>(n));
      for (T& x : a) x *= static_cast<T>(scale);
      for (int64_t i = 0; i < n; ++i) {
        // Rows of zeros, and pairs of equal eigenvalues.
        for (int64_t j = 0; j <= i; ++j)
          if (i % 7 == 3 || j % 7 == 3) a[i * n + j] = T(0);
        for (int64_t j = i + 1; j < n; ++j) a[i * n + j] = T(99);
      }
      Form form{.kind = Kind::eigh, .dtype = kDtype<T>, .m = n, .n = n};
      const std::vector<T> out = factors<T>(form, a);
      form.vectors = false;
      const std::vector<T> values = factors<T>(form, a);
      const T *at = out.data(), *from = a.data();
      const Matrix w = take(at, 1, n), v = take(at, n, n);
      Matrix given = take(from, n, n), diagonal = zeros(n, n);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = i + 1; j < n; ++j) given(i, j) = given(j, i);
        diagonal(i, i) = w(0, i);
        // Without vectors the matrix is not divided; both are as far from the truth.
        EXPECT_LE(std::abs(w(0, i) - double(values[i])), n < kDividedRows ? 0 : 2 * scale * this->tolerance(n));
        EXPECT_TRUE(i == 0 || w(0, i - 1) <= w(0, i));
      }
      EXPECT_LE(difference(v * diagonal * transposed(v), given), scale * 2 * std::sqrt(double(n)) * this->tolerance(n))
          << n;
      EXPECT_LT(difference(transposed(v) * v, identity(n)), this->tolerance(n)) << n;
    }
  }
}

// Whose eigenvalues are known, equal, or in clusters: what divide and conquer takes out, turns, or tells apart by the
// last digits.
TYPED_TEST(FactorVectors, EighOfEqualAndCloseEigenvalues) {
  using T = TypeParam;
  const auto elements = numbers<double>(300 * 300, 7);
  const auto given = [&](int kind, int64_t i, int64_t j, int64_t n) -> double {
    const double x = elements[static_cast<size_t>(i * 300 + j)];
    const int64_t apart = i - j;
    switch (kind) {
      case 0: return apart == 0 ? 2 : apart == 1 ? -1 : 0;  // 2 - 2 cos(k pi / (n + 1))
      case 1: return apart == 0 ? std::abs(static_cast<double>(2 * i - n)) / 2 : apart == 1 ? 1 : 0;  // Wilkinson's
      case 2: return 1;
      case 3: return apart == 0 ? static_cast<double>(i / 8) : 0;
      case 4: return (apart == 0 ? 1 : 0) + 1e-6 * x;
      case 5: return x * std::pow(10.0, -12.0 * static_cast<double>(i + j) / static_cast<double>(n));
      case 6: return i / 40 == j / 40 ? x : 0;  // blocks
      default: return apart == 0 ? -1 : 0;
    }
  };
  for (const int64_t n : {64, 65, 99, 300}) {
    for (int kind = 0; kind < 8; ++kind) {
      std::vector<T> a(static_cast<size_t>(n * n));
      Matrix whole = zeros(n, n), diagonal = zeros(n, n);
      double size = 0;
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
          a[static_cast<size_t>(i * n + j)] = static_cast<T>(given(kind, i, j, n));
          whole(i, j) = whole(j, i) = double(a[static_cast<size_t>(i * n + j)]);
        }
      }
      const std::vector<T> out = factors<T>({.kind = Kind::eigh, .dtype = kDtype<T>, .m = n, .n = n}, a);
      const T* at = out.data();
      const Matrix w = take(at, 1, n), v = take(at, n, n);
      for (int64_t i = 0; i < n; ++i) {
        diagonal(i, i) = w(0, i);
        size = std::max(size, std::abs(w(0, i)));
        EXPECT_TRUE(i == 0 || w(0, i - 1) <= w(0, i));
        if (kind != 0) continue;
        const double exact =
            2 - 2 * std::cos(static_cast<double>(i + 1) * std::numbers::pi / static_cast<double>(n + 1));
        EXPECT_NEAR(w(0, i), exact, this->tolerance(n));
      }
      EXPECT_LE(difference(v * diagonal * transposed(v), whole), size * this->tolerance(n)) << n << " " << kind;
      EXPECT_LE(difference(transposed(v) * v, identity(n)), this->tolerance(n)) << n << " " << kind;
    }
  }
}

// A block whose elements' squares vanish beside the others.
TEST(FactorScales, EigenvectorsStayOrthogonal) {
  constexpr int64_t n = 6;
  for (const double tiny : {1e-161, 1e-200, 1e-300}) {
    std::vector<double> a = numbers<double>(n * n, 3);
    for (double& x : a) x *= tiny;
    for (int64_t j = 0; j < n; ++j) a[j * n] = a[j] = j == 0 ? 1 : 0;
    const std::vector<double> out = factors<double>({.kind = Kind::eigh, .dtype = DType::f64, .m = n, .n = n}, a);
    const double* at = out.data() + n;
    const Matrix v = take(at, n, n);
    EXPECT_LT(difference(transposed(v) * v, identity(n)), 1e-14) << tiny;
  }
}

TYPED_TEST(FactorVectors, SvdIsOrthogonalTimesDiagonalTimesOrthogonal) {
  using T = TypeParam;
  for (const int64_t m : kSizes) {
    for (const int64_t n : {m, int64_t{1}, int64_t{0}, m / 3, m + 5, 3 * m}) {
      // 1: of low rank; 2: zeros; 3: ones, whose reduction shrinks by epsilon a column; 4: columns that do, down to
      // zero
      for (const int kind : {0, 1, 2, 3, 4}) {
        const int64_t k = std::min(m, n);
        std::vector<T> a = numbers<T>(m * n, static_cast<uint64_t>(m * 300 + n));
        if (kind == 1) {
          for (int64_t i = 1; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) a[i * n + j] = i % 2 ? a[j] * T(i) : j % 3 ? a[i * n + j] : T(0);
        }
        if (kind == 2) std::ranges::fill(a, T(0));
        if (kind == 3) std::ranges::fill(a, T(1));
        for (int64_t i = 0; kind == 4 && i < m * n; ++i) a[i] *= static_cast<T>(std::exp(-2.0 * double(i % n)));
        double size = 1;
        for (const T x : a) size = std::max(size, std::abs(double(x)));
        for (const bool full : {false, true}) {
          Form form{.kind = Kind::svd, .dtype = kDtype<T>, .m = m, .n = n, .full = full};
          const std::vector<T> out = factors<T>(form, a);
          form.vectors = false;
          const std::vector<T> values = factors<T>(form, a);
          const T *at = out.data(), *from = a.data();
          const Matrix s = take(at, 1, k), u = take(at, m, full ? m : k), vt = take(at, full ? n : k, n);
          Matrix diagonal = zeros(u.columns, vt.rows);
          for (int64_t i = 0; i < k; ++i) {
            diagonal(i, i) = s(0, i);
            // Without vectors the matrix is not divided; both are as far from the truth.
            EXPECT_LE(std::abs(s(0, i) - double(values[i])),
                      k < kDividedRows ? 0 : std::max(size, s(0, 0)) * this->tolerance(m));
            EXPECT_GE(s(0, i), 0);
            EXPECT_TRUE(i == 0 || s(0, i - 1) >= s(0, i));
          }
          EXPECT_LE(difference(u * diagonal * vt, take(from, m, n)),
                    4 * size * std::sqrt(double(k)) * this->tolerance(m))
              << m << " " << n << " " << kind;
          EXPECT_LT(difference(transposed(u) * u, identity(u.columns)), this->tolerance(m + n)) << m << " " << n;
          EXPECT_LT(difference(vt * transposed(vt), identity(vt.rows)), this->tolerance(m + n)) << m << " " << n;
        }
      }
    }
  }
}

// Matrices whose elements fall by orders of magnitude, up, down or to the middle: iterations end, with vectors or
// without, which are of other ways from 64 rows on, and vectors are orthogonal.
TEST(FactorScales, GradedMatrices) {
  for (const int64_t n : {20, 63, 64, 200}) {
    for (const double orders : {10, 20, 40, 80, 150, 200, 250, 280, 300}) {
      for (const int where : {0, 1, 2}) {
        for (const Kind kind : {Kind::eigh, Kind::svd}) {
          std::vector<double> a(static_cast<size_t>(n * n));
          for (int64_t i = 0; i < n; ++i) {
            const double down = double(i) / double(n);
            const double part = where == 0 ? down : where == 1 ? 1 - down : std::abs(2 * down - 1);
            const double x = std::pow(10.0, -orders * part);
            a[static_cast<size_t>(i * n + i)] = x;
            if (kind == Kind::svd && i + 1 < n) a[static_cast<size_t>(i * n + i + 1)] = x;
            if (kind == Kind::eigh && i > 0)
              a[static_cast<size_t>(i * n + i - 1)] = a[static_cast<size_t>(i * n - n + i)] = x;
          }
          Form form{.kind = kind, .dtype = DType::f64, .m = n, .n = n};
          const std::vector<double> out = factors<double>(form, a);
          form.vectors = false;
          const std::vector<double> values = factors<double>(form, a);
          const double *at = out.data(), *from = a.data();
          const Matrix w = take(at, 1, n), u = take(at, n, n), v = kind == Kind::svd ? take(at, n, n) : transposed(u);
          Matrix scaled = u;
          for (int64_t j = 0; j < n; ++j) {
            ASSERT_NEAR(w(0, j), values[static_cast<size_t>(j)], 1e-14) << n << " " << orders << " " << where;
            for (int64_t i = 0; i < n; ++i) scaled(i, j) *= w(0, j);
          }
          ASSERT_LE(difference(scaled * v, take(from, n, n)), 1e-14) << n << " " << orders << " " << where;
          ASSERT_LE(difference(transposed(u) * u, identity(n)), 2e-14) << n << " " << orders << " " << where;
          ASSERT_LE(difference(v * transposed(v), identity(n)), 2e-14) << n << " " << orders << " " << where;
        }
      }
    }
  }
}

// Bidiagonal matrices, which are what is divided, and others whose singular values are known, equal, close or zero.
TYPED_TEST(FactorVectors, SvdOfEqualAndCloseSingularValues) {
  using T = TypeParam;
  const auto elements = numbers<double>(300 * 300, 7);
  const auto given = [&](int kind, int64_t i, int64_t j, int64_t n) -> double {
    const double x = elements[static_cast<size_t>(i * 300 + j)], part = double(i) / double(n);
    const bool diagonal = i == j, beside = j == i + 1;
    switch (kind) {
      case 0: return diagonal || beside ? 1 : 0;  // 2 cos(k pi / (2 n + 1))
      case 1: return diagonal ? -3 : 0;
      case 2: return diagonal || beside ? std::pow(10.0, -300 * part) : 0;  // squares of which vanish
      case 3: return diagonal ? x : beside && i != n / 2 ? 1e-9 * x : 0;
      case 4: return beside ? 1 : 0;
      case 5: return diagonal ? double(i / 8) : 0;
      case 6: return (diagonal ? 1 : 0) + 1e-6 * x;
      case 7: return i / 40 == j / 40 ? x : 0;                            // blocks
      case 8: return diagonal ? (i % 3 ? 1 : 0) : beside ? 1e-3 * x : 0;  // zeros on the diagonal
      case 9: return i == n / 2 ? x : 0;                                  // one row
      case 10: return diagonal || beside ? std::pow(10.0, -300 * (1 - part)) : 0;
      case 11: return diagonal ? 1e-20 : beside ? 1 : 0;
      case 12: return j <= i ? (diagonal ? 1 : -1) : 0;                 // Kahan's, of which the smallest value is 2^-n
      case 13: return diagonal || beside ? (i < n / 2 ? 1 : 1e-8) : 0;  // halves that hardly touch
      case 14: return x * (j < n / 2 ? 1 : 1e-9);
      case 15: return x * (j < n / 2 ? 1 : 1e-12);
      case 16: return x * (i == n / 2 ? 1e-8 : 1);
      case 17: return (diagonal || beside) && i == n / 2 ? 1e-8 * x : diagonal || beside ? x : 0;
      default: return x * std::pow(10.0, -12.0 * double(i + j) / double(n));
    }
  };
  for (const int64_t n : {64, 65, 99, 300}) {
    for (int kind = 0; kind < 19; ++kind) {
      std::vector<T> a(static_cast<size_t>(n * n));
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) a[static_cast<size_t>(i * n + j)] = static_cast<T>(given(kind, i, j, n));
      const std::vector<T> out = factors<T>({.kind = Kind::svd, .dtype = kDtype<T>, .m = n, .n = n}, a);
      const T *at = out.data(), *from = a.data();
      const Matrix s = take(at, 1, n), u = take(at, n, n), vt = take(at, n, n);
      Matrix scaled = u;
      for (int64_t j = 0; j < n; ++j) {
        EXPECT_TRUE(s(0, j) >= 0 && (j == 0 || s(0, j - 1) >= s(0, j)));
        for (int64_t i = 0; i < n; ++i) scaled(i, j) *= s(0, j);
        if (kind == 0) {
          EXPECT_NEAR(s(0, j), 2 * std::cos(double(j + 1) * std::numbers::pi / double(2 * n + 1)), this->tolerance(n));
        }
      }
      EXPECT_LE(difference(scaled * vt, take(from, n, n)), s(0, 0) * this->tolerance(n)) << n << " " << kind;
      EXPECT_LE(difference(transposed(u) * u, identity(n)), this->tolerance(n)) << n << " " << kind;
      EXPECT_LE(difference(vt * transposed(vt), identity(n)), this->tolerance(n)) << n << " " << kind;
    }
  }
}

}  // namespace
}  // namespace neap::factor
