// Derivatives of Cholesky by halves, as it is computed itself: each rule below is that of a step of cholesky()
// (triangular.cpp), in forward order for tangents and backwards for cotangents (I. Murray, Differentiation of the
// Cholesky decomposition, 2016).
#include "core/factor/isa/view.h"

namespace neap::factor::NEAP_ISA {
namespace {

// As in triangular.cpp, for the same reasons; blocks on the diagonal are computed beside the matrix, of which they may
// write one triangle only.
constexpr int64_t kSmall = 16;
constexpr int64_t kBlock = 48;
static_assert(kBlock * kBlock == kBesideCotangent && kColumns % kBlock == 0);

int64_t half(int64_t n) { return (n / 2 + kSmall - 1) / kSmall * kSmall; }

template <class T>
void tangent_small(View<T> l, View<T> v) {
  const int64_t n = l.rows;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < j; ++i) v(i, j) = 0;
    const T pivot = l(j, j);
    T on = v(j, j) / 2;
    for (int64_t k = 0; k < j; ++k) on -= l(j, k) * v(j, k);
    v(j, j) = on /= pivot;
    for (int64_t i = j + 1; i < n; ++i) {
      T x = v(i, j) - l(i, j) * on;
      for (int64_t k = 0; k < j; ++k) x -= v(i, k) * l(j, k) + l(i, k) * v(j, k);
      v(i, j) = x / pivot;
    }
  }
}

// Above the diagonal, p(k, i) is the cotangent of the element (i, k).
template <class T>
void cotangent_small(View<T> p, T* diagonal) {
  for (int64_t k = p.rows - 1; k >= 0; --k) {
    for (int64_t j = k + 1; j < p.rows; ++j) {
      T x = p(k, j) - 2 * diagonal[j] * p(j, k);
      for (int64_t i = j + 1; i < p.rows; ++i) {
        p(k, i) -= p(j, i) * p(j, k);
        x -= p(j, i) * p(i, k);
      }
      p(k, j) = x;
    }
    const T pivot = p(k, k);
    for (int64_t j = k + 1; j < p.rows; ++j) {
      const T x = p(k, j) /= pivot;
      diagonal[k] -= p(j, k) * x;
    }
    diagonal[k] /= 2 * pivot;
  }
}

// Calls f(begin, end) over [from, to) in blocks.
template <class F>
void blocks(int64_t from, int64_t to, const F& f) {
  for (int64_t begin = from; begin < to; begin += kBlock) f(begin, std::min(to, begin + kBlock));
}

// Computes c -= a s, where s is symmetric, given by its part above the diagonal and half of its diagonal.
template <class T>
void subtract_symmetric(View<T> c, View<T> a, View<T> s, const T* half_diagonal, const Work<T>& work) {
  const int64_t n = s.rows;
  const auto columns = [&](View<T> x, int64_t begin, int64_t end) { return x.block(0, begin, x.rows, end - begin); };
  work.strips(n, [&](int64_t begin, int64_t end, const Work<T>& own) {
    const View<T> strip = columns(c, begin, end);
    own.product(strip, columns(a, 0, begin), s.block(0, begin, begin, end - begin), T(-1));
    if (end < n) own.product(strip, columns(a, end, n), s.block(begin, end, end - begin, n - end).transposed(), T(-1));
    blocks(begin, end, [&](int64_t first, int64_t last) {
      const int64_t width = last - first;
      const View<T> block = columns(c, first, last), square = matrix(own.beside(kBesideCotangent), width, width);
      for (int64_t i = 0; i < width; ++i) {
        square(i, i) = 2 * half_diagonal[first + i];
        for (int64_t j = i + 1; j < width; ++j) square(i, j) = square(j, i) = s(first + i, first + j);
      }
      own.product(block, columns(a, begin, first), s.block(begin, first, first - begin, width), T(-1));
      own.product(block, columns(a, first, last), square, T(-1));
      if (last < end) {
        own.product(block, columns(a, last, end), s.block(first, last, width, end - last).transposed(), T(-1));
      }
    });
  });
}

