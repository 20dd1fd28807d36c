// Reduction of a square matrix to upper bidiagonal form by reflectors from the left and the right.
#pragma once

#include "core/factor/isa/view.h"

namespace neap::factor::NEAP_ISA {

// What a step of the reduction below does with rows i to i + kCount of x: so many at once read the other operands once.
template <class T>
struct BidiagonalStep {
  T* x;
  int64_t n, k;
  T* sums;     // of the reflector from the left, by column
  const T* u;  // the reflector from the right

  // Adds what the rows have to the sums.
  template <int kCount>
  void add(int64_t i) const {
    const T* rows[kCount];
    for (int r = 0; r < kCount; ++r) rows[r] = x + (i + r) * n;
    const auto visit = [&]<bool kSome>(int64_t j, Lanes<T> mask) {
      Register<T> sum = lanes(sums + j);
      for (int r = 0; r < kCount; ++r) {
        Register<T> row = lanes(rows[r] + j);
        if constexpr (kSome) row = masked<T>(row, mask);
        sum = sum + row * rows[r][k];
      }
      lanes(sums + j) = sum;
    };
    in_registers<T>(k + 1, n, visit);
  }

  // Applies both reflectors.
  template <int kCount>
  void apply(int64_t i, T right) const {
    T* rows[kCount];
    for (int r = 0; r < kCount; ++r) rows[r] = x + (i + r) * n;
    Register<T> along[kCount] = {};
    const auto from_left = [&]<bool kSome>(int64_t j, Lanes<T> mask) {
      const Register<T> sum = lanes(sums + j);
      Register<T> uj = lanes(u + j);
      if constexpr (kSome) uj = masked<T>(uj, mask);
      for (int r = 0; r < kCount; ++r) {
        Register<T> row = lanes(rows[r] + j) - sum * rows[r][k];
        if constexpr (kSome) {
          put(rows[r] + j, row, mask);
          row = masked<T>(row, mask);
        } else {
          lanes(rows[r] + j) = row;
        }
        along[r] = along[r] + row * uj;
      }
    };
    in_registers<T>(k + 1, n, from_left);
    T scale[kCount];
    for (int r = 0; r < kCount; ++r) scale[r] = right * total<T>(along[r]);
    const auto from_right = [&]<bool kSome>(int64_t j, Lanes<T> mask) {
      const Register<T> uj = lanes(u + j);
      for (int r = 0; r < kCount; ++r) {
        const Register<T> row = lanes(rows[r] + j) - uj * scale[r];
        if constexpr (kSome) {
          put(rows[r] + j, row, mask);
        } else {
          lanes(rows[r] + j) = row;
        }
      }
    };
    in_registers<T>(k + 1, n, from_right);
  }
};

template <class T>
struct Bidiagonal {
  T* x;
  int64_t n;
  double *values, *beside;  // the diagonal, and what is beside it
  T *left, *right;          // scales of reflectors
  T* sums;                  // work space: rows of products [n], one for each share of rows
};

/// Makes x [n, n] upper bidiagonal. Column k then holds reflector k of the left from row k on, row k one of the right
/// from column k + 1 on.
template <class T>
void bidiagonalize(const Bidiagonal<T>& room, const Work<T>& work) {
  T* const x = room.x;
  const int64_t n = room.n;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t rest = n - k - 1;
    T* const row = x + k * n;
    const auto [left, diagonal] = reflector(row + k, n - k, n);
    room.left[k] = left;
    room.values[k] = diagonal;
    room.right[k] = T(0);
    room.beside[k] = 0;
    if (rest == 0) break;
    auto sums = vec(room.sums + k + 1, rest);
    sums = vec(row + k + 1, rest);
    const bool is_small = n < kLanes<T>;
    const int64_t count = shares(rest), share = (rest + count - 1) / count;
    if (is_small) {
      for (int64_t i = k + 1; i < n; ++i) sums += x[i * n + k] * vec(x + i * n + k + 1, rest);
    } else {
      const auto add = [&](int64_t begin, int64_t end, const Work<T>&) {
        T* const to = room.sums + begin / share * n;
        if (begin > 0) vec(to + k + 1, rest).setZero();
        const BidiagonalStep<T> step{x, n, k, to, row};
        in_rows(k + 1 + begin, k + 1 + end, [&]<int kCount>(int64_t i) { step.template add<kCount>(i); });
      };
      work.strips(rest, add, share);
      for (int64_t i = 1; i * share < rest; ++i) sums += vec(room.sums + i * n + k + 1, rest);
    }
    sums *= left;
    auto u = vec(row + k + 1, rest);
    u -= sums;
    const auto [right, beside] = reflector(row + k + 1, rest, 1);
    room.right[k] = right;
    room.beside[k] = beside;
    row[k + 1] = T(1);
    if (!is_small) {
      const auto apply = [&, scale = right](int64_t begin, int64_t end, const Work<T>&) {
        const BidiagonalStep<T> step{x, n, k, room.sums, row};
        in_rows(k + 1 + begin, k + 1 + end, [&]<int kCount>(int64_t i) { step.template apply<kCount>(i, scale); });
      };
      work.strips(rest, apply, share);
      continue;
    }
    for (int64_t i = k + 1; i < n; ++i) {
      auto other = vec(x + i * n + k + 1, rest);
      other -= x[i * n + k] * sums;
      other -= (right * (other * u).sum()) * u;
    }
  }
}

}  // namespace neap::factor::NEAP_ISA
