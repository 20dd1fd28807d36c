// Eigenvectors of a symmetric tridiagonal matrix by divide and conquer: the matrix is two smaller ones and a product of
// a vector with itself (Cuppen 1981). Eigenvalues are the roots of a sum of fractions; vectors are made of them so that
// they are orthogonal however close the roots are (Gu and Eisenstat 1994), and half or more of the work is products.
#pragma once

#include <algorithm>
#include <numeric>

#include "core/factor/isa/rotations.h"

namespace neap::factor::NEAP_ISA {

template <class T>
class Divide {
 public:
  /// Matrices of fewer rows are not divided. Smaller ones take more merges, larger ones more rotations.
  static constexpr int64_t kWhole = 32;
  /// Vectors that are made at once, in a strip's own space.
  static constexpr int64_t kStrip = 64;
  static size_t strip_elements(int64_t n) { return static_cast<size_t>(kStrip * n); }

  /// Carves the work space for n rows.
  Divide(Carver& carver, int64_t n) : n_(n) {
    for (double** array : {&z_, &poles_, &origins_, &steps_, &weights_, &exact_}) *array = carver.take<double>(n);
    for (int64_t** array : {&order_, &kept_, &place_}) *array = carver.take<int64_t>(n);
    row_ = carver.take<T>(n);
    gathered_ = carver.take<T>((n + 1) / 2 * (n + 1));  // two squares of half the rows
  }

  /// Makes d the eigenvalues, in no order, and the rows of v [n, n] their eigenvectors. e has the elements beside the
  /// diagonal, and room for one more. leaf(begin, end) does the same for rows [begin, end) alone, which are a matrix of
  /// their own. Returns false where it does.
  bool run(double* d, double* e, T* v, const Work<T>& work, FunctionRef<bool(int64_t, int64_t)> leaf) {
    d_ = d, e_ = e, v_ = v, work_ = &work;
    std::fill_n(v, n_ * n_, T(0));
    return solve(0, n_, leaf);
  }

 private:
  static constexpr double kEpsilon = std::numeric_limits<T>::epsilon() / 2;
  // Roots need more digits than the vectors that are made of them.
  static constexpr double kAccuracy = sizeof(T) == 8 ? std::numeric_limits<double>::epsilon() / 2 : 1e-11;

  enum Where : uint8_t { kFirst, kBoth, kSecond };

  T* row(int64_t i) const { return v_ + i * n_; }

  bool solve(int64_t begin, int64_t end, FunctionRef<bool(int64_t, int64_t)> leaf) {
    if (end - begin <= kWhole) return leaf(begin, end);
    const int64_t middle = begin + (end - begin) / 2;
    const double beside = e_[middle - 1], rho = std::abs(beside);
    d_[middle - 1] -= rho;
    d_[middle] -= rho;
    if (!solve(begin, middle, leaf) || !solve(middle, end, leaf)) return false;
    merge(begin, middle, end, rho, beside < 0 ? -1.0 : 1.0);
    return true;
  }

