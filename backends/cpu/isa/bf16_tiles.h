// Products of bf16 by the matrix unit that some processors have (AMX): 16 x 16 sums in a tile, to which one instruction
// adds 32 terms each. The order is another than that of pairs (planner/kernels/dot.h): of every 32 terms those with
// even and those with odd numbers are two chains, begun at 0, whose sum is added; subnormal numbers are zeros. Source:
// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, TDPBF16PS.
//
// Functions say that they do not throw: a compiler does not see it of assembly, and programs in C are linked with this
// (backends/cpu/runtime), which have nothing of C++'s exceptions.
#pragma once

#if defined(__AVX512F__)

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/cpu/isa/blocks.h"
#include "planner/kernels/dot_form.h"

namespace neap::cpu::NEAP_ISA {
namespace {

constexpr int64_t kTileRows = 16, kTileTerms = planner::kDotTile;
constexpr int64_t kTileBytes = 64;  // of a row: 16 floats, or 32 terms
constexpr int64_t kMostTileTerms = planner::kDotBlock;

// What a tile is read from or written to: 16 rows, so many bytes apart.
struct TilePlace {
  const void* data;
  int64_t stride;
};

// Instructions by name, so that no other code than this needs a processor that has them.
template <int kTile>
inline void load_tile(const TilePlace& from) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from.data), "r"(from.stride), "i"(kTile) : "memory");
}
template <int kTile>
inline void store_tile(const TilePlace& to) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to.data), "r"(to.stride), "i"(kTile) : "memory");
}
template <int kTile>
inline void clear_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
template <int kSum, int kLeft, int kRight>
inline void add_tile_products() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
}

// The thread's eight tiles have 16 rows of 64 bytes, until they are released.
inline void configure_tiles() {
  const struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } shape;
  asm volatile("ldtilecfg %0" ::"m"(shape));
}
inline void release_tiles() { asm volatile("tilerelease" ::); }

// Rows of lhs or columns of rhs: bf16 that lie as such, or as floats.
struct TileOperand {
  Operand<BF16> narrow;  // where they lie as such
  Operand<float> wide;
  bool is_wide;

  // At most 16 from one on, of so many terms, from which on: as bf16, which `copy` holds if they must be copied.
  Operand<BF16> at(int64_t row, int64_t rows, int64_t term, int64_t terms, BF16* copy) const {
    if (!is_wide) {
      const auto [data, along_row, along_k] = narrow;
      return {data + row * along_row + term * along_k, along_row, along_k};
    }
    const auto [data, along_row, along_k] = wide;
    const float* const first = data + row * along_row + term * along_k;
    const bool by_rows = along_k == 1;
    const int64_t outer = by_rows ? rows : terms, inner = by_rows ? terms : rows, along = by_rows ? along_row : along_k;
    for (int64_t i = 0; i < outer; ++i) {
      for (int64_t j = 0; j < inner; ++j) {
        uint32_t bits;
        std::memcpy(&bits, first + i * along + j, sizeof(bits));
        copy[i * inner + j].bits = static_cast<uint16_t>(bits >> 16);
      }
    }
    return {copy, by_rows ? inner : 1, by_rows ? 1 : inner};
  }
};

// Columns of rhs as tiles want them: for each two terms, of 16 columns the pair, the first term below the second; what
// is missing is zeros.
[[gnu::nothrow]] inline void pack_tile_columns(const Operand<BF16>& from, int64_t columns, int64_t k, uint32_t* panel) {
  const auto [data, along_column, along_k] = from;
  const int64_t pairs = (k + kTileTerms - 1) / kTileTerms * (kTileTerms / 2);
  const auto pair = [](BF16 first, uint16_t second) { return static_cast<uint32_t>(second) << 16 | first.bits; };
  if (along_column == 1) {
    for (int64_t p = 0; p < pairs; ++p, panel += kTileRows) {
      if (2 * p >= k) {
        std::fill(panel, panel + kTileRows, 0);
        continue;
      }
      const BF16 *first = data + 2 * p * along_k, *second = 2 * p + 1 < k ? first + along_k : nullptr;
      if (columns == kTileRows && second) {
        for (int i = 0; i < kTileRows; ++i) panel[i] = pair(first[i], second[i].bits);
        continue;
      }
      for (int64_t i = 0; i < columns; ++i) panel[i] = pair(first[i], second ? second[i].bits : 0);
      std::fill(panel + columns, panel + kTileRows, 0);
    }
    return;
  }
  constexpr int64_t kPairs = 32;
  uint32_t rows[kTileRows * kPairs] = {};
  for (int64_t p = 0; p < pairs; p += kPairs) {
    const int64_t here = std::min(kPairs, pairs - p), terms = std::min(2 * here, k - 2 * p);
    for (int64_t c = 0; c < columns; ++c) {
      uint32_t* const row = rows + c * kPairs;
      if (terms < 2 * here) std::memset(row, 0, static_cast<size_t>(here) * sizeof(uint32_t));
      std::memcpy(row, data + c * along_column + 2 * p, static_cast<size_t>(terms) * sizeof(BF16));
    }
    pack<float, kTileRows>({reinterpret_cast<const float*>(rows), kPairs, 1}, kTileRows, here,
                           reinterpret_cast<float*>(panel + p * kTileRows));
  }
}

