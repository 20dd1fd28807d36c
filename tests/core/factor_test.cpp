// Dense factorizations by what they must satisfy: products of the factors give the matrix, factors are triangular or
// orthogonal. Nothing is written beside the result and the scratch that the layout promises.
#include "tests/core/factor_matrices.h"

#include <memory>

#include "core/thread_pool.h"

namespace neap::factor {
namespace {

using namespace test;

template <class T>
class Factor : public OfMatrices<T> {};
TYPED_TEST_SUITE(Factor, Types);

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
