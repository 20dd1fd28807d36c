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

// Of more terms: what is cut into so many blocks that each waits for its sums. 4 x 4 and less, and 6 and 7, take 0.4 to
// 0.7 of the time, 5 x 5 0.9 to 1.3, 8 x 8 three times as long (Xeon, AVX-512).
bool waits_for_sums(const planner::DotForm& form) {
  const auto [least, most] = std::minmax(form.m, form.n);
  return most <= 4 || (kVectorBytes == 64 && least >= 6 && most <= 7);
}

bool has_small_matrices(const planner::DotForm& form) {
  if (form.n < 2 || form.lhs_half != planner::Half::no || form.rhs_half != planner::Half::no) return false;
  if (form.k > kTerms) return waits_for_sums(form);
  return form.batch > 1 && form.n <= kMostColumns && form.m <= kMostRows;
}

// Products [begin, end) of the batch, of kN columns.
template <class T, int kN>
void multiply_small(const planner::DotForm& form, const T* lhs, const T* rhs, T* out, int64_t begin, int64_t end) {
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

template <class T>
void multiply_small(const planner::DotForm& form, const T* lhs, const T* rhs, T* out, int64_t begin, int64_t end) {
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
