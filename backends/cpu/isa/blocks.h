// What products and convolutions share: operands are packed into panels, and a kernel keeps a block of the result in
// registers. The order in which an element is summed is that of planner/kernels/dot.h. Included once by each source
// below isa/, which is compiled for each instruction set (core/isa.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace neap::cpu::NEAP_ISA {
namespace {

// Rows of a block of out by two vectors of its columns: as many sums as registers hold beside the operands (16
// registers of AVX, 32 of AVX-512). neap-cost's "product" measures.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kRows = 12;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32, kRows = 6;
#else
constexpr int kVectorBytes = 16, kRows = 6;
#endif

// Columns of out that a kernel takes: two vectors; what is left over in halves of that.
template <class T>
constexpr int kColumns = 2 * kVectorBytes / static_cast<int>(sizeof(T));

template <class T, int kLength>
struct VectorOf {
  using type [[gnu::vector_size(kLength * sizeof(T)), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};
template <class T>
struct VectorOf<T, 1> {
  using type = T;
};

struct Sums {
  bool adds;   // to what out holds, else to 0
  bool apart;  // begin at 0 and are added at the end, else go on from there
};

// Where the columns of b lie that term after term reads: in a panel, or wherever a list says.
template <class T, int kN>
struct Panel {
  const T* at;
  const T* next() {
    const T* here = at;
    at += kN;
    return here;
  }
};
template <class T>
struct Scattered {
  const T* base;
  const int64_t* offset;
  const T* next() { return base + *offset++; }
};

// Where the rows of a lie that term after term reads: side by side, each term's so far from those of the one before; or
// each row's terms side by side.
template <class T>
struct ByTerms {
  const T* at;
  int64_t along_term;
  T row(int r) const { return at[r]; }
  void next() { at += along_term; }
};
template <class T>
struct ByRows {
  const T* at;
  int64_t along_row;
  T row(int r) const { return at[r * along_row]; }
  void next() { ++at; }
};

// out[r][c] = (out[r][c] or 0) + sum over k of a[k][r] * b[k][c], of a block of kM rows and kN columns.
template <class T, int kM, int kN, class Rows, class Columns>
void multiply_block(int64_t k, Rows a, Columns b, T* out, int64_t stride, Sums how) {
  constexpr int kLength = std::min(kN, kVectorBytes / static_cast<int>(sizeof(T))), kVectors = kN / kLength;
  using Vector = typename VectorOf<T, kLength>::type;
  const auto there = [&](int r, int v) -> Vector& {
    return *reinterpret_cast<Vector*>(out + r * stride + v * kLength);
  };
  Vector sum[kM][kVectors];
  const bool goes_on = how.adds && !how.apart;
  for (int r = 0; r < kM; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = goes_on ? there(r, v) : Vector{};
  }
  for (; k > 0; --k, a.next()) {
    const T* const columns = b.next();
    Vector right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = *reinterpret_cast<const Vector*>(columns + v * kLength);
    for (int r = 0; r < kM; ++r) {
      for (int v = 0; v < kVectors; ++v) sum[r][v] = a.row(r) * right[v] + sum[r][v];
    }
  }
  if (how.apart) {
    for (int r = 0; r < kM; ++r) {
      for (int v = 0; v < kVectors; ++v) sum[r][v] = (how.adds ? there(r, v) : Vector{}) + sum[r][v];
    }
  }
  for (int r = 0; r < kM; ++r) {
    for (int v = 0; v < kVectors; ++v) there(r, v) = sum[r][v];
  }
}

// Calls visit.operator()<size>(begin) for [0, extent) in blocks of kSize, then the rest in smaller ones.
template <int kSize, class Visit>
void in_blocks(int64_t begin, int64_t extent, const Visit& visit) {
  for (; extent - begin >= kSize; begin += kSize) visit.template operator()<kSize>(begin);
  constexpr int kNext = kSize > 8 && kSize % 8 != 0 ? 8 : kSize % 4 != 0 && kSize > 4 ? 4 : kSize / 2;
  if constexpr (kNext > 0) {
    if (begin < extent) in_blocks<kNext>(begin, extent, visit);
  }
}

// to[p][i] = from[i][p]: four rows or two, as far as k goes in vectors. Shuffles stay in halves of 16 bytes.
template <class T, int kCount>
int64_t transpose(const T* from, int64_t stride, int64_t k, T* to, int64_t to_stride) {
  constexpr int kLength = 32 / sizeof(T);
  using Vector = typename VectorOf<T, kLength>::type;
  using Rows = typename VectorOf<T, kCount>::type;
  int64_t p = 0;
  for (; p + kLength <= k; p += kLength) {
    const auto row = [&](int64_t i) { return *reinterpret_cast<const Vector*>(from + i * stride + p); };
    const auto put = [&](int64_t at, Rows v) { *reinterpret_cast<Rows*>(to + (p + at) * to_stride) = v; };
    if constexpr (sizeof(T) == 8) {
      const Vector a = __builtin_shufflevector(row(0), row(1), 0, 4, 2, 6),
                   b = __builtin_shufflevector(row(0), row(1), 1, 5, 3, 7);
      if constexpr (kCount == 2) {
        put(0, __builtin_shufflevector(a, a, 0, 1));
        put(1, __builtin_shufflevector(b, b, 0, 1));
        put(2, __builtin_shufflevector(a, a, 2, 3));
        put(3, __builtin_shufflevector(b, b, 2, 3));
      } else {
        const Vector c = __builtin_shufflevector(row(2), row(3), 0, 4, 2, 6),
                     d = __builtin_shufflevector(row(2), row(3), 1, 5, 3, 7);
        put(0, __builtin_shufflevector(a, c, 0, 1, 4, 5));
        put(1, __builtin_shufflevector(b, d, 0, 1, 4, 5));
        put(2, __builtin_shufflevector(a, c, 2, 3, 6, 7));
        put(3, __builtin_shufflevector(b, d, 2, 3, 6, 7));
      }
    } else {
      const Vector a = __builtin_shufflevector(row(0), row(1), 0, 8, 1, 9, 4, 12, 5, 13),
                   b = __builtin_shufflevector(row(0), row(1), 2, 10, 3, 11, 6, 14, 7, 15);
      if constexpr (kCount == 2) {
        put(0, __builtin_shufflevector(a, a, 0, 1));
        put(1, __builtin_shufflevector(a, a, 2, 3));
        put(2, __builtin_shufflevector(b, b, 0, 1));
        put(3, __builtin_shufflevector(b, b, 2, 3));
        put(4, __builtin_shufflevector(a, a, 4, 5));
        put(5, __builtin_shufflevector(a, a, 6, 7));
        put(6, __builtin_shufflevector(b, b, 4, 5));
        put(7, __builtin_shufflevector(b, b, 6, 7));
      } else {
        const Vector c = __builtin_shufflevector(row(2), row(3), 0, 8, 1, 9, 4, 12, 5, 13),
                     d = __builtin_shufflevector(row(2), row(3), 2, 10, 3, 11, 6, 14, 7, 15);
        const auto twice = [&](int64_t at, Vector v) {
          put(at, __builtin_shufflevector(v, v, 0, 1, 2, 3));
          put(at + 4, __builtin_shufflevector(v, v, 4, 5, 6, 7));
        };
        twice(0, __builtin_shufflevector(a, c, 0, 1, 8, 9, 4, 5, 12, 13));
        twice(1, __builtin_shufflevector(a, c, 2, 3, 10, 11, 6, 7, 14, 15));
        twice(2, __builtin_shufflevector(b, d, 0, 1, 8, 9, 4, 5, 12, 13));
        twice(3, __builtin_shufflevector(b, d, 2, 3, 10, 11, 6, 7, 14, 15));
      }
    }
  }
  return p;
}

// Where rows (of rhs: columns) and k lead in memory, in elements; one of the two is 1.
template <class T>
struct Operand {
  const T* data;
  int64_t along_row, along_k;
};

// f16, bf16 and integers of 8 bits as they lie in memory. What they convert to is exact.
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};
struct I8 {
  int8_t bits;
};
struct U8 {
  uint8_t bits;
};

template <int kLength>
using Words = typename VectorOf<uint32_t, kLength>::type;

template <int kLength>
[[gnu::always_inline]] inline Words<kLength> value_bits(Words<kLength> bits, BF16) {
  return bits << 16;
}
// A half is a float of 5 bits of exponent: subnormal ones, whose value is their digits times 2^-24, are shifted up by a
// subtraction, and those of the largest exponent (infinite, NaN) get the float's.
template <int kLength>
[[gnu::always_inline]] inline Words<kLength> value_bits(Words<kLength> bits, F16) {
  using Floats = typename VectorOf<float, kLength>::type;
  const Words<kLength> sign = (bits & 0x8000) << 16, digits = (bits & 0x7fff) << 13;
  const Words<kLength> exponent = digits & 0x0f800000;
  const Words<kLength> raised = digits + ((127 - 15) << 23);
  const Floats floor = (Floats)(Words<kLength>{} + ((127 - 14) << 23));
  const Words<kLength> small = (Words<kLength>)((Floats)(raised + (1 << 23)) - floor);
  const Words<kLength> large = raised + ((128 - 16) << 23);
  const Words<kLength> is_small = (Words<kLength>)(exponent == 0), is_large = (Words<kLength>)(exponent == 0x0f800000);
  return sign | (small & is_small) | (large & is_large) | (raised & ~(is_small | is_large));
}

// Integers come with their sign.
template <int kLength>
[[gnu::always_inline]] inline Words<kLength> value_bits(Words<kLength> bits, I8) {
  using Ints = typename VectorOf<int32_t, kLength>::type;
  using Floats = typename VectorOf<float, kLength>::type;
  return (Words<kLength>)__builtin_convertvector((Ints)bits, Floats);
}
template <int kLength>
[[gnu::always_inline]] inline Words<kLength> value_bits(Words<kLength> bits, U8) {
  return value_bits<kLength>(bits, I8{});
}

// to[i] = from[i], as float.
template <class H>
void widen(const H* from, int64_t count, float* to) {
  constexpr int64_t kLength = kVectorBytes / 4;
  int64_t i = 0;
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<H, F16>) {
    for (; i + kLength <= count; i += kLength) {
      _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(from + i))));
    }
  }
