// Triangular solves, Cholesky and LU by halves: each splits its matrix in two until the parts are small, so that nearly
// all of the arithmetic is in products.
#include "core/factor/isa/view.h"

namespace neap::factor::NEAP_ISA {
namespace {

// Sizes at which halving stops: below them plain loops beat the packed product's overhead. The bits of results depend
// on them; bench/ has large matrices alone: time linalg::solve and linalg::lu on many small ones.
constexpr int64_t kSmall = 16;      // rows that are not split
constexpr int64_t kWide = 64;       // columns that a small solve takes at once
constexpr int64_t kFewColumns = 8;  // of a panel of LU that is not split

int64_t half(int64_t n, int64_t unit) { return (n / 2 + unit - 1) / unit * unit; }

template <class T>
void solve_small(View<T> t, Triangle form, View<T> b) {
  const int64_t n = t.rows;
  T rows[kSmall][kWide];
  for (int64_t begin = 0; begin < b.columns; begin += kWide) {
    const int64_t width = std::min(kWide, b.columns - begin);
    if (b.across == 1) {
      for (int64_t i = 0; i < n; ++i) std::memcpy(rows[i], &b(i, begin), static_cast<size_t>(width) * sizeof(T));
    } else {
      for (int64_t j = 0; j < width; ++j)
        for (int64_t i = 0; i < n; ++i) rows[i][j] = b(i, begin + j);
    }
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = form.lower ? step : n - 1 - step;
      const int64_t first = form.lower ? 0 : i + 1, last = form.lower ? i : n;
      for (int64_t k = first; k < last; ++k) {
        const T factor = t(i, k);
        for (int64_t j = 0; j < width; ++j) rows[i][j] -= factor * rows[k][j];
      }
      if (form.unit) continue;
      const T pivot = t(i, i);
      for (int64_t j = 0; j < width; ++j) rows[i][j] /= pivot;
    }
    if (b.across == 1) {
      for (int64_t i = 0; i < n; ++i) std::memcpy(&b(i, begin), rows[i], static_cast<size_t>(width) * sizeof(T));
    } else {
      for (int64_t j = 0; j < width; ++j)
        for (int64_t i = 0; i < n; ++i) b(i, begin + j) = rows[i][j];
    }
  }
}

// Solves for a strip of columns, by halves.
template <class T>
void solve_strip(View<T> t, Triangle form, View<T> b, const Work<T>& work) {
  const int64_t n = t.rows;
  if (n <= kSmall) return solve_small(t, form, b);
  const int64_t h = half(n, kSmall);
  const View<T> above = b.block(0, 0, h, b.columns), below = b.block(h, 0, n - h, b.columns);
  const View<T> first = t.block(0, 0, h, h), last = t.block(h, h, n - h, n - h);
  if (form.lower) {
    solve_strip(first, form, above, work);
    work.product(below, t.block(h, 0, n - h, h), above, T(-1));
    solve_strip(last, form, below, work);
  } else {
    solve_strip(last, form, below, work);
    work.product(above, t.block(0, h, h, n - h), below, T(-1));
    solve_strip(first, form, above, work);
  }
}

template <class T>
void cholesky_small(View<T> a) {
  for (int64_t j = 0; j < a.rows; ++j) {
    T pivot = a(j, j);
    for (int64_t k = 0; k < j; ++k) pivot -= a(j, k) * a(j, k);
    pivot = pivot > 0 ? std::sqrt(pivot) : std::numeric_limits<T>::quiet_NaN();
    a(j, j) = pivot;
    for (int64_t i = j + 1; i < a.rows; ++i) {
      T x = a(i, j);
      for (int64_t k = 0; k < j; ++k) x -= a(i, k) * a(j, k);
      a(i, j) = x / pivot;
    }
  }
}

template <class T>
void swap_rows(View<T> a, const int64_t* swapped, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (swapped[i] == i) continue;
    T *x = &a(i, 0), *y = &a(swapped[i], 0);
    if (a.across == 1) {
      std::swap_ranges(x, x + a.columns, y);
    } else {
      for (int64_t j = 0; j < a.columns; ++j) std::swap(x[j * a.across], y[j * a.across]);
    }
  }
}

