// What divide and conquer does alike for eigenvalues and singular values: a matrix of two smaller ones and a vector z
// between them. Values are the roots of a sum of fractions; vectors are made of them so that they are orthogonal
// however close the roots are (Gu and Eisenstat 1994, 1995), and half or more of the work is products.
#pragma once

#include <algorithm>
#include <numeric>

#include "core/factor/isa/rotations.h"

namespace neap::factor::NEAP_ISA {

/// Secular finds the roots x of 1 + the sum of weights / (poles - x); `kSquares`: of weights / (poles^2 - x^2). Poles
/// ascend, weights are positive. A root is an origin, which is a pole, and a step from there: so its distances from all
/// poles have all digits.
template <class T, bool kSquares>
class Secular {
 public:
  Secular(Carver& carver, int64_t n) {
    for (double** array : {&poles_, &weights_, &origins_, &steps_, &exact_}) *array = carver.take<double>(n);
  }

  void set(int64_t j, double pole, double weight) { poles_[j] = pole, weights_[j] = weight; }
  double pole(int64_t j) const { return poles_[j]; }
  double root(int64_t i) const { return origins_[i] + steps_[i]; }
  /// Returns pole j less root i, or the same of their squares.
  double difference(int64_t j, int64_t i) const { return apart(poles_[j], origins_[i], steps_[i]); }
  /// Returns the element of z that belongs to pole j, of which the roots that were found are exact (make_exact()).
  double exact(int64_t j) const { return exact_[j]; }

  /// Finds the root behind pole i of k. f grows from pole to pole. Each step takes the root of two fractions that have
  /// the slopes of the sums below and above (Li 1993).
  void find_root(int64_t i, int64_t k) {
    const bool last = i == k - 1;
    const double total = last ? std::accumulate(weights_, weights_ + k, 0.0) : 0;
    const double next = !last      ? poles_[i + 1]
                        : kSquares ? std::sqrt(poles_[i] * poles_[i] + 2 * total)
                                   : poles_[i] + 2 * total;
    const double gap = next - poles_[i];
    const bool nearer_next = !last && sums(i, k, poles_[i], gap / 2).value < 0;
    const double origin = nearer_next ? next : poles_[i];
    double low = nearer_next ? -gap / 2 : 0, high = nearer_next ? 0 : last ? gap : gap / 2;
    double step = (low + high) / 2;
    for (int tries = 0; tries < 100; ++tries) {
      const Sums s = sums(i, k, origin, step);
      const double slope = (s.below + s.above) * (kSquares ? 2 * (origin + step) : 1);
      if (std::abs(s.value) <= kAccuracy * (8 * s.magnitude + std::abs(step) * slope)) break;
      (s.value < 0 ? low : high) = step;
      if (high - low <= 2 * kAccuracy * std::max(std::abs(low), std::abs(high))) break;
      const double x = apart(poles_[i], origin, step), y = apart(next, origin, step);
      const double a = (x + y) * s.value - x * y * (s.below + s.above), b = x * y * s.value,
                   c = s.value - x * s.below - y * s.above;
      const double root = std::sqrt(std::max(0.0, a * a - 4 * b * c));
      double change = a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
      if constexpr (kSquares) {  // so far that of the square
        const double at = origin + step;
        change /= at + std::sqrt(at * at + change);
      }
      const double tried = step + change;
      step = tried > low && tried < high ? tried : (low + high) / 2;
    }
    origins_[i] = origin;
    steps_[i] = step;
  }

  /// Makes exact(j), with the sign of z. Needs all roots.
  void make_exact(int64_t j, int64_t k, double z) {
    exact_[j] = std::copysign(std::sqrt(std::abs(difference(j, k - 1) * ratios(0, j, poles_, poles_[j]) *
                                                 ratios(j, k - 1, poles_ + 1, poles_[j]))),
                              z);
  }

  /// Returns the sum of (exact / difference)^2 over poles [begin, k), each times its square where `scaled`.
  double squares(int64_t i, int64_t begin, int64_t k, bool scaled = false) const {
    constexpr int64_t kStep = kLanes<double>;
    double sum = 0;
    Register<double> sums = {};
    int64_t j = begin;
    for (; j + kStep <= k; j += kStep) {
      Register<double> x = lanes(exact_ + j) / apart(lanes(poles_ + j), origins_[i], steps_[i]);
      if (scaled) x *= lanes(poles_ + j);
      sums += x * x;
    }
    for (int64_t lane = 0; lane < kStep; ++lane) sum += sums[lane];
    for (; j < k; ++j) {
      const double x = exact_[j] / difference(j, i) * (scaled ? poles_[j] : 1);
      sum += x * x;
    }
    return sum;
  }

