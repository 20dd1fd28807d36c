// Products of bytes by the instruction that processors have for them (AVX-512 VNNI), which adds the products of four
// bytes without a sign and four with one to each lane of 32 bits. The sums are integers, and those that f32 does not
// hold exactly are not made so: whoever adds them up in f32, in any order, gets the same.
//
// Where both sides have a sign, or none has, that of lhs is flipped: a byte is then larger or smaller by 128, and so
// many times the sum of its column of rhs is in the product too much or too little.
#pragma once

#if defined(__AVX512F__)

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/cpu/isa/blocks.h"

namespace neap::cpu::NEAP_ISA {
namespace {

inline bool multiplies_byte_quads() { return __builtin_cpu_supports("avx512vnni"); }

// sum += the products of the quads of both, lane by lane. By name, so that no other code than this needs a processor
// that has it.
inline void add_quads(__m512i& sum, __m512i of_unsigned, __m512i of_signed) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(of_unsigned), "v"(of_signed));
}
template <bool kUnsignedLeft>
void add_quads_of(__m512i& sum, __m512i left, __m512i right) {
  kUnsignedLeft ? add_quads(sum, left, right) : add_quads(sum, right, left);
}

constexpr int64_t quads_of(int64_t k) { return (k + 3) / 4; }
// Blocks of columns: of two vectors, or of one where no more than that is left.
constexpr int64_t columns_of_quads(int64_t left) { return left > 16 ? 32 : 16; }
constexpr int kMostPanels = 64;  // vectors of columns of a tile

// Bytes of n columns of k terms, packed.
constexpr size_t bytes_of_quads(int64_t n, int64_t k) {
  return static_cast<size_t>((n + 15) / 16 * 16) * static_cast<size_t>(quads_of(k)) * sizeof(uint32_t);
}

// Rows [0, count), at most kBlock, each k long, side by side, quad after quad, exclusive or `flip`; what is missing is
// zero before that.
template <int kBlock>
void pack_block_of_quads(const Operand<uint8_t>& from, int64_t count, int64_t k, uint32_t flip, uint32_t* panel) {
  const auto [data, along_row, along_k] = from;
  if (along_row == 1) {
    for (int64_t p = 0; p < k; p += 4, panel += kBlock) {
      const uint8_t* term = data + p * along_k;
      if (count == kBlock && p + 4 <= k) {
        for (int i = 0; i < kBlock; ++i) {
          const uint32_t first = term[i], second = term[i + along_k], third = term[i + 2 * along_k];
          panel[i] = (first | second << 8 | third << 16 | uint32_t{term[i + 3 * along_k]} << 24) ^ flip;
        }
        continue;
      }
      std::fill(panel, panel + kBlock, flip);
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t q = 0; q < std::min<int64_t>(4, k - p); ++q) panel[i] ^= uint32_t{term[i + q * along_k]} << 8 * q;
      }
    }
    return;
  }
  constexpr int64_t kQuads = 32;
  uint32_t rows[kBlock * kQuads] = {};
  for (int64_t p = 0; p < k; p += 4 * kQuads, panel += kBlock * kQuads) {
    const int64_t terms = std::min(4 * kQuads, k - p), quads = quads_of(terms);
    for (int64_t r = 0; r < count; ++r) {
      uint32_t* row = rows + r * kQuads;
      row[quads - 1] = 0;
      std::memcpy(row, data + r * along_row + p, static_cast<size_t>(terms));
      for (int64_t q = 0; q < quads; ++q) row[q] ^= flip;
    }
    pack<uint32_t, kBlock>({rows, kQuads, 1}, kBlock, quads, panel);
  }
}