template <class T>
void lu_panel(View<T> a, int64_t* swapped) {
  const int64_t k = std::min(a.rows, a.columns);
  for (int64_t j = 0; j < k; ++j) {
    int64_t best = j;
    for (int64_t i = j + 1; i < a.rows; ++i) {
      if (std::abs(a(i, j)) > std::abs(a(best, j))) best = i;
    }
    swapped[j] = best;
    if (best != j)
      for (int64_t c = 0; c < a.columns; ++c) std::swap(a(j, c), a(best, c));
    const T pivot = a(j, j);
    if (pivot == 0) continue;
    for (int64_t i = j + 1; i < a.rows; ++i) {
      const T factor = a(i, j) /= pivot;
      for (int64_t c = j + 1; c < a.columns; ++c) a(i, c) -= factor * a(j, c);
    }
  }
}

}  // namespace

// A strip is whole groups of as many rows as Eigen takes at once; it sees our columns as rows.
int64_t columns_together(int64_t m) {
  static_assert(kColumns % kRows == 0);
  return m <= kSmall ? 1 : kRows;
}

template <class T>
void solve(View<T> t, Triangle form, View<T> b, const Work<T>& work) {
  if (t.rows == 0) return;
  work.strips(b.columns, [&](int64_t begin, int64_t end, const Work<T>& own) {
    solve_strip(t, form, b.block(0, begin, b.rows, end - begin), own);
  });
}

template <class T>
void cholesky(View<T> a, const Work<T>& work) {
  const int64_t n = a.rows;
  if (n <= kSmall) return cholesky_small(a);
  const int64_t h = half(n, kSmall);
  const View<T> first = a.block(0, 0, h, h), below = a.block(h, 0, n - h, h), rest = a.block(h, h, n - h, n - h);
  cholesky(first, work);
  solve(first, {}, below.transposed(), work);
  // The lower triangle of the rest, strip by strip of its columns.
  work.strips(
      n - h,
      [&](int64_t begin, int64_t end, const Work<T>& own) {
        own.product(rest.block(begin, begin, n - h - begin, end - begin), below.block(begin, 0, n - h - begin, h),
                    below.block(begin, 0, end - begin, h).transposed(), T(-1));
      },
      kColumns / 2);
  cholesky(rest, work);
}

template <class T>
void lu(View<T> a, int64_t* swapped, const Work<T>& work) {
  const int64_t m = a.rows, n = std::min(a.columns, m), more = a.columns - n;
  if (n <= kFewColumns) {
    lu_panel(a.block(0, 0, m, n), swapped);
  } else {
    const int64_t h = half(n, kFewColumns);
    const View<T> left = a.block(0, 0, m, h), right = a.block(0, h, m, n - h);
    lu(left, swapped, work);
    swap_rows(right, swapped, h);
    solve(left.block(0, 0, h, h), {.lower = true, .unit = true}, right.block(0, 0, h, n - h), work);
    const View<T> rest = right.block(h, 0, m - h, n - h);
    work.product(rest, left.block(h, 0, m - h, h), right.block(0, 0, h, n - h), T(-1));
    lu(rest, swapped + h, work);
    swap_rows(left.block(h, 0, m - h, h), swapped + h, n - h);
    for (int64_t i = h; i < n; ++i) swapped[i] += h;
  }
  if (more == 0) return;
  const View<T> beyond = a.block(0, n, m, more);
  swap_rows(beyond, swapped, n);
  solve(a.block(0, 0, n, n), {.lower = true, .unit = true}, beyond, work);
}

#define NEAP_INSTANTIATE(T)                                           \
  template void solve<T>(View<T>, Triangle, View<T>, const Work<T>&); \
  template void cholesky<T>(View<T>, const Work<T>&);                 \
  template void lu<T>(View<T>, int64_t*, const Work<T>&);
NEAP_INSTANTIATE(float)
NEAP_INSTANTIATE(double)
#undef NEAP_INSTANTIATE

}  // namespace neap::factor::NEAP_ISA
