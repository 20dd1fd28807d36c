// What divide and conquer does alike for eigenvalues and singular values: a matrix of two smaller ones and a vector z
// between them. Values are the roots of a sum of fractions; vectors are made of them so that they are orthogonal
// however close the roots are (Gu and Eisenstat 1994, 1995), and half or more of the work is products.
#pragma once

#include <algorithm>
#include <numeric>

#include "core/factor/isa/secular.h"

namespace neap::factor::NEAP_ISA {

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
          for (T* const rows : matrices) Turned<T>{rows + of.begin, of.last - of.begin, n_}.add(before, i, c, -s);
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
