// Eigenvectors of a symmetric tridiagonal matrix by divide and conquer: the matrix is two smaller ones and a product of
// a vector with itself (Cuppen 1981).
#pragma once

#include "core/factor/isa/divide.h"

namespace neap::factor::NEAP_ISA {

template <class T>
class DivideTridiagonal : public Merging<T> {
 public:
  /// Carves the work space for n rows.
  DivideTridiagonal(Carver& carver, int64_t n)
      : Merging<T>(carver, n, 1, (n + 1) / 2 * (n + 1)),  // two squares of half the rows
        secular_(carver, n) {}

  /// Makes d the eigenvalues, in no order, and the rows of v [n, n] their eigenvectors. e has the elements beside the
  /// diagonal, and room for one more. leaf(begin, end) does the same for rows [begin, end) alone, which are a matrix of
  /// their own. Returns false where it does.
  bool run(double* d, double* e, T* v, const Work<T>& work, FunctionRef<bool(int64_t, int64_t)> leaf) {
    this->d_ = d, e_ = e, v_ = v, work_ = &work;
    std::fill_n(v, n_ * n_, T(0));
    return solve(0, n_, leaf);
  }

 private:
  using Base = Merging<T>;
  using Base::d_, Base::kept_, Base::kFirst, Base::kSecond, Base::kStrip, Base::n_, Base::number_, Base::place_,
      Base::z_;

  bool solve(int64_t begin, int64_t end, FunctionRef<bool(int64_t, int64_t)> leaf) {
    if (end - begin <= Base::kWhole) return leaf(begin, end);
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
    double largest = 0;
    for (int64_t i = begin; i < end; ++i) {
      const double last = static_cast<double>(v_[i * n_ + (i < middle ? middle - 1 : middle)]);
      z_[i] = (i < middle ? 1.0 : sign) * last * std::sqrt(0.5);
      largest = std::max({largest, std::abs(d_[i]), std::abs(z_[i])});
      place_[i] = i < middle ? kFirst : kSecond;
    }
    const typename Base::Span of{begin, end, end};
    Base::deflate(of, -1, 2 * rho, 8 * Base::kEpsilon * largest, {v_});
    Base::arrange(of, {v_});
    const int64_t k = number_;
    for (int64_t i = 0; i < k; ++i) {
      const int64_t at = begin + kept_[i];
      secular_.set(i, d_[at], 2 * rho * z_[at] * z_[at]);
    }
    const auto find = [&](int64_t i) { secular_.find_root(i, k); };
    const auto improve = [&](int64_t j) { secular_.make_exact(j, k, z_[begin + kept_[j]]); };
    Base::each(*work_, find);
    Base::each(*work_, improve);
    Base::multiply(v_, of, {begin, middle}, {middle, end}, *work_, [&](int64_t i, const auto& at) {
      const double scale = 1 / std::sqrt(secular_.squares(i, 0, k));
      for (int64_t j = 0; j < k; ++j) at(j) = static_cast<T>(scale * secular_.exact(j) / secular_.difference(j, i));
    });
    for (int64_t i = 0; i < k; ++i) d_[begin + i] = secular_.root(i);
  }

  double* e_ = nullptr;
  T* v_ = nullptr;
  const Work<T>* work_ = nullptr;
  Secular<T, false> secular_;
};

}  // namespace neap::factor::NEAP_ISA
