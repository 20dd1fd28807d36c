// Matrix products. The order in which an element is summed is that of planner/kernels/dot.h: how out is cut into tiles
// and vectors changes no bit, nor what is packed at once along k.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "backends/cpu/isa/bf16_pairs.h"
#include "backends/cpu/isa/bf16_tiles.h"
#include "backends/cpu/isa/blocks.h"
#include "backends/cpu/isa/byte_quads.h"
#include "backends/cpu/isa/small_matrices.h"
#include "core/thread_pool.h"
#include "planner/kernels/dot_scratch.h"

namespace neap::cpu::NEAP_ISA {
namespace {

using planner::DotForm;
using planner::DotTiles;

// One side of a product, from an element on. Elements are of the product's type, or narrower.
template <class T>
struct Side {
  const void* data;
  planner::Narrow narrow;
  int64_t along_row, along_k, begin = 0;

  Side from(int64_t row, int64_t term) const {
    return {data, narrow, along_row, along_k, begin + row * along_row + term * along_k};
  }
  template <class E>
  Operand<E> as() const {
    return {static_cast<const E*>(data) + begin, along_row, along_k};
  }
  template <int kSize>
  void pack_into(T* to, int64_t count, int64_t k) const {
    if constexpr (std::is_same_v<T, float>) {
      switch (narrow) {
        case planner::Narrow::bf16: return pack_narrow<BF16, kSize>(as<BF16>(), count, k, to);
        case planner::Narrow::f16: return pack_narrow<F16, kSize>(as<F16>(), count, k, to);
        case planner::Narrow::i8: return pack_narrow<I8, kSize>(as<I8>(), count, k, to);
        case planner::Narrow::u8: return pack_narrow<U8, kSize>(as<U8>(), count, k, to);
        case planner::Narrow::no: break;
      }
    }
    pack<T, kSize>(as<T>(), count, k, to);
  }
};

// Whose rows of lhs and columns of rhs a slot's scratch holds, by their number; -1: none that another tile could use.
struct Packed {
  int64_t lhs = -1, rhs = -1;
};

// Where a kernel reads rows of lhs: in panels, or where they lie.
enum class Lhs : uint8_t { packed, by_rows, by_terms };

template <class T, int kM, int kN, Lhs kLhs>
void multiply_panels(int64_t m, int64_t n, int64_t k, const Side<T>& lhs, const Side<T>& rhs, T* out, int64_t stride,
                     Sums how, T* packed_lhs, T* packed_rhs, bool has_lhs, bool has_rhs) {
  if (kLhs == Lhs::packed && !has_lhs) lhs.template pack_into<kM>(packed_lhs, m, k);
  if (!has_rhs) rhs.template pack_into<kN>(packed_rhs, n, k);
  const T* in_place = kLhs == Lhs::packed ? nullptr : lhs.template as<T>().data;
  in_blocks<kM>(0, m, [=]<int kRowsHere>(int64_t row) {
    const auto rows = [=] {
      if constexpr (kLhs == Lhs::by_rows) {
        return ByRows<T>{in_place + row * lhs.along_row, lhs.along_row};
      } else if constexpr (kLhs == Lhs::by_terms) {
        return ByTerms<T>{in_place + row, lhs.along_k};
      } else {
        return ByTerms<T>{packed_lhs + row * k, kRowsHere};
      }
    }();
    in_blocks<kN>(0, n, [=]<int kColumnsHere>(int64_t column) {
      multiply_block<T, kRowsHere, kColumnsHere>(k, rows, Panel<T, kColumnsHere>{packed_rhs + column * k},
                                                 out + row * stride + column, stride, how);
    });
  });
}

// Whether tiles may make it. That does not depend on how operands lie in memory, which differs between plans.
bool is_for_tiles(const DotForm& form) {
  const auto fits = [](planner::Narrow n) { return n == planner::Narrow::no || n == planner::Narrow::bf16; };
  return form.of_bf16 && std::max(form.k, form.whole_k) >= planner::kDotTile && fits(form.lhs_narrow) &&
         fits(form.rhs_narrow);
}

// Whether the processor's own instruction for bf16 makes it. Columns are packed in whole vectors: few need more scratch
// than there is.
bool is_of_pairs([[maybe_unused]] const DotForm& form, [[maybe_unused]] const DotTiles& tiles) {
#if defined(__AVX512F__)
  return form.of_bf16 && form.lhs_narrow == planner::Narrow::bf16 && form.rhs_narrow == planner::Narrow::bf16 &&
         bytes_of_pairs(tiles.tile_n, tiles.block_k) <= tiles.slot_bytes - tiles.lhs_bytes && multiplies_bf16_pairs();
#else
  return false;
#endif
}

// Whether the processor's own instruction for bytes makes it: both sides are bytes, and f32 holds every sum of their
// products exactly.
bool is_of_quads([[maybe_unused]] const DotForm& form, [[maybe_unused]] const DotTiles& tiles) {
#if defined(__AVX512F__)
  const auto is_byte = [](planner::Narrow n) { return n == planner::Narrow::i8 || n == planner::Narrow::u8; };
  if (form.dtype != DType::f32 || !is_byte(form.lhs_narrow) || !is_byte(form.rhs_narrow)) return false;
  const auto largest = [](planner::Narrow n) { return n == planner::Narrow::i8 ? int64_t{128} : int64_t{255}; };
  const int64_t k = std::max(form.k, form.whole_k);
  if (k > (int64_t{1} << 24) / (largest(form.lhs_narrow) * largest(form.rhs_narrow))) return false;
  if (form.adds && form.whole_k == 0) return false;  // to what may be no integers
  return form.k <= 4 * tiles.block_k && tiles.tile_n <= 16 * kMostPanels &&
         bytes_of_quads(tiles.tile_n, form.k) <= tiles.slot_bytes - tiles.lhs_bytes && multiplies_byte_quads();
#else
  return false;
#endif
}

// Columns up to which rows of lhs are read where they lie (on two cores of Zen 3 a tenth faster with 64, a sixth with
// 32), and bytes of those rows, where they are not in order, that the first cache keeps beside columns.
template <class T>
constexpr int64_t kFewColumns = 4 * kColumns<T>;
constexpr int64_t kKeptBytes = int64_t{16} << 10;

template <class T>
struct Product {
  const DotForm& form;
  const void *lhs, *rhs;
  T* out;
  const bool of_tiles;
  const DotTiles planned = planner::dot_tiles(form);
  const bool of_pairs = !of_tiles && is_of_pairs(form, planned);
  const bool of_quads = is_of_quads(form, planned);
  const bool as_planned = of_tiles || of_pairs || of_quads || planned.count == 1 || num_threads() > 1;
  const DotTiles tiles = as_planned ? planned : planner::one_by_one(form, planned);

