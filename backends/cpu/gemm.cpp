#include "backends/cpu/gemm.h"

#include <Eigen/Core>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/thread_pool.h"
#include "planner/dot_scratch.h"

namespace neap::cpu {
namespace {

using planner::DotForm;
using planner::DotTiles;
using Index = Eigen::Index;

// Packing space that we own, where Eigen's own blocking would allocate.
template <class T>
struct Blocking : Eigen::internal::level3_blocking<T, T> {
  Blocking(T* a, T* b, Index mc, Index nc, Index kc) {
    this->m_blockA = a;
    this->m_blockB = b;
    this->m_mc = mc;
    this->m_nc = nc;
    this->m_kc = kc;
  }
};

// Eigen's kernel wants a column-major result: out, [m, n] by rows, is its transpose, rhs^T lhs^T.
template <class T, bool kRhsByRows, bool kLhsByRows>
void tile(Index n, Index m, Index k, const T* rhs, Index rhs_stride, const T* lhs, Index lhs_stride, T* out,
          Index stride, Blocking<T>& blocking) {
  Eigen::internal::general_matrix_matrix_product<Index, T, kRhsByRows ? Eigen::RowMajor : Eigen::ColMajor, false, T,
                                                 kLhsByRows ? Eigen::RowMajor : Eigen::ColMajor, false, Eigen::ColMajor,
                                                 1>::run(n, m, k, rhs, rhs_stride, lhs, lhs_stride, out, 1, stride,
                                                         T(1), blocking);
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
    const T* a = lhs + batch * form.m * form.k + (form.lhs_transposed ? i : i * form.k);
    const T* b = rhs + batch * form.k * form.n + (form.rhs_transposed ? j * form.k : j);
    T* c = out + (batch * form.m + i) * form.n + j;
    for (int64_t row = 0; row < m; ++row) std::memset(c + row * form.n, 0, static_cast<size_t>(n) * sizeof(T));
    if (form.k == 0) return;
    // Eigen's left-hand side is our right-hand one.
    Blocking<T> blocking(reinterpret_cast<T*>(slot + tiles.lhs_bytes), reinterpret_cast<T*>(slot), tiles.tile_n,
                         tiles.tile_m, tiles.block_k);
    const int64_t lhs_stride = form.lhs_transposed ? form.m : form.k,
                  rhs_stride = form.rhs_transposed ? form.k : form.n;
    const auto go = [&]<bool kRhs, bool kLhs>() {
      tile<T, kRhs, kLhs>(n, m, form.k, b, rhs_stride, a, lhs_stride, c, form.n, blocking);
    };
    if (form.rhs_transposed) {
      form.lhs_transposed ? go.template operator()<true, true>() : go.template operator()<true, false>();
    } else {
      form.lhs_transposed ? go.template operator()<false, true>() : go.template operator()<false, false>();
    }
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
  if (form.dtype == DType::f64) {
    multiply<double>(form, lhs, rhs, out, scratch);
  } else {
    multiply<float>(form, lhs, rhs, out, scratch);
  }
}

}  // namespace neap::cpu
