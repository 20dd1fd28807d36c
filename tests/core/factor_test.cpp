// Dense factorizations by what they must satisfy: products of the factors give the matrix, factors are triangular or
// orthogonal. Nothing is written beside the result and the scratch that the layout promises.
#include "core/factor/factor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numbers>
#include <random>

#include "core/thread_pool.h"

namespace neap::factor {
namespace {

template <class T>
constexpr DType kDtype = sizeof(T) == 8 ? DType::f64 : DType::f32;

constexpr int64_t kGuard = 64;
constexpr std::byte kMark{0xA5};

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
Matrix take(const T*& from, int64_t rows, int64_t columns) {
  Matrix a{rows, columns, {from, from + rows * columns}};
  from += rows * columns;
  return a;
}
Matrix zeros(int64_t rows, int64_t columns) {
  return {rows, columns, std::vector<double>(static_cast<size_t>(rows * columns))};
}
Matrix operator*(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.columns, b.rows);
  Matrix c = zeros(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t k = 0; k < a.columns; ++k)
      for (int64_t j = 0; j < b.columns; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}
Matrix transposed(const Matrix& a) {
  Matrix b = zeros(a.columns, a.rows);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j) b(j, i) = a(i, j);
  return b;
}
Matrix triangle(const Matrix& a, bool lower, bool unit) {
  Matrix t = zeros(a.rows, a.columns);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j) {
      if (lower ? j < i : j > i) t(i, j) = a(i, j);
      if (i == j) t(i, j) = unit ? 1 : a(i, j);
    }
  return t;
}
Matrix identity(int64_t n) {
  Matrix a = zeros(n, n);
  for (int64_t i = 0; i < n; ++i) a(i, i) = 1;
  return a;
}
double difference(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.data.size(), b.data.size());
  double most = 0;
  for (size_t i = 0; i < a.data.size(); ++i) {
    const double d = std::abs(a.data[i] - b.data[i]);
    most = std::isnan(most) || d <= most ? most : d;  // NaN is kept
  }
  return most;
}

template <class T>
class Factor : public testing::Test {
 protected:
  static double tolerance(int64_t n) { return 40.0 * std::sqrt(n + 1.0) * std::numeric_limits<T>::epsilon(); }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Factor, Types);

const std::vector<int64_t> kSizes = {0, 1, 2, 3, 5, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 130, 257};

TYPED_TEST(Factor, CholeskyTimesItsTransposeIsTheMatrix) {
  using T = TypeParam;
  for (const int64_t n : kSizes) {
    std::vector<T> a(static_cast<size_t>(2 * n * n));
    for (int64_t batch = 0; batch < 2; ++batch) {
      const std::vector<T> x = numbers<T>(n * n, static_cast<uint64_t>(n + 1000 * batch));
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = i == j ? 1 : 0;
          for (int64_t k = 0; k < n; ++k) sum += double(x[i * n + k]) * double(x[j * n + k]) / double(n);
          a[(batch * n + i) * n + j] = j > i ? T(99) : static_cast<T>(sum);  // the upper triangle is not read
        }
    }
    const std::vector<T> out = factors<T>({.kind = Kind::cholesky, .dtype = kDtype<T>, .batch = 2, .m = n, .n = n}, a);
    const T *at = out.data(), *from = a.data();
    for (int64_t batch = 0; batch < 2; ++batch) {
      const Matrix l = take(at, n, n), given = take(from, n, n);
      EXPECT_EQ(difference(l, triangle(l, true, false)), 0) << n;
      EXPECT_LT(difference(triangle(l * transposed(l), true, false), triangle(given, true, false)), this->tolerance(n))
          << n;
    }
  }
}

TYPED_TEST(Factor, CholeskyOfWhatIsNotPositiveDefiniteIsNan) {
  using T = TypeParam;
  for (const int64_t n : {1, 2, 17, 40}) {
    for (const T bad : {T(-1), std::numeric_limits<T>::quiet_NaN()}) {
      std::vector<T> a(static_cast<size_t>(n * n), T(0));
      for (int64_t i = 0; i < n; ++i) a[i * n + i] = i == n / 2 ? bad : T(1);
      const std::vector<T> l = factors<T>({.kind = Kind::cholesky, .dtype = kDtype<T>, .m = n, .n = n}, a);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) EXPECT_TRUE(j > i ? l[i * n + j] == 0 : std::isnan(l[i * n + j]));
    }
  }
}

// A factor with a diagonal away from 0, garbage above it.
template <class T>
std::vector<T> lower_factor(int64_t n, uint64_t seed) {
  std::vector<T> l = numbers<T>(n * n, seed);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T& x = l[i * n + j];
      x = i == j ? T(2) + std::abs(x) / 2 : j > i ? T(99) : x / static_cast<T>(std::sqrt(double(n)));
    }
  return l;
}