 private:
  // Roots need more digits than the vectors that are made of them.
  static constexpr double kAccuracy = sizeof(T) == 8 ? std::numeric_limits<double>::epsilon() / 2 : 1e-11;

  template <class X>
  static X apart(X pole, double origin, double step) {
    const X first = (pole - origin) - step;
    if constexpr (kSquares) return first * ((pole + origin) + step);
    return first;
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
      const Register<double> inverse = 1 / apart(lanes(poles_ + j), origin, step), part = lanes(weights_ + j) * inverse;
      value += part;
      slope += part * inverse;
    }
    for (int64_t lane = 0; lane < kStep; ++lane) sum.value += value[lane], sum.slope += slope[lane];
    for (; j < end; ++j) {
      const double inverse = 1 / apart(poles_[j], origin, step), part = weights_[j] * inverse;
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

  // The product of (root - pole) / (other - pole) over some roots, each with its own `other`; or the same of squares.
  double ratios(int64_t begin, int64_t end, const double* others, double pole) const {
    constexpr int64_t kStep = kLanes<double>;
    const auto ratio = [pole](auto origin, auto step, auto other) {
      const auto first = ((origin - pole) + step) / (other - pole);
      if constexpr (kSquares) return first * (((origin + pole) + step) / (other + pole));
      return first;
    };
    double product = 1;
    Register<double> products = 1 + Register<double>{};
    int64_t i = begin;
    for (; i + kStep <= end; i += kStep) products *= ratio(lanes(origins_ + i), lanes(steps_ + i), lanes(others + i));
    for (int64_t lane = 0; lane < kStep; ++lane) product *= products[lane];
    for (; i < end; ++i) product *= ratio(origins_[i], steps_[i], others[i]);
    return product;
  }

  double *poles_, *weights_, *origins_, *steps_, *exact_;
};

/// Merging says which vectors take part in a merge, and multiplies those that do by new ones. Vectors are rows of
/// matrices [n, n], one for each value d.
template <class T>
class Merging {
 public:
  /// Returns how many elements a strip needs beside its packing space.
  static size_t strip_elements(int64_t n) { return static_cast<size_t>(kStrip * n); }

 protected:
  // Matrices of fewer rows are not divided. Smaller ones take more merges, larger ones more rotations.
  static constexpr int64_t kWhole = 32;
  // Vectors that are made at once, in a strip's own space.
  static constexpr int64_t kStrip = 64;
  static constexpr double kEpsilon = std::numeric_limits<T>::epsilon() / 2;

  // For so many matrices; at most `gathered` elements of one take part in a merge.
  Merging(Carver& carver, int64_t n, int64_t matrices, int64_t gathered) : n_(n) {
    z_ = carver.take<double>(n);
    for (int64_t** array : {&order_, &kept_, &place_}) *array = carver.take<int64_t>(n);
    row_ = carver.take<T>(matrices * n);
    gathered_ = carver.take<T>(gathered);
  }

  enum Where : uint8_t { kFirst, kBoth, kSecond };
  struct Range {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
  };
  // The rows of a merge, and the columns in which they may have elements.
  struct Span {
    int64_t begin, end, last;  // rows [begin, end), columns [begin, last)
  };
  using Matrices = std::initializer_list<T*>;

