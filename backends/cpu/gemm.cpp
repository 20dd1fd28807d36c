// Packed panels and a kernel that keeps a block of out in registers. Every element is one chain of fused multiply-adds
// along k, begun at its initial value: how out is cut into tiles, vectors and blocks of k changes no bit.
#include "backends/cpu/gemm.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/thread_pool.h"
#include "planner/dot_scratch.h"

namespace neap::cpu {
namespace {

using planner::DotForm;
using planner::DotTiles;

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

// out[r][c] = (out[r][c] or 0) + sum over k of a[k][r] * b[k][c], of a block of kM rows and kN columns.
template <class T, int kM, int kN>
void multiply_block(int64_t k, const T* a, const T* b, T* out, int64_t stride, bool adds) {
  constexpr int kLength = std::min(kN, kVectorBytes / static_cast<int>(sizeof(T))), kVectors = kN / kLength;
  using Vector = typename VectorOf<T, kLength>::type;
  Vector sum[kM][kVectors];
  for (int r = 0; r < kM; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = adds ? *reinterpret_cast<const Vector*>(out + r * stride + v * kLength) : Vector{};
    }
  }
  for (; k > 0; --k, a += kM, b += kN) {
    Vector right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = *reinterpret_cast<const Vector*>(b + v * kLength);
    for (int r = 0; r < kM; ++r) {
      for (int v = 0; v < kVectors; ++v) sum[r][v] = a[r] * right[v] + sum[r][v];
    }
  }
  for (int r = 0; r < kM; ++r) {
    for (int v = 0; v < kVectors; ++v) *reinterpret_cast<Vector*>(out + r * stride + v * kLength) = sum[r][v];
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

// to[p][i] = from[i][p]: four rows, as far as k goes in fours.
template <class T>
int64_t transpose_fours(const T* from, int64_t stride, int64_t k, T* to, int64_t to_stride) {
  using Four = typename VectorOf<T, 4>::type;
  const auto row = [&](int64_t i, int64_t p) { return *reinterpret_cast<const Four*>(from + i * stride + p); };
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) {
    const Four a = __builtin_shufflevector(row(0, p), row(1, p), 0, 4, 1, 5),
               b = __builtin_shufflevector(row(2, p), row(3, p), 0, 4, 1, 5),
               c = __builtin_shufflevector(row(0, p), row(1, p), 2, 6, 3, 7),
               d = __builtin_shufflevector(row(2, p), row(3, p), 2, 6, 3, 7);
    const auto put = [&](int64_t at, Four v) { *reinterpret_cast<Four*>(to + (p + at) * to_stride) = v; };
    put(0, __builtin_shufflevector(a, b, 0, 1, 4, 5));
    put(1, __builtin_shufflevector(a, b, 2, 3, 6, 7));
    put(2, __builtin_shufflevector(c, d, 0, 1, 4, 5));
    put(3, __builtin_shufflevector(c, d, 2, 3, 6, 7));
  }
  return p;
}

// Where rows (of rhs: columns) and k lead in memory; one of the two is 1.
template <class T>
struct Operand {
  const T* data;
  int64_t along_row, along_k;
};

// Rows [0, count), each k long, as panels in which the rows of a block lie side by side.
template <class T, int kSize>
void pack(const Operand<T>& from, int64_t count, int64_t k, T* to) {
  const auto [data, along_row, along_k] = from;
  in_blocks<kSize>(0, count, [=]<int kBlock>(int64_t begin) {
    const T* block = data + begin * along_row;
    T* panel = to + begin * k;
    if (along_row == 1) {
      for (int64_t p = 0; p < k; ++p) std::memcpy(panel + p * kBlock, block + p * along_k, kBlock * sizeof(T));
      return;
    }
    for (int i = 0; i < kBlock;) {
      const int rows = kBlock - i >= 4 ? 4 : 1;
      const T* row = block + i * along_row;
      for (int64_t p = rows == 4 ? transpose_fours(row, along_row, k, panel + i, kBlock) : 0; p < k; ++p) {
        for (int r = 0; r < rows; ++r) panel[p * kBlock + i + r] = row[r * along_row + p];
      }
      i += rows;
    }
  });
}

template <class T, int kM, int kN>
void multiply_panels(int64_t m, int64_t n, int64_t k, const Operand<T>& lhs, const Operand<T>& rhs, T* out,
                     int64_t stride, bool adds, T* packed_lhs, T* packed_rhs) {
  pack<T, kM>(lhs, m, k, packed_lhs);
  pack<T, kN>(rhs, n, k, packed_rhs);
  in_blocks<kM>(0, m, [=]<int kRowsHere>(int64_t row) {
    in_blocks<kN>(0, n, [=]<int kColumnsHere>(int64_t column) {
      multiply_block<T, kRowsHere, kColumnsHere>(k, packed_lhs + row * k, packed_rhs + column * k,
                                                 out + row * stride + column, stride, adds);
    });
  });
}

template <class T>
struct Product {
  const DotForm& form;
  const DotTiles tiles;
  const T *lhs, *rhs;
  T* out;