// The same of 32 columns that lie side by side, and whole pairs: each line of memory is read once.
inline void pack_tile_columns_twice(const Operand<BF16>& from, int64_t k, uint32_t* panel, uint32_t* next) {
  alignas(64) uint16_t order[2][32];
  for (int i = 0; i < 32; ++i) {
    order[0][i] = static_cast<uint16_t>(i / 2 + i % 2 * 32);
    order[1][i] = static_cast<uint16_t>(16 + i / 2 + i % 2 * 32);
  }
  const __m512i low = _mm512_load_si512(order[0]), high = _mm512_load_si512(order[1]);
  for (int64_t p = 0; p < k; p += 2, panel += kTileRows, next += kTileRows) {
    const __m512i first = _mm512_loadu_si512(from.data + p * from.along_k);
    const __m512i second = _mm512_loadu_si512(from.data + (p + 1) * from.along_k);
    _mm512_store_si512(panel, _mm512_permutex2var_epi16(first, low, second));
    _mm512_store_si512(next, _mm512_permutex2var_epi16(first, high, second));
  }
}

// Bytes of so many rows of k terms, packed.
constexpr size_t bytes_of_tile_rows(int64_t rows, int64_t k) {
  return static_cast<size_t>((rows + kTileRows - 1) / kTileRows * kTileRows) *
         static_cast<size_t>((k + kTileTerms - 1) / kTileTerms * kTileBytes);
}

// Rows of lhs as tiles want them: 16 rows of 32 terms, tile after tile along k; what is missing is zeros.
class TileRows {
 public:
  // `packed` is null where there is no place for all of them.
  TileRows(const TileOperand& from, int64_t rows, int64_t first, int64_t k, BF16* packed)
      : from_(from), rows_(rows), first_(first), k_(k), packed_(packed) {
    for (int64_t row = 0; packed && row < rows; row += kTileRows) pack_rows(row, packed + row * terms());
  }

  // The tiles of 16 rows from one on, or a copy of them.
  const BF16* at(int64_t row, BF16* copy) const {
    if (packed_) return packed_ + row * terms();
    pack_rows(row, copy);
    return copy;
  }

 private:
  int64_t terms() const { return (k_ + kTileTerms - 1) / kTileTerms * kTileTerms; }
  [[gnu::noinline, gnu::nothrow]] void pack_rows(int64_t row, BF16* to) const {
    BF16 narrowed[kTileRows * kMostTileTerms];
    const int64_t rows = std::min(kTileRows, rows_ - row);
    const Operand<BF16> from = from_.at(row, rows, first_, k_, narrowed);
    from.along_k == 1 ? copy_rows(from, rows, to) : transpose_rows(from, rows, to);
  }
  void copy_rows(const Operand<BF16>& from, int64_t rows, BF16* to) const {
    for (int64_t term = 0; term < k_; term += kTileTerms, to += kTileRows * kTileTerms) {
      const int64_t terms = std::min(kTileTerms, k_ - term);
      if (rows < kTileRows || terms < kTileTerms) std::memset(to, 0, kTileRows * kTileBytes);
      for (int64_t r = 0; r < rows; ++r) {
        const BF16* const first = from.data + r * from.along_row + term;
        if (terms == kTileTerms) {
          std::memcpy(to + r * kTileTerms, first, kTileBytes);
        } else {
          std::memcpy(to + r * kTileTerms, first, static_cast<size_t>(terms) * sizeof(BF16));
        }
      }
    }
  }
  // By pairs, as columns of rhs are packed, then these as numbers.
  void transpose_rows(const Operand<BF16>& from, int64_t rows, BF16* to) const {
    uint32_t pairs[kMostTileTerms / 2 * kTileRows];
    pack_tile_columns(from, rows, k_, pairs);
    for (int64_t term = 0; term < k_; term += kTileTerms, to += kTileRows * kTileTerms) {
      pack<float, kTileRows>({reinterpret_cast<const float*>(pairs) + term / 2 * kTileRows, kTileRows, 1}, kTileRows,
                             kTileRows, reinterpret_cast<float*>(to));
    }
  }

