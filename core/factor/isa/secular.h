// Roots of a sum of fractions, which are eigenvalues or squares of singular values of a matrix that is diagonal but for
// a vector z, and the z of which the roots that were found are exact: so vectors that are made of both are orthogonal
// however close roots are (Gu and Eisenstat 1994, 1995).
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
    // Of the last root it bounds the step: weights may be so small beside the pole that no number lies between the two.
    const double pole = poles_[i];
    const double gap = !last      ? poles_[i + 1] - pole
                       : kSquares ? 2 * total / (pole + std::sqrt(pole * pole + 2 * total))
                                  : 2 * total;
    const double next = last ? pole + gap : poles_[i + 1];  // an origin is a pole to the last bit
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

}  // namespace neap::factor::NEAP_ISA