TYPED_TEST(Factor, TangentsOfCholeskyAreThoseOfTheProduct) {
  using T = TypeParam;
  for (const int64_t n : kSizes) {
    const std::vector<T> l = lower_factor<T>(n, 1), v = numbers<T>(2 * n * n, 2);
    const Form form{.kind = Kind::cholesky_tangent, .dtype = kDtype<T>, .batch = 2, .m = n, .n = n, .one_factor = true};
    const std::vector<T> out = factors<T>(form, v, l.empty() ? std::vector<T>{T(0)} : l);
    const T *at = l.data(), *moved = out.data(), *from = v.data();
    const Matrix factor = triangle(take(at, n, n), true, false);
    for (int batch = 0; batch < 2; ++batch) {
      const Matrix dl = take(moved, n, n), given = take(from, n, n), half = dl * transposed(factor);
      Matrix sum = zeros(n, n);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) sum(i, j) = half(i, j) + half(j, i);
      EXPECT_EQ(difference(dl, triangle(dl, true, false)), 0) << n;
      EXPECT_LT(difference(triangle(sum, true, false), triangle(given, true, false)), 4 * this->tolerance(n)) << n;
    }
  }
}

// <w, tangent of v> = <cotangent of w, v>, for each w and v: all of what is below the diagonal is compared.
TYPED_TEST(Factor, CotangentsOfCholeskyAreTransposedTangents) {
  using T = TypeParam;
  std::vector<int64_t> sizes{130, 257, 300};
  for (int64_t n = 1; n <= 70; ++n) sizes.push_back(n);
  for (const int64_t n : sizes) {
    const std::vector<T> l = lower_factor<T>(n, 1), w = numbers<T>(n * n, 2);
    const Form form{.kind = Kind::cholesky_cotangent, .dtype = kDtype<T>, .m = n, .n = n};
    const std::vector<T> out = factors<T>(form, w, l);
    const T* at = out.data();
    const Matrix c = take(at, n, n);
    EXPECT_EQ(difference(c, triangle(c, true, false)), 0) << n;

    std::vector<T> packed = l, diagonal;
    for (int64_t i = 0; i < n; ++i) {
      diagonal.push_back(w[i * n + i]);
      for (int64_t j = i + 1; j < n; ++j) packed[i * n + j] = w[j * n + i];
    }
    Form in_one = form;
    in_one.packed = true;
    EXPECT_EQ(factors<T>(in_one, packed, diagonal), out) << n;

    // The tangents of some unit matrices, at once.
    std::vector<std::pair<int64_t, int64_t>> units;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j)
        if (n < 20 || (i * 7 + j * 5) % (n * n / 60) == 0) units.emplace_back(i, j);
    const auto count = std::ssize(units);
    std::vector<T> v(static_cast<size_t>(count * n * n), T(0));
    for (int64_t u = 0; u < count; ++u) v[u * n * n + units[u].first * n + units[u].second] = T(1);
    const std::vector<T> moved = factors<T>(
        {.kind = Kind::cholesky_tangent, .dtype = kDtype<T>, .batch = count, .m = n, .n = n, .one_factor = true}, v, l);
    for (int64_t u = 0; u < count; ++u) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j <= i; ++j) sum += double(w[i * n + j]) * double(moved[(u * n + i) * n + j]);
      EXPECT_NEAR(c(units[u].first, units[u].second), sum, 4 * this->tolerance(n)) << n;
    }
  }
}

// A derivative is written over what it is linear in.
TYPED_TEST(Factor, DerivativesOfCholeskyInPlace) {
  using T = TypeParam;
  for (const int64_t n : {1, 16, 17, 100, 257}) {
    for (const Kind kind : {Kind::cholesky_tangent, Kind::cholesky_cotangent}) {
      for (const bool packed : {false, true}) {
        if (packed && kind == Kind::cholesky_tangent) continue;
        const Form form{.kind = kind, .dtype = kDtype<T>, .m = n, .n = n, .packed = packed};
        const std::vector<T> l = lower_factor<T>(n, 1);
        std::vector<T> w = numbers<T>(n * n, 2);
        for (int64_t i = 0; packed && i < n; ++i) w[i * n + i] = T(3);
        const std::vector<T> apart = factors<T>(form, w, l);
        std::vector<std::byte> room(layout(form).bytes() + 64);
        void* scratch = room.data();
        size_t space = room.size();
        std::align(64, layout(form).bytes(), scratch, space);
        run(form, l.data(), w.data(), w.data(), static_cast<std::byte*>(scratch));
        EXPECT_EQ(w, apart) << n;
      }
    }
  }
}