  const TileOperand& from_;
  const int64_t rows_, first_, k_;
  BF16* const packed_;
};

// A tile of sums in out, which may end in it.
struct TileSums {
  float* out;
  int64_t stride, rows, columns;

  bool whole() const { return rows == kTileRows && columns == kTileRows; }
  // To a whole tile that lies side by side, or from one.
  void copy_to(float* tile) const {
    for (int64_t r = 0; r < rows; ++r) {
      std::memcpy(tile + r * kTileRows, out + r * stride, static_cast<size_t>(columns) * sizeof(float));
    }
  }
  void copy_from(const float* tile) const {
    for (int64_t r = 0; r < rows; ++r) {
      std::memcpy(out + r * stride, tile + r * kTileRows, static_cast<size_t>(columns) * sizeof(float));
    }
  }

  template <int kTile>
  [[gnu::nothrow]] void load() const {
    if (whole()) return load_tile<kTile>({out, stride * static_cast<int64_t>(sizeof(float))});
    alignas(64) float copy[kTileRows * kTileRows] = {};
    copy_to(copy);
    load_tile<kTile>({copy, kTileBytes});
  }
  template <int kTile>
  [[gnu::nothrow]] void store(Sums how) const {
    if (whole() && !how.apart) return store_tile<kTile>({out, stride * static_cast<int64_t>(sizeof(float))});
    alignas(64) float copy[kTileRows * kTileRows];
    store_tile<kTile>({copy, kTileBytes});
    if (!how.apart) return copy_from(copy);
    for (int64_t r = 0; r < rows; ++r) {
      float* const to = out + r * stride;
      const float* const from = copy + r * kTileRows;
      const auto add = [&](int64_t count) {
        for (int64_t c = 0; c < count; ++c) to[c] = (how.adds ? to[c] : 0.0f) + from[c];
      };
      columns == kTileRows ? add(kTileRows) : add(columns);
    }
  }
};

// The sums of a product: in out, or tile after tile in a place of their own until the last term, as rows of out lie
// pages apart.
class TileGrid {
 public:
  TileGrid(int64_t m, int64_t n, float* out, int64_t stride, float* apart)
      : m_(m), n_(n), out_(out), stride_(stride), apart_(apart) {}

  TileSums at(int64_t row, int64_t column) const {
    return apart_ ? TileSums{apart(row, column), kTileRows, kTileRows, kTileRows} : in_out(row, column);
  }

  // These do nothing where the sums are in out.
  void take() const {
    each([](const TileSums& sums, float* tile) { sums.copy_to(tile); });
  }
  void put() const {
    each([](const TileSums& sums, const float* tile) { sums.copy_from(tile); });
  }

 private:
  TileSums in_out(int64_t row, int64_t column) const {
    return {out_ + row * stride_ + column, stride_, std::min(kTileRows, m_ - row), std::min(kTileRows, n_ - column)};
  }
  float* apart(int64_t row, int64_t column) const {
    const int64_t across = (n_ + kTileRows - 1) / kTileRows;
    return apart_ + (row / kTileRows * across + column / kTileRows) * kTileRows * kTileRows;
  }
  template <class Visit>
  void each(const Visit& visit) const {
    for (int64_t row = 0; apart_ && row < m_; row += kTileRows) {
      for (int64_t column = 0; column < n_; column += kTileRows) visit(in_out(row, column), apart(row, column));
    }
  }

  const int64_t m_, n_;
  float* const out_;
  const int64_t stride_;
  float* const apart_;
};

