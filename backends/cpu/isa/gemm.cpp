// Matrix products. The order in which an element is summed is that of planner/kernels/dot.h: how out is cut into tiles
// and vectors changes no bit, nor what is packed at once along k.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "backends/cpu/isa/bf16_pairs.h"
#include "backends/cpu/isa/bf16_tiles.h"
#include "backends/cpu/isa/blocks.h"
#include "core/thread_pool.h"
#include "planner/kernels/dot_scratch.h"

namespace neap::cpu::NEAP_ISA {
namespace {

using planner::DotForm;
using planner::DotTiles;

// One side of a product, from an element on. Elements are of the product's type, or halves.
template <class T>
struct Side {
  const void* data;
  planner::Half half;
  int64_t along_row, along_k, begin = 0;

  Side from(int64_t row, int64_t term) const {
    return {data, half, along_row, along_k, begin + row * along_row + term * along_k};
  }
  template <class E>
  Operand<E> as() const {
    return {static_cast<const E*>(data) + begin, along_row, along_k};
  }
  template <int kSize>
  void pack_into(T* to, int64_t count, int64_t k) const {
    if constexpr (std::is_same_v<T, float>) {
      if (half == planner::Half::bf16) return pack_halves<BF16, kSize>(as<BF16>(), count, k, to);
      if (half == planner::Half::f16) return pack_halves<F16, kSize>(as<F16>(), count, k, to);
    }
    pack<T, kSize>(as<T>(), count, k, to);
  }
};

// kDirect: rows of lhs are read where they lie.
template <class T, int kM, int kN, bool kDirect>
void multiply_panels(int64_t m, int64_t n, int64_t k, const Side<T>& lhs, const Side<T>& rhs, T* out, int64_t stride,
                     Sums how, T* packed_lhs, T* packed_rhs) {
  if (!kDirect) lhs.template pack_into<kM>(packed_lhs, m, k);
  rhs.template pack_into<kN>(packed_rhs, n, k);
  const T* direct = kDirect ? lhs.template as<T>().data : nullptr;
  in_blocks<kM>(0, m, [=]<int kRowsHere>(int64_t row) {
    in_blocks<kN>(0, n, [=]<int kColumnsHere>(int64_t column) {
      const T* a = kDirect ? direct + row * lhs.along_row : packed_lhs + row * k;
      multiply_block<T, kRowsHere, kColumnsHere, kDirect>(k, a, lhs.along_row,
                                                          Panel<T, kColumnsHere>{packed_rhs + column * k},
                                                          out + row * stride + column, stride, how);
    });
  });
}

// Whether tiles may make it. That does not depend on how operands lie in memory, which differs between plans.
bool is_for_tiles(const DotForm& form) {
  return form.of_bf16 && std::max(form.k, form.whole_k) >= planner::kDotTile && form.lhs_half != planner::Half::f16 &&
         form.rhs_half != planner::Half::f16;
}

// Whether the processor's own instruction for bf16 makes it. Columns are packed in whole vectors: few need more scratch
// than there is.
bool is_of_pairs([[maybe_unused]] const DotForm& form, [[maybe_unused]] const DotTiles& tiles) {
#if defined(__AVX512F__)
  return form.of_bf16 && form.lhs_half == planner::Half::bf16 && form.rhs_half == planner::Half::bf16 &&
         bytes_of_pairs(tiles.tile_n, tiles.block_k) <= tiles.slot_bytes - tiles.lhs_bytes && multiplies_bf16_pairs();
#else
  return false;
#endif
}

template <class T>
struct Product {
  const DotForm& form;
  const DotTiles tiles;
  const void *lhs, *rhs;
  T* out;
  const bool of_tiles;
  const bool of_pairs = !of_tiles && is_of_pairs(form, tiles);