  void run(int64_t number, std::byte* slot) const {
    const int64_t per_matrix = tiles.count_m * tiles.count_n, batch = number / per_matrix;
    const int64_t i = number % per_matrix / tiles.count_n * tiles.tile_m, j = number % tiles.count_n * tiles.tile_n;
    const int64_t m = std::min(tiles.tile_m, form.m - i), n = std::min(tiles.tile_n, form.n - j);
    const int64_t lhs_row = form.lhs_transposed ? 1 : form.k, lhs_k = form.lhs_transposed ? form.m : 1;
    const int64_t rhs_column = form.rhs_transposed ? form.k : 1, rhs_k = form.rhs_transposed ? 1 : form.n;
    const T* a = lhs + batch * form.m * form.k + i * lhs_row;
    const T* b = rhs + batch * form.k * form.n + j * rhs_column;
    T* const to = out + (batch * form.m + i) * form.n + j;
    bool adds = form.adds;
    const auto go = [&]<int kM, int kN>() {
      for (int64_t p = 0; p < form.k; p += tiles.block_k, adds = true) {
        const int64_t k = std::min(tiles.block_k, form.k - p);
        multiply_panels<T, kM, kN>(m, n, k, {a + p * lhs_k, lhs_row, lhs_k}, {b + p * rhs_k, rhs_column, rhs_k}, to,
                                   form.n, adds, reinterpret_cast<T*>(slot),
                                   reinterpret_cast<T*>(slot + tiles.lhs_bytes));
      }
    };
    // As many sums at once either way: fewer would wait for each other.
    n < kColumns<T> ? go.template operator()<2 * kRows, kColumns<T> / 2>()
                    : go.template operator()<kRows, kColumns<T>>();
  }
};

template <class T>
void multiply(const DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch) {
  const Product<T> product{form, planner::dot_tiles(form), static_cast<const T*>(lhs), static_cast<const T*>(rhs),
                           static_cast<T*>(out)};
  const DotTiles& tiles = product.tiles;
  std::atomic<int64_t> next{0};
  const int64_t chunk = std::max<int64_t>(1, tiles.count / (int64_t{8} * tiles.slots));
  parallel_tasks(tiles.slots, [&](int slot) {
    std::byte* packing = scratch + static_cast<size_t>(slot) * tiles.slot_bytes;
    for (int64_t begin; (begin = next.fetch_add(chunk)) < tiles.count;) {
      for (int64_t i = begin; i < std::min(begin + chunk, tiles.count); ++i) product.run(i, packing);
    }
  });
}

}  // namespace

void gemm(const DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch) {
  if (form.k == 0) {
    if (!form.adds) std::memset(out, 0, static_cast<size_t>(form.batch * form.m * form.n) * size_of(form.dtype));
  } else if (form.dtype == DType::f64) {
    multiply<double>(form, lhs, rhs, out, scratch);
  } else {
    multiply<float>(form, lhs, rhs, out, scratch);
  }
}

}  // namespace neap::cpu