// out (m x n) = (out or 0) + rows x columns, of k terms, at most kMostTileTerms.
[[gnu::nothrow]] inline void multiply_tiles(int64_t m, int64_t n, int64_t k, const TileRows& rows,
                                            const TileOperand& rhs, int64_t first, const TileGrid& out, Sums how) {
  alignas(64) uint32_t panels[2][kMostTileTerms / 2 * kTileRows];
  alignas(64) BF16 copies[2][kTileRows * kMostTileTerms];
  const bool goes_on = how.adds && !how.apart;
  for (int64_t column = 0; column < n; column += 2 * kTileRows) {
    if (!rhs.is_wide && rhs.narrow.along_row == 1 && n - column >= 2 * kTileRows && k % kTileTerms == 0) {
      pack_tile_columns_twice(rhs.at(column, 2 * kTileRows, first, k, nullptr), k, panels[0], panels[1]);
    } else {
      for (int64_t half = 0; half < 2 && column + half * kTileRows < n; ++half) {
        const int64_t c = column + half * kTileRows, columns = std::min(kTileRows, n - c);
        pack_tile_columns(rhs.at(c, columns, first, k, copies[0]), columns, k, panels[half]);
      }
    }
    for (int64_t row = 0; row < m; row += 2 * kTileRows) {
      // Tiles 0 to 3 are sums, 4 and 5 rows, 6 and 7 columns.
      const auto go = [&]<bool kTwoRows, bool kTwoColumns>() {
        const auto each = [&](auto visit) {
          visit.template operator()<0>(out.at(row, column));
          if constexpr (kTwoColumns) visit.template operator()<1>(out.at(row, column + kTileRows));
          if constexpr (kTwoRows) visit.template operator()<2>(out.at(row + kTileRows, column));
          if constexpr (kTwoRows && kTwoColumns)
            visit.template operator()<3>(out.at(row + kTileRows, column + kTileRows));
        };
        each([&]<int kTile>(const TileSums& s) { goes_on ? s.template load<kTile>() : clear_tile<kTile>(); });
        const BF16* const left[] = {rows.at(row, copies[0]), kTwoRows ? rows.at(row + kTileRows, copies[1]) : nullptr};
        for (int64_t p = 0; p < k; p += kTileTerms) {
          load_tile<6>({panels[0] + p / 2 * kTileRows, kTileBytes});
          load_tile<4>({left[0] + p * kTileRows, kTileBytes});
          add_tile_products<0, 4, 6>();
          if constexpr (kTwoColumns) {
            load_tile<7>({panels[1] + p / 2 * kTileRows, kTileBytes});
            add_tile_products<1, 4, 7>();
          }
          if constexpr (kTwoRows) {
            load_tile<5>({left[1] + p * kTileRows, kTileBytes});
            add_tile_products<2, 5, 6>();
            if constexpr (kTwoColumns) add_tile_products<3, 5, 7>();
          }
        }
        each([&]<int kTile>(const TileSums& s) { s.template store<kTile>(how); });
      };
      const bool two_rows = m - row > kTileRows, two_columns = n - column > kTileRows;
      if (two_rows) {
        two_columns ? go.template operator()<true, true>() : go.template operator()<true, false>();
      } else {
        two_columns ? go.template operator()<false, true>() : go.template operator()<false, false>();
      }
    }
  }
}

// As multiply_panels (gemm.cpp) does block by block, of bf16: out is m x n. Apart, for its 32 KB of the stack. What
// there is place for lies in `scratch`.
[[gnu::noinline, gnu::nothrow]] inline void multiply_in_tiles(int64_t m, int64_t n, int64_t k, const TileOperand& lhs,
                                                              const TileOperand& rhs, float* out, int64_t stride,
                                                              Sums how, std::byte* scratch, size_t bytes) {
  const int64_t block = std::min(k, kMostTileTerms);
  const size_t rows = bytes_of_tile_rows(m, block);
  const size_t sums = bytes_of_tile_rows(m, (n + kTileRows - 1) / kTileRows * kTileTerms);  // tiles are all alike
  const bool apart = k > block && rows + sums <= bytes;
  const TileGrid grid(m, n, out, stride, apart ? reinterpret_cast<float*>(scratch + rows) : nullptr);
  if (how.adds) grid.take();
  configure_tiles();
  for (int64_t p = 0; p < k; p += block, how.adds = true) {
    const int64_t terms = std::min(block, k - p);
    const TileRows packed(lhs, m, p, terms, rows <= bytes ? reinterpret_cast<BF16*>(scratch) : nullptr);
    multiply_tiles(m, n, terms, packed, rhs, p, grid, how);
  }
  release_tiles();
  grid.put();
}

}  // namespace
}  // namespace neap::cpu::NEAP_ISA

#endif