  // The matrix is diag(d) + 2 rho z z^T in the vectors that there are, |z| = 1.
  void merge(int64_t begin, int64_t middle, int64_t end, double rho, double sign) {
    for (int64_t i = begin; i < end; ++i) {
      const double last = static_cast<double>(i < middle ? row(i)[middle - 1] : row(i)[middle]);
      z_[i] = (i < middle ? 1.0 : sign) * last * std::sqrt(0.5);
    }
    deflate(begin, middle, end, 2 * rho);
    const int64_t k = number_;
    arrange(begin, end);
    gather(begin, middle, end);
    // Poles in order, for the roots lie between them; kept_ says which row is whose.
    std::iota(kept_, kept_ + k, int64_t{0});
    std::sort(kept_, kept_ + k, [&](int64_t i, int64_t j) { return d_[begin + i] < d_[begin + j]; });
    for (int64_t i = 0; i < k; ++i) {
      poles_[i] = d_[begin + kept_[i]];
      weights_[i] = 2 * rho * z_[begin + kept_[i]] * z_[begin + kept_[i]];
    }
    work_->strips(
        k,
        [&](int64_t first, int64_t last, const Work<T>&) {
          for (int64_t i = first; i < last; ++i) find_root(i, k);
        },
        kStrip);
    // The z of which the roots that were found are exactly the eigenvalues' roots.
    work_->strips(
        k,
        [&](int64_t first, int64_t last, const Work<T>&) {
          for (int64_t j = first; j < last; ++j) {
            exact_[j] = std::copysign(std::sqrt(weight(j, k)), z_[begin + kept_[j]]);
          }
        },
        kStrip);
    work_->strips(
        k, [&](int64_t first, int64_t last, const Work<T>& own) { make_vectors(begin, middle, end, first, last, own); },
        kStrip);
    for (int64_t i = 0; i < k; ++i) d_[begin + i] = origins_[i] + steps_[i];
  }

  // Takes out what is an eigenvector already: where z is as good as 0, or can be made so by a rotation of two vectors
  // of as good as one eigenvalue. Says in place_ where each row's nonzero elements are, or -1 where it is taken out.
  void deflate(int64_t begin, int64_t middle, int64_t end, double rho) {
    double largest = 0;
    for (int64_t i = begin; i < end; ++i) {
      largest = std::max({largest, std::abs(d_[i]), std::abs(z_[i])});
      place_[i] = i < middle ? kFirst : kSecond;
    }
    const double tolerance = 8 * kEpsilon * largest;
    std::iota(order_ + begin, order_ + end, begin);
    std::sort(order_ + begin, order_ + end, [&](int64_t i, int64_t j) { return d_[i] < d_[j]; });
    number_ = 0;
    int64_t before = -1;  // the last that is not taken out
    for (int64_t at = begin; at < end; ++at) {
      const int64_t i = order_[at];
      if (rho * std::abs(z_[i]) <= tolerance) {
        place_[i] = -1;
        continue;
      }
      if (before >= 0) {
        const double both = length(z_[before], z_[i]), c = z_[i] / both, s = z_[before] / both;
        if (std::abs((d_[i] - d_[before]) * c * s) <= tolerance) {
          z_[i] = both;
          z_[before] = 0;
          T *const x = row(before) + begin, *const y = row(i) + begin;
          for (int64_t j = 0; j < end - begin; ++j) {
            const T a = x[j], b = y[j];
            x[j] = static_cast<T>(c) * a - static_cast<T>(s) * b;
            y[j] = static_cast<T>(c) * b + static_cast<T>(s) * a;
          }
          const double first = d_[before], second = d_[i];
          d_[before] = first * c * c + second * s * s;
          d_[i] = first * s * s + second * c * c;
          if (place_[i] != place_[before]) place_[i] = kBoth;
          place_[before] = -1;
          --number_;
        }
      }
      ++number_;
      before = i;
    }
  }

  // Brings rows in order: those of the first half, of both, of the second, and then what is taken out.
  void arrange(int64_t begin, int64_t end) {
    const auto rank = [&](int64_t i) { return place_[i] < 0 ? int64_t{3} : place_[i]; };
    std::iota(order_ + begin, order_ + end, begin);
    std::sort(order_ + begin, order_ + end,
              [&](int64_t i, int64_t j) { return std::pair(rank(i), i) < std::pair(rank(j), j); });
    const auto width = static_cast<size_t>(end - begin) * sizeof(T);
    for (int64_t start = begin; start < end; ++start) {  // each cycle of the permutation once
      if (order_[start] < 0 || order_[start] == start) continue;
      std::memcpy(row_, row(start) + begin, width);
      const double d = d_[start], z = z_[start];
      const int64_t place = place_[start];
      int64_t to = start;
      for (int64_t from; (from = order_[to]) != start; to = from) {
        std::memcpy(row(to) + begin, row(from) + begin, width);
        d_[to] = d_[from], z_[to] = z_[from], place_[to] = place_[from];
        order_[to] = -1;
      }
      std::memcpy(row(to) + begin, row_, width);
      d_[to] = d, z_[to] = z, place_[to] = place;
      order_[to] = -1;
    }
  }