  // Said, so that programs in C need nothing of C++'s exceptions (backends/cpu/runtime).
  [[gnu::nothrow]] void run(int64_t number, std::byte* slot, Packed& packed) const {
    const int64_t per_matrix = tiles.count_m * tiles.count_n, batch = number / per_matrix;
    const int64_t i = number % per_matrix / tiles.count_n * tiles.tile_m, j = number % tiles.count_n * tiles.tile_n;
    const int64_t m = std::min(tiles.tile_m, form.m - i), n = std::min(tiles.tile_n, form.n - j);
    const int64_t lhs_row = form.lhs_transposed ? 1 : form.k, lhs_k = form.lhs_transposed ? form.m : 1;
    const int64_t rhs_column = form.rhs_transposed ? form.k : 1, rhs_k = form.rhs_transposed ? 1 : form.n;
    const Side<T> a = Side<T>{lhs, form.lhs_narrow, lhs_row, lhs_k, batch * form.m * form.k}.from(i, 0);
    const Side<T> b = Side<T>{rhs, form.rhs_narrow, rhs_column, rhs_k, batch * form.k * form.n}.from(j, 0);
    T* const to = out + (batch * form.m + i) * form.n + j;
    Sums how{form.adds, std::max(form.k, form.whole_k) > planner::kLongDot};
    const auto packed_lhs = reinterpret_cast<T*>(slot), packed_rhs = reinterpret_cast<T*>(slot + tiles.lhs_bytes);
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, float>) {
      if (of_tiles) {
        const auto side = [](const Side<T>& s) {
          return TileOperand{s.template as<BF16>(), s.template as<float>(), s.narrow == planner::Narrow::no};
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
      if (of_quads) {
        const int64_t rows = batch * tiles.count_m + i / tiles.tile_m;
        const bool has_lhs = std::exchange(packed, {rows, -1}).lhs == rows;
        const bool is_signed = form.rhs_narrow == planner::Narrow::i8, flips = form.lhs_narrow == form.rhs_narrow;
        const auto go = [&]<bool kUnsignedLeft>() {
          multiply_panels_of_quads<kUnsignedLeft>(
              m, n, form.k, a.template as<uint8_t>(), flips, b.template as<uint8_t>(), to, form.n, how.adds,
              reinterpret_cast<uint32_t*>(packed_lhs), reinterpret_cast<uint32_t*>(packed_rhs), has_lhs);
        };
        return is_signed ? go.template operator()<true>() : go.template operator()<false>();
      }
    }
#endif
    // Tiles of the same rows or columns follow each other. What of them is packed stays, if it is all of it, and as
    // others have it: a narrow rest of columns has other panels.
    const Lhs read = how_to_read(n);
    const Packed before = std::exchange(packed, {});
    if (form.k <= tiles.block_k && n >= kColumns<T>) {
      if (read == Lhs::packed) packed.lhs = batch * tiles.count_m + i / tiles.tile_m;
      packed.rhs = batch * tiles.count_n + j / tiles.tile_n;
    }
    const bool has_lhs = packed.lhs >= 0 && packed.lhs == before.lhs;
    const bool has_rhs = packed.rhs >= 0 && packed.rhs == before.rhs;
    const auto go = [&]<int kM, int kN, Lhs kLhs>() {
      for (int64_t p = 0; p < form.k; p += tiles.block_k, how.adds = true) {
        const int64_t k = std::min(tiles.block_k, form.k - p);
        multiply_panels<T, kM, kN, kLhs>(m, n, k, a.from(0, p), b.from(0, p), to, form.n, how, packed_lhs, packed_rhs,
                                         has_lhs, has_rhs);
      }
    };
    // Enough sums at once that none waits for the one before.
    const auto go_by = [&]<Lhs kLhs>() {
      if (n >= kColumns<T>) {
        go.template operator()<kRows, kColumns<T>, kLhs>();
      } else {
        go.template operator()<kLhs == Lhs::by_rows ? 8 : 2 * kRows, kColumns<T> / 2, kLhs>();
      }
    };
    switch (read) {
      case Lhs::packed: return go_by.template operator()<Lhs::packed>();
      case Lhs::by_rows: return go_by.template operator()<Lhs::by_rows>();
      case Lhs::by_terms: return go_by.template operator()<Lhs::by_terms>();
    }
  }

 private:
  // What few columns read is not worth packing, but where each term's rows are in lines of their own that the first
  // cache does not keep.
  Lhs how_to_read(int64_t n) const {
    const int64_t block = form.m * std::min(form.k, tiles.block_k) * static_cast<int64_t>(sizeof(T));
    if (n > kFewColumns<T> || form.lhs_narrow != planner::Narrow::no) return Lhs::packed;
    if (!form.lhs_transposed) return Lhs::by_rows;
    return block <= kKeptBytes ? Lhs::by_terms : Lhs::packed;
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
  const Product<T> product{form, lhs, rhs, static_cast<T*>(out), has_tiles && is_for_tiles(form)};
  const DotTiles& tiles = product.tiles;
  const bool small = !product.of_tiles && has_small_matrices(form);
  Shares shares(tiles.count, tiles.slots);
  const int64_t chunk = std::max<int64_t>(1, tiles.count / (int64_t{8} * tiles.slots));
  parallel_tasks(tiles.slots, [&](int slot) {
    const SubnormalsAreZero mode(form.of_bf16);
    std::byte* packing = scratch + static_cast<size_t>(slot) * tiles.slot_bytes;
    Packed packed;
    shares.take(slot, chunk, [&](int64_t begin, int64_t end) {
      if (small) {
        return multiply_small(form, static_cast<const T*>(lhs), static_cast<const T*>(rhs), product.out, begin, end);
      }
      for (int64_t i = begin; i < end; ++i) product.run(i, packing, packed);
    });
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