  // Said, so that programs in C need nothing of C++'s exceptions (backends/cpu/runtime).
  [[gnu::nothrow]] void run(int64_t number, std::byte* slot) const {
    const int64_t per_matrix = tiles.count_m * tiles.count_n, batch = number / per_matrix;
    const int64_t i = number % per_matrix / tiles.count_n * tiles.tile_m, j = number % tiles.count_n * tiles.tile_n;
    const int64_t m = std::min(tiles.tile_m, form.m - i), n = std::min(tiles.tile_n, form.n - j);
    const int64_t lhs_row = form.lhs_transposed ? 1 : form.k, lhs_k = form.lhs_transposed ? form.m : 1;
    const int64_t rhs_column = form.rhs_transposed ? form.k : 1, rhs_k = form.rhs_transposed ? 1 : form.n;
    const Side<T> a = Side<T>{lhs, form.lhs_half, lhs_row, lhs_k, batch * form.m * form.k}.from(i, 0);
    const Side<T> b = Side<T>{rhs, form.rhs_half, rhs_column, rhs_k, batch * form.k * form.n}.from(j, 0);
    T* const to = out + (batch * form.m + i) * form.n + j;
    Sums how{form.adds, std::max(form.k, form.whole_k) > planner::kLongDot};
    const auto packed_lhs = reinterpret_cast<T*>(slot), packed_rhs = reinterpret_cast<T*>(slot + tiles.lhs_bytes);
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, float>) {
      if (of_tiles) {
        const auto side = [](const Side<T>& s) {
          return TileOperand{s.template as<BF16>(), s.template as<float>(), s.half == planner::Half::no};
        };
        return multiply_in_tiles(m, n, form.k, side(a), side(b), to, form.n, how, slot, tiles.slot_bytes);
      }
      if (of_pairs) {
        for (int64_t p = 0; p < form.k; p += tiles.block_k, how.adds = true) {
          const auto go = [&]<bool kByRows>() {
            multiply_panels_of_pairs<kByRows>(m, n, std::min(tiles.block_k, form.k - p),
                                              a.from(0, p).template as<BF16>(), b.from(0, p).template as<BF16>(), to,
                                              form.n, how, reinterpret_cast<uint32_t*>(packed_lhs),
                                              reinterpret_cast<uint32_t*>(packed_rhs));
          };
          form.lhs_transposed ? go.template operator()<false>() : go.template operator()<true>();
        }
        return;
      }
    }
#endif
    const auto go = [&]<int kM, int kN, bool kDirect>() {
      for (int64_t p = 0; p < form.k; p += tiles.block_k, how.adds = true) {
        const int64_t k = std::min(tiles.block_k, form.k - p);
        multiply_panels<T, kM, kN, kDirect>(m, n, k, a.from(0, p), b.from(0, p), to, form.n, how, packed_lhs,
                                            packed_rhs);
      }
    };
    // Enough sums at once that none waits for the one before. What is read once is not worth packing.
    const bool direct = n <= kColumns<T> && !form.lhs_transposed && form.lhs_half == planner::Half::no;
    if (n >= kColumns<T>) {
      direct ? go.template operator()<kRows, kColumns<T>, true>() : go.template operator()<kRows, kColumns<T>, false>();
    } else {
      direct ? go.template operator()<8, kColumns<T> / 2, true>()
             : go.template operator()<2 * kRows, kColumns<T> / 2, false>();
    }
  }
};

// While one lives, the thread takes subnormal numbers for zeros and makes none: a product with one in it takes a
// hundred times as long as others.
class SubnormalsAreZero {
 public:
#if defined(__SSE2__)
  explicit SubnormalsAreZero(bool so) : changed_(so ? kBoth & ~__builtin_ia32_stmxcsr() : 0) {
    if (changed_) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | changed_);
  }
  ~SubnormalsAreZero() {
    if (changed_) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~changed_);
  }
  SubnormalsAreZero(const SubnormalsAreZero&) = delete;
  SubnormalsAreZero& operator=(const SubnormalsAreZero&) = delete;

 private:
  static constexpr unsigned kBoth = 0x8040;  // flush to zero, denormals are zero
  const unsigned changed_;
#else
  explicit SubnormalsAreZero(bool) {}
#endif
};

template <class T>
void multiply(const DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch, bool has_tiles) {
  const Product<T> product{form, planner::dot_tiles(form), lhs,
                           rhs,  static_cast<T*>(out),     has_tiles && is_for_tiles(form)};
  const DotTiles& tiles = product.tiles;
  std::atomic<int64_t> next{0};
  const int64_t chunk = std::max<int64_t>(1, tiles.count / (int64_t{8} * tiles.slots));
  parallel_tasks(tiles.slots, [&](int slot) {
    const SubnormalsAreZero mode(form.of_bf16);
    std::byte* packing = scratch + static_cast<size_t>(slot) * tiles.slot_bytes;
    for (int64_t begin; (begin = next.fetch_add(chunk)) < tiles.count;) {
      for (int64_t i = begin; i < std::min(begin + chunk, tiles.count); ++i) product.run(i, packing);
    }
  });
}

template <class T>
void gemm(const DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch, bool has_tiles) {
  if (form.k > 0) return multiply<T>(form, lhs, rhs, out, scratch, has_tiles);
  if (!form.adds) std::memset(out, 0, static_cast<size_t>(form.batch * form.m * form.n) * sizeof(T));
}

}  // namespace

// Apart, so that a program that needs one of them is linked with one of them.
void gemm_f32(const DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch, bool has_tiles) {
  gemm<float>(form, lhs, rhs, out, scratch, has_tiles);
}
void gemm_f64(const DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch) {
  gemm<double>(form, lhs, rhs, out, scratch, false);
}

}  // namespace neap::cpu::NEAP_ISA
