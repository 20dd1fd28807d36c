// Products of bf16 by the instruction that processors have for them, which adds the products of two pairs to a sum:
// first that of the upper halves of two words, then that of the lower, each with one rounding. So a pair has its first
// term in the upper half, and the sums are those of planner/kernels/dot.h, bit for bit; subnormal numbers are zeros.
#pragma once

#if defined(__AVX512F__)

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/cpu/isa/blocks.h"

namespace neap::cpu::NEAP_ISA {
namespace {

// Processors of Intel make as many products a cycle in f32, by two units for the one of pairs: products of 1024
// take 8.2 ms widened, in pairs 12 (two threads of a Xeon without tiles). The bits are the same.
inline bool multiplies_bf16_pairs() { return __builtin_cpu_supports("avx512bf16") && !__builtin_cpu_is("intel"); }

// sum += the products of the pairs of both, lane by lane. By name, so that no other code than this needs a processor
// that has it.
inline void add_products(__m512& sum, __m512i one, __m512i other) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(one), "v"(other));
}

// out[r][c] = (out[r][c] or 0) + sum over pairs p of a[p][r] * b[p][c], of a block of kM rows and `columns` columns, of
// which the last vector has one at least; with kByRows of a[r][p], whose rows are `along_row` apart.
template <int kM, int kVectors, bool kByRows>
void multiply_block_of_pairs(int64_t pairs, const uint32_t* a, int64_t along_row, const uint32_t* b, float* out,
                             int64_t stride, int64_t columns, Sums how) {
  const auto last = static_cast<__mmask16>((1u << (columns - 16 * (kVectors - 1))) - 1);
  const auto mask = [=](int v) { return v + 1 < kVectors ? static_cast<__mmask16>(0xffff) : last; };
  const auto there = [=](int r, int v) { return _mm512_maskz_loadu_ps(mask(v), out + r * stride + 16 * v); };
  __m512 sum[kM][kVectors];
  const bool goes_on = how.adds && !how.apart;
  for (int r = 0; r < kM; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = goes_on ? there(r, v) : _mm512_setzero_ps();
  }
  for (; pairs > 0; --pairs, a += kByRows ? 1 : kM, b += 16 * kVectors) {
    __m512i right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = _mm512_loadu_si512(b + 16 * v);
    for (int r = 0; r < kM; ++r) {
      const uint32_t pair = a[kByRows ? r * along_row : r];
      const __m512i left = _mm512_set1_epi32(static_cast<int>(pair));  // read once, not by each product
      for (int v = 0; v < kVectors; ++v) add_products(sum[r][v], left, right[v]);
    }
  }
  for (int r = 0; r < kM; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      if (how.apart) sum[r][v] = _mm512_add_ps(how.adds ? there(r, v) : _mm512_setzero_ps(), sum[r][v]);
      _mm512_mask_storeu_ps(out + r * stride + 16 * v, mask(v), sum[r][v]);
    }
  }
}

// The first term of a pair is above the second; after the last of an odd number comes `none`.
constexpr uint32_t pair_of(BF16 first, uint16_t second) { return static_cast<uint32_t>(first.bits) << 16 | second; }

// The pairs of k terms that lie side by side.
inline void pack_row_of_pairs(const BF16* row, int64_t k, uint16_t none, uint32_t* to) {
  for (int64_t i = 0; i < k / 2; ++i) to[i] = pair_of(row[2 * i], row[2 * i + 1].bits);
  if (k % 2 != 0) to[k / 2] = pair_of(row[k - 1], none);
}