  // Copies the rows that are not taken out, without the halves that are zero.
  void gather(int64_t begin, int64_t middle, int64_t end) {
    const auto count = [&](int64_t where) { return std::count(place_ + begin, place_ + begin + number_, where); };
    of_first_ = count(kFirst) + count(kBoth);
    of_second_ = count(kBoth) + count(kSecond);
    T* to = gathered_;
    for (int64_t i = 0; i < of_first_; ++i, to += middle - begin)
      std::copy_n(row(begin + i) + begin, middle - begin, to);
    for (int64_t i = number_ - of_second_; i < number_; ++i, to += end - middle)
      std::copy_n(row(begin + i) + middle, end - middle, to);
  }

  // A sum of weights / (poles - origin - step) over some poles, and its derivative.
  struct Fractions {
    double value = 0, slope = 0;
  };
  Fractions fractions(int64_t begin, int64_t end, double origin, double step) const {
    constexpr int64_t kStep = kLanes<double>;
    Fractions sum;
    Register<double> value = {}, slope = {};
    int64_t j = begin;
    for (; j + kStep <= end; j += kStep) {
      const Register<double> inverse = 1 / ((lanes(poles_ + j) - origin) - step), part = lanes(weights_ + j) * inverse;
      value += part;
      slope += part * inverse;
    }
    for (int64_t lane = 0; lane < kStep; ++lane) sum.value += value[lane], sum.slope += slope[lane];
    for (; j < end; ++j) {
      const double inverse = 1 / ((poles_[j] - origin) - step), part = weights_[j] * inverse;
      sum.value += part;
      sum.slope += part * inverse;
    }
    return sum;
  }

  // f(step) = 1 + that sum over all poles; the derivatives of its parts up to pole i and behind.
  struct Sums {
    double value, below, above, magnitude;
  };
  Sums sums(int64_t i, int64_t k, double origin, double step) const {
    const Fractions low = fractions(0, i + 1, origin, step), high = fractions(i + 1, k, origin, step);
    return {1 + low.value + high.value, low.slope, high.slope, 1 + std::abs(low.value) + std::abs(high.value)};
  }

  // The root behind pole i: origins_[i] + steps_[i], the origin being the pole that is nearer. f grows from pole to
  // pole. Each step takes the root of two fractions that have the slopes of the sums below and above (Li 1993).
  void find_root(int64_t i, int64_t k) const {
    const bool last = i == k - 1;
    const double total = last ? std::accumulate(weights_, weights_ + k, 0.0) : 0;
    const double next = last ? poles_[i] + 2 * total : poles_[i + 1], gap = next - poles_[i];
    const bool nearer_next = !last && sums(i, k, poles_[i], gap / 2).value < 0;
    const double origin = nearer_next ? next : poles_[i];
    double low = nearer_next ? -gap / 2 : 0, high = nearer_next ? 0 : last ? gap : gap / 2;
    double step = (low + high) / 2;
    for (int tries = 0; tries < 100; ++tries) {
      const Sums s = sums(i, k, origin, step);
      if (std::abs(s.value) <= kAccuracy * (8 * s.magnitude + std::abs(step) * (s.below + s.above))) break;
      (s.value < 0 ? low : high) = step;
      if (high - low <= 2 * kAccuracy * std::max(std::abs(low), std::abs(high))) break;
      const double x = (poles_[i] - origin) - step, y = (next - origin) - step;
      const double a = (x + y) * s.value - x * y * (s.below + s.above), b = x * y * s.value,
                   c = s.value - x * s.below - y * s.above;
      const double root = std::sqrt(std::max(0.0, a * a - 4 * b * c));
      const double change = a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
      const double tried = step + change;
      step = tried > low && tried < high ? tried : (low + high) / 2;
    }
    origins_[i] = origin;
    steps_[i] = step;
  }

