// Passes of Fourier transforms by a radix (Cooley and Tukey 1965), over tiles: matrices of points by lanes, real and
// imaginary vectors in turn. Each lane is a transform of its own. Included by fourier.cpp, which is compiled for each
// instruction set (core/isa.h).
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "backends/cpu/isa/blocks.h"
#include "planner/kernels/fourier_form.h"

namespace neap::cpu::NEAP_ISA {
namespace {

template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
template <class T>
struct LanesOf {
  using type [[gnu::vector_size(kVectorBytes), gnu::may_alias]] = T;
};
template <class T>
using Lanes = typename LanesOf<T>::type;

template <class V>
struct Pair {
  V re, im;
};

template <class V>
[[gnu::always_inline]] inline Pair<V> operator+(const Pair<V>& a, const Pair<V>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
[[gnu::always_inline]] inline Pair<V> operator-(const Pair<V>& a, const Pair<V>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class V, class W>
[[gnu::always_inline]] inline Pair<V> times(const Pair<V>& a, const W& re, const W& im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}
template <class V>
[[gnu::always_inline]] inline Pair<V> turned_back(const Pair<V>& a) {  // times -i
  return {a.im, -a.re};
}
template <class V>
[[gnu::always_inline]] inline Pair<V> swapped(const Pair<V>& a) {
  return {a.im, a.re};
}

// ---------------------------------------------------------------------------------------------------------------------
// Vectors: pairs to real and imaginary ones, and back; matrices of vectors turned.

template <class T, size_t... kI>
[[gnu::always_inline]] inline Pair<Lanes<T>> apart(Lanes<T> a, Lanes<T> b, std::index_sequence<kI...>) {
  return {__builtin_shufflevector(a, b, (2 * kI)...), __builtin_shufflevector(a, b, (2 * kI + 1)...)};
}
template <class T, size_t... kI>
[[gnu::always_inline]] inline Pair<Lanes<T>> woven(Lanes<T> a, Lanes<T> b, std::index_sequence<kI...>) {
  constexpr size_t n = sizeof...(kI);
  return {__builtin_shufflevector(a, b, (kI % 2 == 0 ? kI / 2 : n + kI / 2)...),
          __builtin_shufflevector(a, b, (kI % 2 == 0 ? (n + kI) / 2 : n + (n + kI) / 2)...)};
}
template <class T, size_t... kI>
[[gnu::always_inline]] inline Lanes<T> backward(Lanes<T> a, std::index_sequence<kI...>) {
  return __builtin_shufflevector(a, a, (sizeof...(kI) - 1 - kI)...);
}
template <class T>
using Indices = std::make_index_sequence<kLanes<T>>;

template <class T>
[[gnu::always_inline]] inline Lanes<T> load(const T* from) {
  return *reinterpret_cast<const typename VectorOf<T, kLanes<T>>::type*>(from);
}
template <class T>
[[gnu::always_inline]] inline void store(T* to, Lanes<T> v) {
  *reinterpret_cast<typename VectorOf<T, kLanes<T>>::type*>(to) = v;
}
template <class T>
[[gnu::always_inline]] inline Pair<Lanes<T>> load_pairs(const T* from) {
  return apart<T>(load(from), load(from + kLanes<T>), Indices<T>());
}
template <class T>
[[gnu::always_inline]] inline void store_pairs(T* to, const Pair<Lanes<T>>& v) {
  const auto [low, high] = woven<T>(v.re, v.im, Indices<T>());
  store(to, low);
  store(to + kLanes<T>, high);
}

// Complex numbers in memory: `along` from one to the next, `across` from its real part to its imaginary one.
template <class T>
struct Row {
  T* first;
  int64_t along, across;

  bool is_pairs() const { return along == 2 && across == 1; }
  T* at(int64_t k) const { return first + k * along; }
};
template <class T>
Pair<Lanes<std::remove_const_t<T>>> load_from(const Row<T>& row, int64_t k, int64_t count) {
  using U = std::remove_const_t<T>;
  if (row.is_pairs() && count == kLanes<U>) return load_pairs<U>(row.at(k));
  if (row.along == 1 && count == kLanes<U>) return {load<U>(row.at(k)), load<U>(row.at(k) + row.across)};
  U re[kLanes<U>] = {}, im[kLanes<U>] = {};
  for (int64_t i = 0; i < count; ++i) re[i] = row.at(k + i)[0], im[i] = row.at(k + i)[row.across];
  return {load(re), load(im)};
}
template <class T>
void store_to(const Row<T>& row, int64_t k, const Pair<Lanes<T>>& v, int64_t count) {
  if (row.is_pairs() && count == kLanes<T>) return store_pairs(row.at(k), v);
  if (row.along == 1 && count == kLanes<T>) return store(row.at(k), v.re), store(row.at(k) + row.across, v.im);
  T re[kLanes<T>], im[kLanes<T>];
  store(re, v.re), store(im, v.im);
  for (int64_t i = 0; i < count; ++i) row.at(k + i)[0] = re[i], row.at(k + i)[row.across] = im[i];
}

// A point of a tile.
template <class V>
[[gnu::always_inline]] inline Pair<V> get(const V* tile, int64_t at) {
  return {tile[2 * at], tile[2 * at + 1]};
}
template <class V>
[[gnu::always_inline]] inline void put(V* tile, int64_t at, const Pair<V>& x) {
  tile[2 * at] = x.re, tile[2 * at + 1] = x.im;
}

// Turns a square of vectors: each round weaves the halves.
template <class T>
[[gnu::always_inline]] inline void turn(Lanes<T>* rows) {
  constexpr int n = kLanes<T>;
  Lanes<T> other[n];
  for (int round = 1; round < n; round *= 2) {
    for (int i = 0; i < n / 2; ++i) {
      const auto [low, high] = woven<T>(rows[i], rows[i + n / 2], Indices<T>());
      other[2 * i] = low, other[2 * i + 1] = high;
    }
    for (int i = 0; i < n; ++i) rows[i] = other[i];
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Transforms of a radix, forward.

template <class V>
[[gnu::always_inline]] inline void transform2(Pair<V>* x) {
  const Pair<V> a = x[0], b = x[1];
  x[0] = a + b, x[1] = a - b;
}
template <class V>
[[gnu::always_inline]] inline void transform4(Pair<V>& x0, Pair<V>& x1, Pair<V>& x2, Pair<V>& x3) {
  const Pair<V> a = x0 + x2, b = x0 - x2, c = x1 + x3, d = turned_back(x1 - x3);
  x0 = a + c, x1 = b + d, x2 = a - c, x3 = b - d;
}
template <class T, class V>
[[gnu::always_inline]] inline void transform8(Pair<V>* x) {
  constexpr T kHalfRoot = static_cast<T>(0.70710678118654752440);
  transform4(x[0], x[2], x[4], x[6]);
  transform4(x[1], x[3], x[5], x[7]);
  const Pair<V> o1{(x[3].re + x[3].im) * kHalfRoot, (x[3].im - x[3].re) * kHalfRoot},
      o2 = turned_back(x[5]), o3{(x[7].im - x[7].re) * kHalfRoot, (x[7].re + x[7].im) * -kHalfRoot};
  const Pair<V> e0 = x[0], e1 = x[2], e2 = x[4], e3 = x[6], o0 = x[1];
  x[0] = e0 + o0, x[4] = e0 - o0;
  x[1] = e1 + o1, x[5] = e1 - o1;
  x[2] = e2 + o2, x[6] = e2 - o2;
  x[3] = e3 + o3, x[7] = e3 - o3;
}
template <class T, class V>
[[gnu::always_inline]] inline void transform3(Pair<V>* x) {
  constexpr T kSine = static_cast<T>(0.86602540378443864676), kHalf = static_cast<T>(0.5);
  const Pair<V> sum = x[1] + x[2], difference = x[1] - x[2];
  const Pair<V> middle{x[0].re - sum.re * kHalf, x[0].im - sum.im * kHalf};
  x[0] = x[0] + sum;
  x[1] = {middle.re + difference.im * kSine, middle.im - difference.re * kSine};
  x[2] = {middle.re - difference.im * kSine, middle.im + difference.re * kSine};
}
template <class T, class V>
[[gnu::always_inline]] inline void transform5(Pair<V>* x) {
  constexpr T kC1 = static_cast<T>(0.30901699437494742410), kC2 = static_cast<T>(-0.80901699437494742410),
              kS1 = static_cast<T>(0.95105651629515357212), kS2 = static_cast<T>(0.58778525229247312917);
  const Pair<V> a = x[1] + x[4], b = x[2] + x[3], c = x[1] - x[4], d = x[2] - x[3], first = x[0];
  const Pair<V> p{first.re + a.re * kC1 + b.re * kC2, first.im + a.im * kC1 + b.im * kC2},
      q{first.re + a.re * kC2 + b.re * kC1, first.im + a.im * kC2 + b.im * kC1},
      r{c.re * kS1 + d.re * kS2, c.im * kS1 + d.im * kS2}, s{c.re * kS2 - d.re * kS1, c.im * kS2 - d.im * kS1};
  x[0] = first + a + b;
  x[1] = {p.re + r.im, p.im - r.re}, x[4] = {p.re - r.im, p.im + r.re};
  x[2] = {q.re + s.im, q.im - s.re}, x[3] = {q.re - s.im, q.im + s.re};
}

// A pass goes over blocks of `block` points: those that are block / radix apart are transformed and, but the first,
// multiplied by roots [block / radix, radix - 1], real and imaginary parts in turn.
template <class T, int kRadix>
void pass(Lanes<T>* tile, int64_t n, int64_t block, const T* roots) {
  using V = Lanes<T>;
  const int64_t apart = block / kRadix;
  for (int64_t first = 0; first < n; first += block) {
    const T* root = roots;
    for (int64_t j = 0; j < apart; ++j) {
      V* const points = tile + 2 * (first + j);
      Pair<V> x[kRadix];
      for (int p = 0; p < kRadix; ++p) x[p] = get(points, p * apart);
      if constexpr (kRadix == 2) transform2(x);
      if constexpr (kRadix == 3) transform3<T>(x);
      if constexpr (kRadix == 4) transform4(x[0], x[1], x[2], x[3]);
      if constexpr (kRadix == 5) transform5<T>(x);
      if constexpr (kRadix == 8) transform8<T>(x);
      if (apart > 1) {
        for (int p = 1; p < kRadix; ++p, root += 2) x[p] = times(x[p], root[0], root[1]);
      }
      for (int p = 0; p < kRadix; ++p) put(points, p * apart, x[p]);
    }
  }
}

// The same of any odd radix. Points p and radix - p come of the same sums, by cosines and sines of 2 pi k / radix:
// `of_radix`, its own roots.
template <class T>
void pass_of_prime(Lanes<T>* tile, int64_t n, int64_t block, int radix, const T* of_radix, const T* roots) {
  using V = Lanes<T>;
  const int64_t apart = block / radix;
  const int half = (radix - 1) / 2;
  for (int64_t first = 0; first < n; first += block) {
    const T* root = roots;
    for (int64_t j = 0; j < apart; ++j, root += 2 * (radix - 1)) {
      V* const points = tile + 2 * (first + j);
      const auto finish = [&](int p, const Pair<V>& x) {
        put(points, p * apart, apart > 1 ? times(x, root[2 * (p - 1)], root[2 * (p - 1) + 1]) : x);
      };
      Pair<V> sums[planner::kMostRadix / 2], differences[planner::kMostRadix / 2];
      const Pair<V> x0 = get(points, 0);
      Pair<V> all = x0;
      for (int q = 0; q < half; ++q) {
        const Pair<V> a = get(points, (q + 1) * apart), b = get(points, (radix - 1 - q) * apart);
        sums[q] = a + b, differences[q] = a - b;
        all = all + sums[q];
      }
      for (int p = 1; p <= half; ++p) {
        Pair<V> even = x0, odd{V{}, V{}};
        for (int q = 0, turn = p; q < half; ++q, turn = (turn + p) % radix) {
          const T cosine = of_radix[2 * turn], sine = of_radix[2 * turn + 1];  // the sine is negative
          even = {even.re + sums[q].re * cosine, even.im + sums[q].im * cosine};
          odd = {odd.re + differences[q].re * sine, odd.im + differences[q].im * sine};
        }
        finish(p, {even.re - odd.im, even.im + odd.re});
        finish(radix - p, {even.re + odd.im, even.im - odd.re});
      }
      put(points, 0, all);
    }
  }
}

template <class T>
void transform(Lanes<T>* tile, int64_t n, const planner::Radices& radices, const T* roots) {
  int64_t block = n;
  for (const int radix : radices) {
    switch (radix) {
      case 2: pass<T, 2>(tile, n, block, roots); break;
      case 3: pass<T, 3>(tile, n, block, roots); break;
      case 4: pass<T, 4>(tile, n, block, roots); break;
      case 5: pass<T, 5>(tile, n, block, roots); break;
      case 8: pass<T, 8>(tile, n, block, roots); break;
      default: pass_of_prime(tile, n, block, radix, roots, roots + 2 * radix); roots += 2 * radix;
    }
    if (block > radix) roots += 2 * (block / radix) * (radix - 1);
    block /= radix;
  }
}

}  // namespace
}  // namespace neap::cpu::NEAP_ISA
