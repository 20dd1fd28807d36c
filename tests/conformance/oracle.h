// What functions of order and of windows are, in plain C++ and as JAX has it: beside the reference interpreter, which
// is made of the same definitions as the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/conformance/harness.h"

namespace neap::conformance::oracle {

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return std::isnan(static_cast<double>(x));
}

template <class T>
bool less(T x, T y) {
  if constexpr (std::is_integral_v<T>)
    return x < y;
  else
    return static_cast<double>(x) < static_cast<double>(y);
}

/// As sort() has it: NaN is larger than anything; -0 and 0 are equal.
template <class T>
bool sorts_before(T x, T y) {
  return is_nan(x) ? false : is_nan(y) || less(x, y);
}

/// As top_k has it: the order of sort(), from its end. (jax.lax.top_k has that of the bits, in which -NaN is last and
/// -0 below 0: docs/neap-for-jax-users.md.)
template <class T>
bool is_above(T x, T y) {
  return sorts_before(y, x);
}

/// T: of the width of the dtype; of bool, uint8_t.
template <class T>
std::vector<T> elements(const Array& x) {
  std::vector<T> all(static_cast<size_t>(x.size()));
  if (!all.empty()) std::memcpy(all.data(), x.raw().data(), x.bytes());
  return all;
}

template <class T>
Array array_of(const std::vector<T>& values, const Shape& shape, DType dtype) {
  return make_array({shape, dtype}, [&](std::byte* to) {
    if (!values.empty()) std::memcpy(to, values.data(), values.size() * sizeof(T));
  });
}

/// Which element of x goes where, stably: a permutation.
template <class T, class Before>
std::vector<int64_t> order_of(const std::vector<T>& x, const Before& before) {
  std::vector<int64_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](int64_t i, int64_t j) { return before(x[i], x[j]) || (!before(x[j], x[i]) && i < j); });
  return order;
}

template <class T>
std::vector<int64_t> sorted_order(const std::vector<T>& x, bool descending) {
  return order_of(x, [&](T a, T b) { return descending ? sorts_before(b, a) : sorts_before(a, b); });
}

/// The first NaN, else the first of what is largest (smallest).
template <class T>
int64_t extreme(const std::vector<T>& x, bool largest) {
  int64_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (is_nan(x[at])) break;
    if (is_nan(x[i]) || (largest ? less(x[at], x[i]) : less(x[i], x[at]))) at = static_cast<int64_t>(i);
  }
  return at;
}

/// Where v goes into a sorted x.
template <class T>
int32_t insertion(const std::vector<T>& x, T v, bool right) {
  int32_t at = 0;
  for (const T element : x) at += right ? !sorts_before(v, element) : sorts_before(element, v);
  return at;
}

/// `f`, from a line to a line, along an axis: [..., n, ...] -> [..., m, ...].
template <class T, class U, class F>
Array along(const Array& x, int64_t axis, int64_t m, DType result, const F& f) {
  Shape shape = x.shape();
  const int64_t n = shape[axis];
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < axis; ++i) outer *= shape[i];
  for (int64_t i = axis + 1; i < x.ndim(); ++i) inner *= shape[i];
  shape[axis] = m;
  const std::vector<T> from = elements<T>(x);
  std::vector<U> to(static_cast<size_t>(outer * m * inner));
  std::vector<T> line(static_cast<size_t>(n));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t k = 0; k < n; ++k) line[k] = from[(o * n + k) * inner + i];
      const std::vector<U> made = f(line);
      for (int64_t k = 0; k < m; ++k) to[(o * m + k) * inner + i] = made[k];
    }
  }
  return array_of(to, shape, result);
}

/// Where a window begins: starts below zero count from the end, then it moves so that it fits.
template <class I>
Shape window_start(const Shape& shape, const Shape& window, const std::vector<I>& start) {
  Shape at;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t most = shape[i] - window[i];
    const I from = start[i];
    if (from >= 0)
      at.push_back(static_cast<uint64_t>(from) > static_cast<uint64_t>(most) ? most : static_cast<int64_t>(from));
    else
      at.push_back(std::clamp<int64_t>(static_cast<int64_t>(from) + shape[i], 0, most));
  }
  return at;
}

/// Calls f(element of x, element of the window) for each of the window's.
template <class F>
void walk_window(const Shape& shape, const Shape& window, const Shape& at, const F& f) {
  const int64_t count = element_count(window);
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t rest = flat, position = 0, stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      position += (at[i] + rest % window[i]) * stride;
      rest /= window[i], stride *= shape[i];
    }
    f(static_cast<size_t>(position), static_cast<size_t>(flat));
  }
}

}  // namespace neap::conformance::oracle
