// Products of many small matrices, as rotations and covariances are. Each is multiplied where it lies: to pack it and
// to cut it into blocks would take longer than its multiplications. Included once by isa/gemm.cpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "backends/cpu/isa/blocks.h"
#include "planner/kernels/dot_form.h"

namespace neap::cpu::NEAP_ISA {
namespace {

constexpr int64_t kMostColumns = 8, kMostRows = 16, kTerms = 16;

// Of more terms: to pack rows of a few columns would take longer than to multiply them. Where those of rhs do not lie
// side by side, it is worth it for the smallest.
bool is_narrow(const planner::DotForm& form) {
  return form.rhs_transposed ? std::max(form.m, form.n) <= 4 : form.m <= kMostColumns && form.n <= kMostColumns;
}

bool has_small_matrices(const planner::DotForm& form) {
  if (form.n < 2 || form.lhs_narrow != planner::Narrow::no || form.rhs_narrow != planner::Narrow::no) return false;
  if (form.k > kTerms) return is_narrow(form);
  return form.batch > 1 && form.n <= kMostColumns && form.m <= kMostRows;
}

// Products [begin, end) of the batch, of kN columns and many terms, each of which goes to all sums, which do not wait
// for each other. Of kM rows those beyond m repeat the last one.
template <class T, int kN, int kM>
void multiply_narrow(const planner::DotForm& form, const T* lhs, const T* rhs, T* out, int64_t begin, int64_t end) {
  constexpr size_t kRow = kN * sizeof(T);
  using Vector = typename VectorOf<T, std::bit_ceil(unsigned{kN})>::type;
  const int64_t lhs_row = form.lhs_transposed ? 1 : form.k, lhs_k = form.lhs_transposed ? form.m : 1;
  const bool apart = std::max(form.k, form.whole_k) > planner::kLongDot;
  const int64_t block = apart ? planner::kDotBlock : form.k;
  for (int64_t i = begin; i < end; ++i) {
    const T *const a = lhs + i * form.m * form.k, *const b = rhs + i * form.k * kN;
    T* const to = out + i * form.m * kN;
    const T* rows[kM];
    for (int r = 0; r < kM; ++r) rows[r] = a + std::min<int64_t>(r, form.m - 1) * lhs_row;
    for (int64_t first = 0; first < form.k; first += block) {
      const bool adds = form.adds || first > 0;
      Vector sums[kM], before[kM];
      for (int r = 0; r < kM; ++r) {
        before[r] = Vector{};
        if (adds) std::memcpy(&before[r], to + std::min<int64_t>(r, form.m - 1) * kN, kRow);
        sums[r] = apart ? Vector{} : before[r];
      }
      for (int64_t p = first; p < std::min(first + block, form.k); ++p) {
        Vector term{};
        std::memcpy(&term, b + p * kN, kRow);
        for (int r = 0; r < kM; ++r) sums[r] = rows[r][p * lhs_k] * term + sums[r];
      }
      for (int r = 0; r < kM && r < form.m; ++r) {
        if (apart) sums[r] = before[r] + sums[r];
        std::memcpy(to + r * kN, &sums[r], kRow);
      }
    }
  }
}

// Products [begin, end) of the batch, of kN columns.
template <class T, int kN>
void multiply_small(const planner::DotForm& form, const T* lhs, const T* rhs, T* out, int64_t begin, int64_t end) {
  if (form.k > kTerms && !form.rhs_transposed) {
    return form.m <= 4 ? multiply_narrow<T, kN, 4>(form, lhs, rhs, out, begin, end)
                       : multiply_narrow<T, kN, 8>(form, lhs, rhs, out, begin, end);
  }
  constexpr size_t kRow = kN * sizeof(T);
  using Vector = typename VectorOf<T, std::bit_ceil(unsigned{kN})>::type;
  const int64_t lhs_row = form.lhs_transposed ? 1 : form.k, lhs_k = form.lhs_transposed ? form.m : 1;
  const bool apart = std::max(form.k, form.whole_k) > planner::kLongDot;
  for (int64_t i = begin; i < end; ++i) {
    const T *const a = lhs + i * form.m * form.k, *const b = rhs + i * form.k * kN;
    T* const to = out + i * form.m * kN;
    Vector chains[kMostRows];
    for (int64_t first = 0; first < form.k; first += kTerms) {
      const int64_t count = std::min(kTerms, form.k - first);
      Vector terms[kTerms];
      for (int64_t p = 0; p < count; ++p) {
        terms[p] = Vector{};
        if (form.rhs_transposed) {
          for (int j = 0; j < kN; ++j) terms[p][j] = b[j * form.k + first + p];
        } else {
          std::memcpy(&terms[p], b + (first + p) * kN, kRow);
        }
      }
      const bool adds = form.adds || first >= (apart ? planner::kDotBlock : kTerms);
      for (int64_t r = 0; r < form.m; ++r) {
        const T* row = a + r * lhs_row + first * lhs_k;
        Vector before{}, sum{};
        if (adds) std::memcpy(&before, to + r * kN, kRow);
        if (!apart) sum = before;
        if (apart && first % planner::kDotBlock > 0) sum = chains[r];
        for (int64_t p = 0; p < count; ++p) sum = row[p * lhs_k] * terms[p] + sum;
        if (apart) {
          const bool ends = first + kTerms >= form.k || (first + kTerms) % planner::kDotBlock == 0;
          chains[r] = sum;
          if (!ends) continue;
          sum = before + sum;
        }
        std::memcpy(to + r * kN, &sum, kRow);
      }
    }
  }
}

// Of 2 x 2 by 2 x 2, each as one vector: [l0 l0 l2 l2] [r0 r1 r0 r1] + [l1 l1 l3 l3] [r2 r3 r2 r3].
template <class T>
void multiply_2x2(const planner::DotForm& form, const T* lhs, const T* rhs, T* out, int64_t begin, int64_t end) {
  using Vector = typename VectorOf<T, 4>::type;
  const auto at = [](const T* from, int64_t i) {
    Vector matrix;
    std::memcpy(&matrix, from + 4 * i, sizeof matrix);
    return matrix;
  };
  const auto each = [&]<bool kLhsTransposed, bool kRhsTransposed>() {
    for (int64_t i = begin; i < end; ++i) {
      Vector l = at(lhs, i), r = at(rhs, i), sum{};
      if constexpr (kLhsTransposed) l = __builtin_shufflevector(l, l, 0, 2, 1, 3);
      if constexpr (kRhsTransposed) r = __builtin_shufflevector(r, r, 0, 2, 1, 3);
      if (form.adds) sum = at(out, i);
      sum = __builtin_shufflevector(l, l, 0, 0, 2, 2) * __builtin_shufflevector(r, r, 0, 1, 0, 1) + sum;
      sum = __builtin_shufflevector(l, l, 1, 1, 3, 3) * __builtin_shufflevector(r, r, 2, 3, 2, 3) + sum;
      std::memcpy(out + 4 * i, &sum, sizeof sum);
    }
  };
  if (form.lhs_transposed) {
    form.rhs_transposed ? each.template operator()<true, true>() : each.template operator()<true, false>();
  } else {
    form.rhs_transposed ? each.template operator()<false, true>() : each.template operator()<false, false>();
  }
}

template <class T>
void multiply_small(const planner::DotForm& form, const T* lhs, const T* rhs, T* out, int64_t begin, int64_t end) {
  if (form.m == 2 && form.n == 2 && form.k == 2 && form.whole_k == 0)
    return multiply_2x2(form, lhs, rhs, out, begin, end);
  switch (form.n) {
    case 2: return multiply_small<T, 2>(form, lhs, rhs, out, begin, end);
    case 3: return multiply_small<T, 3>(form, lhs, rhs, out, begin, end);
    case 4: return multiply_small<T, 4>(form, lhs, rhs, out, begin, end);
    case 5: return multiply_small<T, 5>(form, lhs, rhs, out, begin, end);
    case 6: return multiply_small<T, 6>(form, lhs, rhs, out, begin, end);
    case 7: return multiply_small<T, 7>(form, lhs, rhs, out, begin, end);
    default: return multiply_small<T, 8>(form, lhs, rhs, out, begin, end);
  }
}

}  // namespace
}  // namespace neap::cpu::NEAP_ISA