// out[r][c] = (out[r][c] or 0) + begin[c] + sum over quads p of a[p][r] * b[p][c], of a block of kM rows and `columns`
// columns, of which the last vector has one at least.
template <int kM, int kVectors, bool kUnsignedLeft>
void multiply_block_of_quads(int64_t quads, const uint32_t* a, const uint32_t* b, const __m512i* begin, float* out,
                             int64_t stride, int64_t columns, bool adds) {
  const auto last = static_cast<__mmask16>((1u << (columns - 16 * (kVectors - 1))) - 1);
  const auto mask = [=](int v) { return v + 1 < kVectors ? static_cast<__mmask16>(0xffff) : last; };
  __m512i sum[kM][kVectors];
  for (int r = 0; r < kM; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = begin[v];
  }
  for (; quads > 0; --quads, a += kM, b += 16 * kVectors) {
    __m512i right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = _mm512_loadu_si512(b + 16 * v);
    for (int r = 0; r < kM; ++r) {
      const __m512i left = _mm512_set1_epi32(static_cast<int>(a[r]));
      for (int v = 0; v < kVectors; ++v) add_quads_of<kUnsignedLeft>(sum[r][v], left, right[v]);
    }
  }
  for (int r = 0; r < kM; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* const to = out + r * stride + 16 * v;
      const __m512 total = _mm512_cvtepi32_ps(sum[r][v]);
      _mm512_mask_storeu_ps(to, mask(v), adds ? _mm512_add_ps(_mm512_maskz_loadu_ps(mask(v), to), total) : total);
    }
  }
}

// What sums of kVectors vectors of columns begin with: 128 times the sum of each column, or 0 less that.
template <int kVectors, bool kUnsignedLeft>
void begin_sums(int64_t quads, const uint32_t* panel, __m512i* begin) {
  const __m512i ones = _mm512_set1_epi8(1);
  for (int v = 0; v < kVectors; ++v) {
    __m512i sum = _mm512_setzero_si512();
    for (int64_t q = 0; q < quads; ++q) {
      add_quads_of<kUnsignedLeft>(sum, ones, _mm512_loadu_si512(panel + q * 16 * kVectors + 16 * v));
    }
    sum = _mm512_slli_epi32(sum, 7);
    begin[v] = kUnsignedLeft ? _mm512_sub_epi32(_mm512_setzero_si512(), sum) : sum;
  }
}

// As multiply_panels (gemm.cpp) does, of bytes: out is m x n. rhs has a sign where lhs is multiplied without one.
template <bool kUnsignedLeft>
void multiply_panels_of_quads(int64_t m, int64_t n, int64_t k, const Operand<uint8_t>& lhs, bool flips,
                              const Operand<uint8_t>& rhs, float* out, int64_t stride, bool adds, uint32_t* packed_lhs,
                              uint32_t* packed_rhs, bool has_lhs) {
  const int64_t quads = quads_of(k);
  if (!has_lhs) {
    in_blocks<kRows>(0, m, [&]<int kRowsHere>(int64_t row) {
      pack_block_of_quads<kRowsHere>({lhs.data + row * lhs.along_row, lhs.along_row, lhs.along_k}, kRowsHere, k,
                                     flips ? 0x80808080u : 0, packed_lhs + row * quads);
    });
  }
  __m512i begin[kMostPanels];
  const auto in_panels = [n](const auto& visit) {
    for (int64_t column = 0; column < n; column += columns_of_quads(n - column)) {
      columns_of_quads(n - column) == 32 ? visit.template operator()<2>(column) : visit.template operator()<1>(column);
    }
  };
  in_panels([&]<int kVectors>(int64_t column) {
    uint32_t* const panel = packed_rhs + column * quads;
    pack_block_of_quads<16 * kVectors>({rhs.data + column * rhs.along_row, rhs.along_row, rhs.along_k},
                                       std::min<int64_t>(16 * kVectors, n - column), k, 0, panel);
    if (flips) return begin_sums<kVectors, kUnsignedLeft>(quads, panel, begin + column / 16);
    std::fill_n(begin + column / 16, kVectors, _mm512_setzero_si512());
  });
  in_blocks<kRows>(0, m, [&]<int kRowsHere>(int64_t row) {
    in_panels([&]<int kVectors>(int64_t column) {
      multiply_block_of_quads<kRowsHere, kVectors, kUnsignedLeft>(
          quads, packed_lhs + row * quads, packed_rhs + column * quads, begin + column / 16,
          out + row * stride + column, stride, std::min<int64_t>(16 * kVectors, n - column), adds);
    });
  });
}

}  // namespace
}  // namespace neap::cpu::NEAP_ISA

#endif