  // Takes out what is a vector already: where scale * z is as good as 0, or z can be made so by a rotation of two
  // vectors of as good as one value. Needs in place_ where each row's nonzero elements are, and leaves -1 where it is
  // taken out. Row `fixed` stays whatever it has.
  void deflate(Span of, int64_t fixed, double scale, double tolerance, Matrices matrices) {
    std::iota(order_ + of.begin, order_ + of.end, of.begin);
    std::sort(order_ + of.begin, order_ + of.end, [&](int64_t i, int64_t j) { return d_[i] < d_[j]; });
    number_ = 0;
    int64_t before = -1;  // the last that is not taken out
    for (int64_t at = of.begin; at < of.end; ++at) {
      const int64_t i = order_[at];
      if (i == fixed) {
        ++number_;
        continue;
      }
      if (scale * std::abs(z_[i]) <= tolerance) {
        place_[i] = -1;
        continue;
      }
      if (before >= 0) {
        const double both = length(z_[before], z_[i]), c = z_[i] / both, s = z_[before] / both;
        if (std::abs((d_[i] - d_[before]) * c * s) <= tolerance) {
          z_[i] = both;
          z_[before] = 0;
          for (T* const rows : matrices) {
            T *const x = rows + before * n_ + of.begin, *const y = rows + i * n_ + of.begin;
            for (int64_t j = 0; j < of.last - of.begin; ++j) {
              const T a = x[j], b = y[j];
              x[j] = static_cast<T>(c) * a - static_cast<T>(s) * b;
              y[j] = static_cast<T>(c) * b + static_cast<T>(s) * a;
            }
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
  void arrange(Span of, Matrices matrices) {
    const auto rank = [&](int64_t i) { return place_[i] < 0 ? int64_t{3} : place_[i]; };
    std::iota(order_ + of.begin, order_ + of.end, of.begin);
    std::sort(order_ + of.begin, order_ + of.end,
              [&](int64_t i, int64_t j) { return std::pair(rank(i), i) < std::pair(rank(j), j); });
    const auto width = static_cast<size_t>(of.last - of.begin) * sizeof(T);
    for (int64_t start = of.begin; start < of.end; ++start) {  // each cycle of the permutation once
      if (order_[start] < 0 || order_[start] == start) continue;
      T* held = row_;
      for (T* const rows : matrices) std::memcpy(std::exchange(held, held + n_), rows + start * n_ + of.begin, width);
      const double d = d_[start], z = z_[start];
      const int64_t place = place_[start];
      int64_t to = start;
      for (int64_t from; (from = order_[to]) != start; to = from) {
        for (T* const rows : matrices) std::memcpy(rows + to * n_ + of.begin, rows + from * n_ + of.begin, width);
        d_[to] = d_[from], z_[to] = z_[from], place_[to] = place_[from];
        order_[to] = -1;
      }
      held = row_;
      for (T* const rows : matrices) std::memcpy(rows + to * n_ + of.begin, std::exchange(held, held + n_), width);
      d_[to] = d, z_[to] = z, place_[to] = place;
      order_[to] = -1;
    }
    const auto count = [&](int64_t where) { return std::count(place_ + of.begin, place_ + of.begin + number_, where); };
    of_first_ = count(kFirst) + count(kBoth);
    of_second_ = count(kBoth) + count(kSecond);
    // Values ascend, for roots lie between them; kept_ says which row is whose.
    std::iota(kept_, kept_ + number_, int64_t{0});
    std::sort(kept_, kept_ + number_, [&](int64_t i, int64_t j) { return d_[of.begin + i] < d_[of.begin + j]; });
  }

  // Calls f(i) for all that take part.
  template <class F>
  void each(const Work<T>& work, const F& f) const {
    const auto strip = [&](int64_t begin, int64_t end, const Work<T>&) {
      for (int64_t i = begin; i < end; ++i) f(i);
    };
    work.strips(number_, strip, kStrip);
  }

  // Replaces the rows that take part by products of new vectors with them. Their nonzero elements are in columns
  // `first` or `second`, others are not written. fill(i, at) writes vector i, one element at at(j) for each pole j.
  template <class Fill>
  void multiply(T* rows, Span of, Range first, Range second, const Work<T>& work, const Fill& fill) {
    const int64_t k = number_;
    T *const lower = gathered_, *const upper = gathered_ + of_first_ * first.size();
    for (int64_t i = 0; i < of_first_; ++i)
      std::copy_n(rows + (of.begin + i) * n_ + first.begin, first.size(), lower + i * first.size());
    for (int64_t i = 0; i < of_second_; ++i)
      std::copy_n(rows + (of.begin + k - of_second_ + i) * n_ + second.begin, second.size(), upper + i * second.size());
    const auto strip = [&](int64_t begin, int64_t end, const Work<T>& own) {
      const int64_t count = end - begin;
      T* const made = own.beside(strip_elements(n_));  // [count, k], in the order of the rows
      for (int64_t i = begin; i < end; ++i) {
        fill(i, [&, to = made + (i - begin) * k](int64_t j) -> T& { return to[kept_[j]]; });
      }
      const View<T> vectors = matrix(made, count, k);
      const auto one = [&](int64_t from, int64_t number, Range columns, T* factor) {
        const View<T> to{rows + (of.begin + begin) * n_ + columns.begin, count, columns.size(), n_, 1};
        for (int64_t i = 0; i < count; ++i) std::fill_n(&to(i, 0), columns.size(), T(0));
        own.product(to, vectors.block(0, from, count, number), matrix(factor, number, columns.size()), T(1));
      };
      one(0, of_first_, first, lower);
      one(k - of_second_, of_second_, second, upper);
    };
    work.strips(k, strip, kStrip);
  }

  int64_t n_;
  double* d_ = nullptr;
  // Of a merge: z, and what order_, kept_ and place_ say of rows as above.
  double* z_;
  int64_t *order_, *kept_, *place_;
  T *row_, *gathered_;
  int64_t number_ = 0, of_first_ = 0, of_second_ = 0;  // rows not taken out; those with elements in each half
};

}  // namespace neap::factor::NEAP_ISA