#elif defined(__F16C__)
  if constexpr (std::is_same_v<H, F16>) {
    for (; i + kLength <= count; i += kLength) {
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from + i))));
    }
  }
#endif
  for (; i < count; i += kLength) {
    const int64_t here = std::min(kLength, count - i);
    Words<kLength> bits{};
    if (here == kLength) {
      for (int64_t j = 0; j < kLength; ++j) bits[j] = static_cast<uint32_t>(from[i + j].bits);
    } else {
      for (int64_t j = 0; j < here; ++j) bits[j] = static_cast<uint32_t>(from[i + j].bits);
    }
    bits = value_bits<kLength>(bits, H{});
    std::memcpy(to + i, &bits, static_cast<size_t>(here) * sizeof(float));
  }
}

// Rows [0, count), each k long, as panels in which the rows of a block lie side by side.
template <class T, int kSize>
void pack(const Operand<T>& from, int64_t count, int64_t k, T* to) {
  const auto [data, along_row, along_k] = from;
  int64_t first = 0;
  // Where the rows of memory are half a page or more apart, it is read by whole rows, so that its pages change less
  // often.
  if (along_row == 1 && along_k * static_cast<int64_t>(sizeof(T)) >= 2048) {
    first = count / kSize * kSize;
    for (int64_t p = 0; p < k; ++p) {
      const T* at = data + p * along_k;
      for (int64_t begin = 0; begin < first; begin += kSize) {
        std::memcpy(to + begin * k + p * kSize, at + begin, kSize * sizeof(T));
      }
    }
  }
  in_blocks<kSize>(first, count, [=]<int kBlock>(int64_t begin) {
    const T* block = data + begin * along_row;
    T* panel = to + begin * k;
    if (along_row == 1) {
      for (int64_t p = 0; p < k; ++p) std::memcpy(panel + p * kBlock, block + p * along_k, kBlock * sizeof(T));
      return;
    }
    const auto rows = [=]<int kCount>(int i) {
      const T* row = block + i * along_row;
      int64_t p = 0;
      if constexpr (kCount > 1) p = transpose<T, kCount>(row, along_row, k, panel + i, kBlock);
      for (; p < k; ++p) {
        for (int r = 0; r < kCount; ++r) panel[p * kBlock + i + r] = row[r * along_row + p];
      }
    };
    constexpr int kFours = kBlock / 4 * 4, kTwos = kBlock / 2 * 2;
    for (int i = 0; i < kFours; i += 4) rows.template operator()<4>(i);
    if constexpr (kFours < kTwos) rows.template operator()<2>(kFours);
    if constexpr (kTwos < kBlock) rows.template operator()<1>(kTwos);
  });
}

// The same of narrower elements: a block of rows is widened, then packed.
template <class H, int kSize>
void pack_narrow(const Operand<H>& from, int64_t count, int64_t k, float* to) {
  const auto [data, along_row, along_k] = from;
  in_blocks<kSize>(0, count, [=]<int kBlock>(int64_t begin) {
    const H* block = data + begin * along_row;
    float* panel = to + begin * k;
    if (along_row == 1) {
      for (int64_t p = 0; p < k; ++p) widen(block + p * along_k, kBlock, panel + p * kBlock);
      return;
    }
    constexpr int64_t kTerms = 64;
    float wide[kBlock * kTerms];
    for (int64_t p = 0; p < k; p += kTerms) {
      const int64_t terms = std::min(kTerms, k - p);
      for (int r = 0; r < kBlock; ++r) widen(block + r * along_row + p, terms, wide + r * kTerms);
      pack<float, kBlock>({wide, kTerms, 1}, kBlock, terms, panel + p * kBlock);
    }
  });
}

}  // namespace
}  // namespace neap::cpu::NEAP_ISA
