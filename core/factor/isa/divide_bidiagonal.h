// Singular vectors of an upper bidiagonal matrix by divide and conquer: the matrix is two smaller ones and a row
// between them (Gu and Eisenstat 1995).
#pragma once

#include "core/factor/isa/divide.h"

namespace neap::factor::NEAP_ISA {

template <class T>
class DivideBidiagonal : public Merging<T> {
 public:
  /// Carves the work space for n rows.
  DivideBidiagonal(Carver& carver, int64_t n) : Merging<T>(carver, n, 2, gathered(n)), secular_(carver, n) {}

  /// leaf(begin, end, columns) does what run() does for rows [begin, end), whose elements are in columns [begin,
  /// columns): one more of them than rows, or as many. In the first case row `end` of v gets what no row reaches.
  /// Returns false where it fails.
  using Leaf = FunctionRef<bool(int64_t, int64_t, int64_t)>;

  /// Makes d, the diagonal, the singular values, in no order, the rows of u [n, n] the left singular vectors and those
  /// of v [n, n] the right ones. e has the elements beside the diagonal. Returns false where a leaf does.
  bool run(double* d, double* e, T* u, T* v, const Work<T>& work, Leaf leaf) {
    this->d_ = d, e_ = e, u_ = u, v_ = v, work_ = &work;
    for (T* const x : {u, v}) {
      std::fill_n(x, n_ * n_, T(0));
      for (int64_t i = 0; i < n_; ++i) x[i * n_ + i] = T(1);
    }
    return solve(0, n_, n_, leaf);
  }

 private:
  using Base = Merging<T>;
  using Base::d_, Base::kept_, Base::kBoth, Base::kEpsilon, Base::kFirst, Base::kSecond, Base::n_, Base::number_,
      Base::place_, Base::z_;

  // The row in the middle takes part in both halves.
  static int64_t gathered(int64_t n) {
    const int64_t first = n / 2 + 1, second = n - n / 2;
    return first * first + second * second;
  }

  bool solve(int64_t begin, int64_t end, int64_t last, Leaf leaf) {
    if (end - begin <= Base::kWhole) return leaf(begin, end, last);
    const int64_t middle = begin + (end - begin) / 2;
    if (!solve(begin, middle, middle + 1, leaf) || !solve(middle + 1, end, last, leaf)) return false;
    merge(begin, middle, end, last);
    return true;
  }

  // In the vectors that there are the matrix is diag(d) with d[middle] = 0, and z in row `middle`.
  void merge(int64_t begin, int64_t middle, int64_t end, int64_t last) {
    const double alpha = std::exchange(d_[middle], 0.0), beta = e_[middle];
    double largest = std::max(std::abs(alpha), std::abs(beta));
    for (int64_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(d_[i]));
    if (largest <= kTiny) return;
    const auto z = [&](int64_t i) {
      return (i <= middle ? alpha * static_cast<double>(v_[i * n_ + middle])
                          : beta * static_cast<double>(v_[i * n_ + middle + 1])) /
             largest;
    };
    for (int64_t i = begin; i < end; ++i) {
      z_[i] = z(i);
      d_[i] /= largest;  // squares must not vanish
      place_[i] = i < middle ? kFirst : i > middle ? kSecond : kBoth;
    }
    const double tolerance = 8 * kEpsilon;
    if (last > end) {  // both halves have a row of v that no row of theirs reaches: one of the two remains so
      const double other = z(end), both = length(z_[middle], other);
      if (both > tolerance) {
        Turned<T>{v_ + begin, last - begin, n_}.add(middle, end, z_[middle] / both, other / both);
      }
      z_[middle] = both;
    }
    if (std::abs(z_[middle]) <= tolerance) z_[middle] = tolerance;
    const typename Base::Span of{begin, end, last};
    Base::deflate(of, middle, 1, tolerance, {u_, v_});
    for (int64_t i = begin; i < end; ++i) {
      if (i != middle && place_[i] >= 0) d_[i] = std::max(d_[i], tolerance / 2);
    }
    Base::arrange(of, {u_, v_});
    const int64_t k = number_;
    for (int64_t i = 0; i < k; ++i) {  // the first is that of `middle`
      const int64_t at = begin + kept_[i];
      secular_.set(i, d_[at], z_[at] * z_[at]);
    }
    const auto find = [&](int64_t i) { secular_.find_root(i, k); };
    const auto improve = [&](int64_t j) { secular_.make_exact(j, k, z_[begin + kept_[j]]); };
    Base::each(*work_, find);
    Base::each(*work_, improve);
    Base::multiply(v_, of, {begin, middle + 1}, {middle + 1, last}, *work_, [&](int64_t i, const auto& at) {
      const double scale = 1 / std::sqrt(secular_.squares(i, 0, k));
      for (int64_t j = 0; j < k; ++j) at(j) = static_cast<T>(scale * secular_.exact(j) / secular_.difference(j, i));
    });
    Base::multiply(u_, of, {begin, middle}, {middle + 1, end}, *work_, [&](int64_t i, const auto& at) {
      const double scale = 1 / std::sqrt(1 + secular_.squares(i, 1, k, true));
      at(0) = static_cast<T>(-scale);
      for (int64_t j = 1; j < k; ++j) {
        at(j) = static_cast<T>(scale * secular_.pole(j) * secular_.exact(j) / secular_.difference(j, i));
      }
      u_[(begin + i) * n_ + middle] = static_cast<T>(-scale);  // which no other row reaches
    });
    for (int64_t i = 0; i < k; ++i) d_[begin + i] = secular_.root(i);
    for (int64_t i = begin; i < end; ++i) d_[i] *= largest;
  }

  double* e_ = nullptr;
  T *u_ = nullptr, *v_ = nullptr;
  const Work<T>* work_ = nullptr;
  Secular<T, true> secular_;
};

}  // namespace neap::factor::NEAP_ISA