  // The square of the j-th element of that z, times what the matrix has before z z^T.
  double weight(int64_t j, int64_t k) const {
    const double pole = poles_[j];
    return std::abs(((origins_[k - 1] - pole) + steps_[k - 1]) * ratios(0, j, poles_, pole) *
                    ratios(j, k - 1, poles_ + 1, pole));
  }
  // The product of (root - pole) / (other - pole) over some roots, each with its own `other`.
  double ratios(int64_t begin, int64_t end, const double* others, double pole) const {
    constexpr int64_t kStep = kLanes<double>;
    double product = 1;
    Register<double> products = 1 + Register<double>{};
    int64_t i = begin;
    for (; i + kStep <= end; i += kStep) {
      products *= ((lanes(origins_ + i) - pole) + lanes(steps_ + i)) / (lanes(others + i) - pole);
    }
    for (int64_t lane = 0; lane < kStep; ++lane) product *= products[lane];
    for (; i < end; ++i) product *= ((origins_[i] - pole) + steps_[i]) / (others[i] - pole);
    return product;
  }

  // The squared length of the i-th vector before it is scaled.
  double squares(int64_t i, int64_t k) const {
    constexpr int64_t kStep = kLanes<double>;
    double sum = 0;
    Register<double> sums = {};
    int64_t j = 0;
    for (; j + kStep <= k; j += kStep) {
      const Register<double> x = lanes(exact_ + j) / ((lanes(poles_ + j) - origins_[i]) - steps_[i]);
      sums += x * x;
    }
    for (int64_t lane = 0; lane < kStep; ++lane) sum += sums[lane];
    for (; j < k; ++j) {
      const double x = exact_[j] / ((poles_[j] - origins_[i]) - steps_[i]);
      sum += x * x;
    }
    return sum;
  }

  void make_vectors(int64_t begin, int64_t middle, int64_t end, int64_t first, int64_t last, const Work<T>& own) {
    const int64_t k = number_, count = last - first;
    T* const made = own.beside(strip_elements(n_));  // [count, k], in the order of the rows
    for (int64_t i = first; i < last; ++i) {
      const double scale = 1 / std::sqrt(squares(i, k));
      T* const to = made + (i - first) * k;
      for (int64_t j = 0; j < k; ++j) {
        to[kept_[j]] = static_cast<T>(scale * exact_[j] / ((poles_[j] - origins_[i]) - steps_[i]));
      }
    }
    const View<T> vectors = matrix(made, count, k);
    const auto multiply = [&](int64_t from, int64_t rows, int64_t column, int64_t columns, T* factor) {
      const View<T> to{row(begin + first) + column, count, columns, n_, 1};
      for (int64_t i = 0; i < count; ++i) std::fill_n(&to(i, 0), columns, T(0));
      own.product(to, vectors.block(0, from, count, rows), matrix(factor, rows, columns), T(1));
    };
    multiply(0, of_first_, begin, middle - begin, gathered_);
    multiply(k - of_second_, of_second_, middle, end - middle, gathered_ + of_first_ * (middle - begin));
  }

  int64_t n_;
  double *d_ = nullptr, *e_ = nullptr;
  T* v_ = nullptr;
  const Work<T>* work_ = nullptr;
  // Of a merge: z, the poles in order, their weights, each root's origin and its distance from there, the exact z.
  double *z_, *poles_, *weights_, *origins_, *steps_, *exact_;
  int64_t *order_, *kept_, *place_;
  T *row_, *gathered_;
  int64_t number_ = 0, of_first_ = 0, of_second_ = 0;  // rows not taken out; those with elements in each half
};

}  // namespace neap::factor::NEAP_ISA