// Rows [0, count), at most kBlock, each k long, side by side, pair after pair; the rows that are missing are zeros.
template <int kBlock>
void pack_block_of_pairs(const Operand<BF16>& from, int64_t count, int64_t k, uint16_t none, uint32_t* panel) {
  const auto [data, along_row, along_k] = from;
  if (along_row == 1) {
    for (int64_t p = 0; p < k; p += 2, panel += kBlock) {
      const BF16 *first = data + p * along_k, *second = p + 1 < k ? first + along_k : nullptr;
      if (count == kBlock && second) {
        for (int i = 0; i < kBlock; ++i) panel[i] = pair_of(first[i], second[i].bits);
        continue;
      }
      for (int64_t i = 0; i < count; ++i) panel[i] = pair_of(first[i], second ? second[i].bits : none);
      std::fill(panel + count, panel + kBlock, 0);
    }
    return;
  }
  constexpr int64_t kPairs = 32;
  uint32_t rows[kBlock * kPairs] = {};
  for (int64_t p = 0; p < k; p += 2 * kPairs, panel += kBlock * kPairs) {
    const int64_t terms = std::min(2 * kPairs, k - p);
    for (int64_t r = 0; r < count; ++r) pack_row_of_pairs(data + r * along_row + p, terms, none, rows + r * kPairs);
    pack<uint32_t, kBlock>({rows, kPairs, 1}, kBlock, (terms + 1) / 2, panel);
  }
}

// Blocks of columns: of two vectors, or of one where no more than that is left.
constexpr int64_t columns_of_pairs(int64_t left) { return left > 16 ? 32 : 16; }

// As multiply_panels (gemm.cpp) does, of bf16: out is m x n. Rows of lhs whose terms lie side by side stay rows.
template <bool kByRows>
void multiply_panels_of_pairs(int64_t m, int64_t n, int64_t k, const Operand<BF16>& lhs, const Operand<BF16>& rhs,
                              float* out, int64_t stride, Sums how, uint32_t* packed_lhs, uint32_t* packed_rhs) {
  constexpr uint16_t kZero = 0, kMinusZero = 0x8000;  // their product is -0, which changes no sum
  constexpr int64_t kApart = 16;                      // a cache line, or rows of a power of two share few places of it
  const int64_t pairs = (k + 1) / 2, along_row = pairs + kApart <= k ? pairs + kApart : pairs;
  if constexpr (kByRows) {
    for (int64_t row = 0; row < m; ++row) {
      pack_row_of_pairs(lhs.data + row * lhs.along_row, k, kMinusZero, packed_lhs + row * along_row);
    }
  } else {
    in_blocks<kRows>(0, m, [&]<int kRowsHere>(int64_t row) {
      pack_block_of_pairs<kRowsHere>({lhs.data + row * lhs.along_row, lhs.along_row, lhs.along_k}, kRowsHere, k,
                                     kMinusZero, packed_lhs + row * pairs);
    });
  }
  for (int64_t column = 0; column < n; column += columns_of_pairs(n - column)) {
    const Operand<BF16> from{rhs.data + column * rhs.along_row, rhs.along_row, rhs.along_k};
    uint32_t* const panel = packed_rhs + column * pairs;
    columns_of_pairs(n - column) == 32
        ? pack_block_of_pairs<32>(from, std::min<int64_t>(32, n - column), k, kZero, panel)
        : pack_block_of_pairs<16>(from, n - column, k, kZero, panel);
  }
  in_blocks<kRows>(0, m, [&]<int kRowsHere>(int64_t row) {
    const uint32_t* const a = packed_lhs + row * (kByRows ? along_row : pairs);
    for (int64_t column = 0; column < n; column += columns_of_pairs(n - column)) {
      const uint32_t* const b = packed_rhs + column * pairs;
      float* const to = out + row * stride + column;
      const auto go = [&]<int kVectors>() {
        multiply_block_of_pairs<kRowsHere, kVectors, kByRows>(pairs, a, along_row, b, to, stride,
                                                              std::min<int64_t>(16 * kVectors, n - column), how);
      };
      columns_of_pairs(n - column) == 32 ? go.template operator()<2>() : go.template operator()<1>();
    }
  });
}

// Bytes of n columns of k terms, packed so.
constexpr size_t bytes_of_pairs(int64_t n, int64_t k) {
  return static_cast<size_t>((n + 15) / 16 * 16) * static_cast<size_t>((k + 1) / 2) * sizeof(uint32_t);
}

}  // namespace
}  // namespace neap::cpu::NEAP_ISA

#endif