TYPED_TEST(Factor, DerivativesOfCholeskyOfWhatIsNotPositiveDefiniteAreNan) {
  using T = TypeParam;
  for (const int64_t n : {1, 2, 17, 40}) {
    const std::vector<T> l(static_cast<size_t>(n * n), std::numeric_limits<T>::quiet_NaN()), w(l.size(), T(1));
    for (const Kind kind : {Kind::cholesky_tangent, Kind::cholesky_cotangent}) {
      const std::vector<T> out = factors<T>({.kind = kind, .dtype = kDtype<T>, .m = n, .n = n}, w, l);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) EXPECT_TRUE(j > i ? out[i * n + j] == 0 : std::isnan(out[i * n + j]));
    }
  }
}

TYPED_TEST(Factor, TriangularSolvesSolve) {
  using T = TypeParam;
  for (const int64_t n : kSizes) {
    for (const int64_t columns : {0, 1, 3, 70, 200}) {
      if (n > 100 && columns > 3 && columns < 200) continue;
      for (int form = 0; form < 8; ++form) {
        const bool lower = form & 1, trans = form & 2, unit = form & 4;
        std::vector<T> t = numbers<T>(n * n, 3);
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < n; ++j) {
            T& x = t[i * n + j];
            x = i == j ? (unit ? T(99) : T(3) + x / 2) : (lower ? j < i : j > i) ? x / T(n) : T(99);
          }
        const std::vector<T> b = numbers<T>(n * columns, 4);
        const std::vector<T> x = factors<T>({.kind = Kind::solve,
                                             .dtype = kDtype<T>,
                                             .m = n,
                                             .n = columns,
                                             .lower = lower,
                                             .transposed = trans,
                                             .unit = unit},
                                            b, t.empty() ? std::vector<T>{T(0)} : t);
        const T *at = t.data(), *bs = b.data(), *xs = x.data();
        const Matrix taken = triangle(take(at, n, n), lower, unit);
        EXPECT_LT(difference((trans ? transposed(taken) : taken) * take(xs, n, columns), take(bs, n, columns)),
                  this->tolerance(n))
            << n << " " << columns << " " << form;
      }
    }
  }
}

TYPED_TEST(Factor, LuWithItsPermutationIsTheMatrix) {
  using T = TypeParam;
  for (const int64_t m : kSizes) {
    for (const int64_t n : {m, int64_t{1}, m / 2, m + 3, 2 * m}) {
      const int64_t k = std::min(m, n);
      const std::vector<T> a = numbers<T>(3 * m * n, static_cast<uint64_t>(m * 300 + n));
      const Form form{.kind = Kind::lu, .dtype = kDtype<T>, .batch = 3, .m = m, .n = n};
      const std::vector<T> out = factors<T>(form, a);
      const T *at = out.data(), *from = a.data();
      for (int batch = 0; batch < 3; ++batch) {
        const Matrix both = take(at, m, n), pivots = take(at, 1, k), order = take(at, 1, m), given = take(from, m, n);
        Matrix l = zeros(m, k), u = zeros(k, n), moved = zeros(m, n);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            if (j < i && j < k) l(i, j) = both(i, j);
            if (j >= i) u(i, j) = both(i, j);
            moved(i, j) = given(static_cast<int64_t>(order(0, i)), j);
          }
          if (i < k) l(i, i) = 1;
          for (int64_t j = 0; j < std::min(i, k); ++j) EXPECT_LE(std::abs(l(i, j)), 1.0);
        }
        EXPECT_LT(difference(l * u, moved), 4 * this->tolerance(m)) << m << " " << n;
        std::vector<int64_t> rows(static_cast<size_t>(m));
        for (int64_t i = 0; i < m; ++i) rows[i] = i;
        for (int64_t i = 0; i < k; ++i) std::swap(rows[i], rows[static_cast<size_t>(pivots(0, i))]);
        for (int64_t i = 0; i < m; ++i) EXPECT_EQ(rows[i], order(0, i));
      }
    }
  }
}

TYPED_TEST(Factor, QrIsOrthogonalTimesTriangular) {
  using T = TypeParam;
  for (const int64_t m : kSizes) {
    for (const int64_t n : {m, int64_t{1}, int64_t{0}, m / 3, m + 5}) {
      for (const bool full : {false, true}) {
        const int64_t k = std::min(m, n), columns = full ? m : k;
        const std::vector<T> a = numbers<T>(m * n, static_cast<uint64_t>(m * 300 + n));
        const std::vector<T> out = factors<T>({.kind = Kind::qr, .dtype = kDtype<T>, .m = m, .n = n, .full = full}, a);
        const T *at = out.data(), *from = a.data();
        const Matrix q = take(at, m, columns), r = take(at, columns, n), given = take(from, m, n);
        EXPECT_LT(difference(q * r, given), this->tolerance(m)) << m << " " << n << " " << full;
        EXPECT_LT(difference(transposed(q) * q, identity(columns)), this->tolerance(m)) << m << " " << n;
        for (int64_t i = 0; i < columns; ++i)
          for (int64_t j = 0; j < std::min(i, n); ++j) EXPECT_EQ(r(i, j), 0);
      }
    }
  }
}