// Subtracts a b, of which only the part above the diagonal and the diagonal are computed, from those parts.
template <class T>
void subtract_upper(View<T> above, T* diagonal, View<T> a, View<T> b, const Work<T>& work) {
  const auto rows = [&](int64_t begin, int64_t end) { return a.block(begin, 0, end - begin, a.columns); };
  const auto columns = [&](int64_t begin, int64_t end) { return b.block(0, begin, b.rows, end - begin); };
  const auto part = [&](int64_t i, int64_t m, int64_t j, int64_t n) { return above.block(i, j, m - i, n - j); };
  work.strips(
      above.rows,
      [&](int64_t begin, int64_t end, const Work<T>& own) {
        own.product(part(0, begin, begin, end), rows(0, begin), columns(begin, end), T(-1));
        blocks(begin, end, [&](int64_t first, int64_t last) {
          own.product(part(begin, first, first, last), rows(begin, first), columns(first, last), T(-1));
          const View<T> square = matrix(own.beside(kBesideCotangent), last - first, last - first);
          std::fill_n(square.data, square.rows * square.rows, T(0));
          own.product(square, rows(first, last), columns(first, last), T(1));
          for (int64_t i = 0; i < square.rows; ++i) {
            diagonal[first + i] -= square(i, i);
            for (int64_t j = i + 1; j < square.rows; ++j) above(first + i, first + j) -= square(i, j);
          }
        });
      },
      kColumns / 2);
}

// Calls f(i, j) for all j < i < n, tile by tile.
template <class F>
void below_diagonal(int64_t n, const F& f) {
  constexpr int64_t kTile = 16;  // as in transpose_in_place()
  for (int64_t i = 0; i < n; i += kTile) {
    for (int64_t j = 0; j <= i; j += kTile) {
      for (int64_t r = i; r < std::min(n, i + kTile); ++r) {
        for (int64_t c = j; c < std::min(r, j + kTile); ++c) f(r, c);
      }
    }
  }
}

}  // namespace

template <class T>
void cholesky_tangent(View<T> l, View<T> v, const Work<T>& work) {
  const int64_t n = l.rows;
  if (n <= kSmall) return tangent_small(l, v);
  const int64_t h = half(n), m = n - h;
  const View<T> below = l.block(h, 0, m, h), moved = v.block(h, 0, m, h), rest = v.block(h, h, m, m);
  const View<T> first = l.block(0, 0, h, h), first_moved = v.block(0, 0, h, h);
  for (int64_t i = 0; i < h; ++i)
    for (int64_t j = h; j < n; ++j) v(i, j) = 0;
  cholesky_tangent(first, first_moved, work);
  work.product(moved, below, first_moved.transposed(), T(-1));
  solve(first, {}, moved.transposed(), work);
  work.strips(
      m,
      [&](int64_t begin, int64_t end, const Work<T>& own) {
        const View<T> strip = rest.block(begin, begin, m - begin, end - begin);
        const auto times = [&](View<T> x, View<T> y) {
          own.product(strip, x.block(begin, 0, m - begin, h), y.block(begin, 0, end - begin, h).transposed(), T(-1));
        };
        times(moved, below);
        times(below, moved);
      },
      kColumns / 2);
  cholesky_tangent(l.block(h, h, m, m), rest, work);
}

template <class T>
void cholesky_cotangent(View<T> packed, T* diagonal, const Work<T>& work) {
  const int64_t n = packed.rows;
  if (n <= kSmall) return cotangent_small(packed, diagonal);
  const int64_t h = half(n), m = n - h;
  const View<T> first = packed.block(0, 0, h, h), rest = packed.block(h, h, m, m);
  const View<T> below = packed.block(h, 0, m, h).transposed(), of_below = packed.block(0, h, h, m);
  cholesky_cotangent(rest, diagonal + h, work);
  subtract_symmetric(of_below, below, rest, diagonal + h, work);
  solve(first.transposed(), {.lower = false}, of_below, work);
  subtract_upper(first, diagonal, below, of_below.transposed(), work);
  cholesky_cotangent(first, diagonal, work);
}

template <class T>
void pack_cotangent(const T* l, const T* cotangent, int64_t n, T* out, T* diagonal) {
  for (int64_t i = 0; i < n; ++i) {
    diagonal[i] = cotangent[i * n + i];
    out[i * n + i] = l[i * n + i];
  }
  below_diagonal(n, [&](int64_t i, int64_t j) {
    out[j * n + i] = cotangent[i * n + j];
    out[i * n + j] = l[i * n + j];
  });
}

template <class T>
void unpack_cotangent(T* packed, int64_t n, const T* diagonal) {
  for (int64_t i = 0; i < n; ++i) packed[i * n + i] = diagonal[i];
  below_diagonal(n, [&](int64_t i, int64_t j) {
    packed[i * n + j] = packed[j * n + i];
    packed[j * n + i] = 0;
  });
}

#define NEAP_INSTANTIATE(T)                                             \
  template void cholesky_tangent<T>(View<T>, View<T>, const Work<T>&);  \
  template void cholesky_cotangent<T>(View<T>, T*, const Work<T>&);     \
  template void pack_cotangent<T>(const T*, const T*, int64_t, T*, T*); \
  template void unpack_cotangent<T>(T*, int64_t, const T*);
NEAP_INSTANTIATE(float)
NEAP_INSTANTIATE(double)
#undef NEAP_INSTANTIATE

}  // namespace neap::factor::NEAP_ISA