TYPED_TEST(Factor, EighDiagonalises) {
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
TYPED_TEST(Factor, EighOfEqualAndCloseEigenvalues) {
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

TYPED_TEST(Factor, SvdIsOrthogonalTimesDiagonalTimesOrthogonal) {
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
TYPED_TEST(Factor, SvdOfEqualAndCloseSingularValues) {
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

// Some rows of matrices whose rows several threads reduce.
TYPED_TEST(Factor, ReductionsThatThreadsShare) {
  using T = TypeParam;
  const int before = num_threads();
  set_num_threads(3);
  constexpr int64_t n = 600;
  std::vector<T> a = numbers<T>(n * n, 9);
  const auto some = [](const Matrix& of) {
    Matrix rows = zeros(4, of.columns);
    for (int64_t i = 0; i < rows.rows; ++i)
      for (int64_t j = 0; j < of.columns; ++j) rows(i, j) = of(i * 199, j);
    return rows;
  };
  for (const Kind kind : {Kind::svd, Kind::eigh}) {
    if (kind == Kind::eigh)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < i; ++j) a[j * n + i] = a[i * n + j];
    const Form form{.kind = kind, .dtype = kDtype<T>, .m = n, .n = n};
    const std::vector<T> out = factors<T>(form, a);
    set_num_threads(1);
    EXPECT_EQ(factors<T>(form, a), out);
    set_num_threads(3);
    const T *at = out.data(), *from = a.data();
    const Matrix values = take(at, 1, n), left = take(at, n, n);
    const Matrix right = kind == Kind::svd ? take(at, n, n) : transposed(left);
    Matrix scaled = some(left);
    EXPECT_LE(difference(scaled * transposed(scaled), identity(4)), this->tolerance(n));
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < n; ++j) scaled(i, j) *= values(0, j);
    EXPECT_LE(difference(scaled * right, some(take(from, n, n))), 10 * this->tolerance(n));
    EXPECT_LE(difference(some(right) * transposed(some(right)), identity(4)), this->tolerance(n));
  }
  set_num_threads(before);
}

TYPED_TEST(Factor, NanGivesNan) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN(), infinite = std::numeric_limits<T>::infinity();
  for (const T bad : {nan, infinite}) {
    std::vector<T> a = numbers<T>(36, 1);
    a[12] = bad;
    for (const Kind kind : {Kind::eigh, Kind::svd}) {
      for (const T x : factors<T>({.kind = kind, .dtype = kDtype<T>, .m = 6, .n = 6}, a)) EXPECT_TRUE(std::isnan(x));
    }
    const std::vector<T> lu = factors<T>({.kind = Kind::lu, .dtype = kDtype<T>, .m = 6, .n = 6}, a);
    EXPECT_EQ(std::isnan(lu[35]), std::isnan(bad));  // an infinite pivot leaves zeros
    const std::vector<T> qr = factors<T>({.kind = Kind::qr, .dtype = kDtype<T>, .m = 6, .n = 6}, a);
    EXPECT_TRUE(std::isnan(qr[71]));
  }
}

// Neither on threads, nor on the matrices around.
TYPED_TEST(Factor, BitsAreTheSameOnAnyNumberOfThreads) {
  using T = TypeParam;
  const int before = num_threads();
  constexpr int64_t n = 450;
  std::vector<T> a = numbers<T>(n * n, 5);
  for (int64_t i = 0; i < n; ++i) a[i * n + i] += T(60);
  std::vector<T> twice = a;
  twice.insert(twice.end(), a.begin(), a.end());
  for (const Kind kind : {Kind::cholesky, Kind::cholesky_tangent, Kind::cholesky_cotangent, Kind::solve, Kind::lu,
                          Kind::qr, Kind::eigh, Kind::svd}) {
    Form form{.kind = kind, .dtype = kDtype<T>, .m = n, .n = n};
    set_num_threads(1);
    const std::vector<T> one = factors<T>(form, a, twice);
    set_num_threads(3);
    EXPECT_EQ(factors<T>(form, a, twice), one) << static_cast<int>(kind);
    form.batch = 2;
    const std::vector<T> both = factors<T>(form, twice, twice);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), both.begin())) << static_cast<int>(kind);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), both.begin() + std::ssize(one))) << static_cast<int>(kind);
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace neap::factor
