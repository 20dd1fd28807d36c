// What the factorizations share: views of matrices, and products of them in given packing space. Only files beside this
// one include it: they are compiled once for each instruction set (core/isa.h).
#pragma once

#include <Eigen/Core>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "core/factor/factor.h"
#include "core/function_ref.h"
#include "core/thread_pool.h"

#if defined(__FMA__) && !defined(__AVX512F__)
namespace Eigen::internal {

// Tiles of a product of two registers by four, not of three: twelve sums, three registers of one operand and one of the
// other are all sixteen that there are, and clang 19 keeps one of the sums in memory then, at half the speed.
template <class T>
struct SmallerTiles : gebp_traits<T, T, false, false, -1, GEBPPacketFull> {
  enum { mr = 2 * gebp_traits<T, T, false, false, -1, GEBPPacketFull>::LhsProgress };
};
template <>
class gebp_traits<float, float, false, false, Architecture::Target, GEBPPacketFull> : public SmallerTiles<float> {};
template <>
class gebp_traits<double, double, false, false, Architecture::Target, GEBPPacketFull> : public SmallerTiles<double> {};

}  // namespace Eigen::internal
#endif

namespace neap::factor::NEAP_ISA {

/// In a View, element (i, j) is data[i * down + j * across]; one of the two strides is 1.
template <class T>
struct View {
  T* data;
  int64_t rows, columns, down, across;

  T& operator()(int64_t i, int64_t j) const { return data[i * down + j * across]; }
  View block(int64_t i, int64_t j, int64_t r, int64_t c) const { return {&(*this)(i, j), r, c, down, across}; }
  View transposed() const { return {data, columns, rows, across, down}; }
};

/// Returns the view of a row-major matrix without gaps.
template <class T>
View<T> matrix(T* data, int64_t rows, int64_t columns) {
  return {data, rows, columns, columns, 1};
}

// A register's elements, wherever they lie in memory.
#if defined(__AVX512F__)
inline constexpr size_t kRegisterBytes = 64;
#elif defined(__AVX__)
inline constexpr size_t kRegisterBytes = 32;
#else
inline constexpr size_t kRegisterBytes = 16;
#endif
template <class T>
struct RegisterOf {
  using type [[gnu::vector_size(kRegisterBytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};
template <class T>
using Register = typename RegisterOf<T>::type;
template <class T>
inline constexpr int64_t kLanes = kRegisterBytes / sizeof(T);
template <class T>
Register<T>& lanes(T* at) {
  return *reinterpret_cast<Register<T>*>(at);
}
template <class T>
const Register<T>& lanes(const T* at) {
  return *reinterpret_cast<const Register<T>*>(at);
}

// Returns 0, 1, ... to the last lane.
template <class T>
Register<T> numbers() {
  return [&]<int... kAt>(std::integer_sequence<int, kAt...>) {
    return Register<T>{kAt...};
  }(std::make_integer_sequence<int, static_cast<int>(kLanes<T>)>());
}
// Lanes that count: of all bits, or of none.
template <class T>
using Lanes = Register<std::conditional_t<sizeof(T) == 8, int64_t, int32_t>>;
template <class T>
Lanes<T> lanes_between(int64_t begin, int64_t end) {
  using Number = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  const Register<Number> all = numbers<Number>();
  return (all >= static_cast<Number>(begin)) & (all < static_cast<Number>(end));
}
template <class T>
Register<T> masked(Register<T> x, Lanes<T> mask) {
  return (Register<T>)((Lanes<T>)x & mask);
}
// at[...] = x, in the lanes that count.
template <class T>
void put(T* at, Register<T> x, Lanes<T> mask) {
  lanes(at) = (Register<T>)((Lanes<T>)masked<T>(x, mask) | (Lanes<T>)masked<T>(lanes(at), ~mask));
}
// Calls visit.operator()<some>(j, mask) for [begin, end), of which the end is a register's or more, in registers that
// lie before the end and each of which begins at j; where not all lanes count (`some`) the mask says which.
template <class T, class Visit>
void in_registers(int64_t begin, int64_t end, const Visit& visit) {
  constexpr int64_t kLength = kLanes<T>;
  int64_t j = end - (end - begin + kLength - 1) / kLength * kLength;
  if (j < 0) {
    visit.template operator()<true>(0, lanes_between<T>(begin, j + kLength));
    j += kLength;
  } else if (j < begin) {
    visit.template operator()<true>(j, lanes_between<T>(begin - j, kLength));
    j += kLength;
  }
  for (; j < end; j += kLength) visit.template operator()<false>(j, Lanes<T>{});
}

// Calls visit.operator()<count>(i) for rows [begin, end), as many at once as registers allow.
template <class Visit>
void in_rows(int64_t begin, int64_t end, const Visit& visit) {
  constexpr int kCount = kRegisterBytes == 64 ? 4 : 2;
  for (; begin + kCount <= end; begin += kCount) visit.template operator()<kCount>(begin);
  for (; begin < end; ++begin) visit.template operator()<1>(begin);
}

// What a reduction does with the rows of a matrix is shared by threads in strips of so many at most: shorter ones would
// wait for each other longer than they compute. Time forms svd and eigh of case ops to choose it again.
inline constexpr int64_t kSharedRows = 256;
// Returns the number of strips of `rows` rows.
inline int64_t shares(int64_t rows) { return std::max<int64_t>(1, (rows + kSharedRows - 1) / kSharedRows); }

// Returns the sum of all lanes, by halves.
template <class T, class Lanes>
T total(Lanes x) {
  constexpr int kHalf = sizeof(Lanes) / sizeof(T) / 2;
  if constexpr (kHalf == 0) {
    return x;
  } else {
    return [&]<int... kAt>(std::integer_sequence<int, kAt...>) {
      if constexpr (kHalf == 1) {
        return x[0] + x[1];
      } else {
        return total<T>(__builtin_shufflevector(x, x, kAt...) + __builtin_shufflevector(x, x, (kAt + kHalf)...));
      }
    }(std::make_integer_sequence<int, kHalf>());
  }
}
template <class T>
auto vec(T* data, int64_t n) {
  using Array = Eigen::Array<std::remove_const_t<T>, Eigen::Dynamic, 1>;
  return Eigen::Map<std::conditional_t<std::is_const_v<T>, const Array, Array>>(data, n);
}

// Extents of the blocks of a product that are packed at once. Larger blocks pass over the operands less often, but take
// more of the caches and of the packing space of each strip, which a plan counts as scratch; the bits of results depend
// on them. Time forms cholesky and qr of case ops to choose them again.
constexpr int64_t kDepth = 192, kRows = 96, kColumns = 192;

inline size_t round_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Work computes on one matrix: products and loops over strips, in the packing space of a slot.
template <class T>
class Work {
 public:
  /// Takes the packing space of a slot: `packing_bytes` for each of `strips`.
  Work(std::byte* packing, size_t packing_bytes, int strips)
      : packing_(packing), bytes_(packing_bytes), strips_(strips) {}

  // Returns the packing bytes of one strip, for matrices of extents up to `largest`.
  static size_t packing_bytes(int64_t largest) {
    const int64_t depth = std::min(kDepth, largest), rows = std::min(kRows, largest),
                  columns = std::min(kColumns, largest);
    return round_up(static_cast<size_t>(rows * depth) * sizeof(T)) +
           round_up(static_cast<size_t>(depth * columns) * sizeof(T));
  }

  /// Returns the packing space, which is free between products.
  T* room() const { return reinterpret_cast<T*>(packing_); }

  /// Returns the last `count` elements of the packing space, which is larger by so much.
  T* beside(size_t count) const { return reinterpret_cast<T*>(packing_ + bytes_) - count; }

  /// Calls f(begin, end, work of one strip) over [0, n) in strips of a fixed length.
  void strips(int64_t n, FunctionRef<void(int64_t, int64_t, const Work&)> f, int64_t length = kColumns) const {
    const int64_t count = (n + length - 1) / length;
    parallel_in_slots(count, strips_, [&](int64_t i, int slot) {
      f(i * length, std::min(n, (i + 1) * length), Work(packing_ + static_cast<size_t>(slot) * bytes_, bytes_, 1));
    });
  }

  /// Computes c += alpha a b.
  void product(View<T> c, View<T> a, View<T> b, T alpha) const {
    if (c.rows == 0 || c.columns == 0 || a.columns == 0) return;
    if (c.down != 1) {  // Eigen's kernel wants columns one behind the other
      const View<T> swapped = b.transposed();
      b = a.transposed();
      a = swapped;
      c = c.transposed();
    }
    strips(c.columns, [&](int64_t begin, int64_t end, const Work& own) {
      own.strip(c.block(0, begin, c.rows, end - begin), a, b.block(0, begin, b.rows, end - begin), alpha);
    });
  }

 private:
  struct Blocking : Eigen::internal::level3_blocking<T, T> {
    Blocking(T* a, T* b, int64_t mc, int64_t nc, int64_t kc) {
      this->m_blockA = a;
      this->m_blockB = b;
      this->m_mc = mc;
      this->m_nc = nc;
      this->m_kc = kc;
    }
  };

  void strip(View<T> c, View<T> a, View<T> b, T alpha) const {
    const bool a_by_columns = a.down == 1, b_by_columns = b.down == 1;
    const auto go = [&]<bool kA, bool kB>() {
      const int64_t depth = std::min(kDepth, a.columns), rows = std::min(kRows, c.rows);
      T* const packed_a = reinterpret_cast<T*>(packing_);
      T* const packed_b = reinterpret_cast<T*>(packing_ + round_up(static_cast<size_t>(rows * depth) * sizeof(T)));
      Blocking blocking(packed_a, packed_b, rows, std::min(kColumns, c.columns), depth);
      Eigen::internal::general_matrix_matrix_product<Eigen::Index, T, kA ? Eigen::ColMajor : Eigen::RowMajor, false, T,
                                                     kB ? Eigen::ColMajor : Eigen::RowMajor, false, Eigen::ColMajor,
                                                     1>::run(c.rows, c.columns, a.columns, a.data,
                                                             kA ? a.across : a.down, b.data, kB ? b.across : b.down,
                                                             c.data, 1, c.across, alpha, blocking);
    };
    if (a_by_columns) {
      b_by_columns ? go.template operator()<true, true>() : go.template operator()<true, false>();
    } else {
      b_by_columns ? go.template operator()<false, true>() : go.template operator()<false, false>();
    }
  }

  std::byte* packing_;
  size_t bytes_;
  int strips_;
};

/// Triangle says which half of a matrix is read, and whether its diagonal is taken as ones.
struct Triangle {
  bool lower = true, unit = false;
};

/// Computes b := t^-1 b, t triangular (triangular.cpp).
template <class T>
void solve(View<T> t, Triangle form, View<T> b, const Work<T>& work);
template <class T>
void cholesky(View<T> a, const Work<T>& work);

/// Computes v := the tangent of l where v was that of its matrix, of the lower triangles of both
/// (cholesky_derivatives.cpp).
template <class T>
void cholesky_tangent(View<T> l, View<T> v, const Work<T>& work);
/// Reads the lower triangle of `packed`, L, and overwrites what is above, the cotangent of L, transposed, and
/// `diagonal`, that of its diagonal, by the cotangent of the matrix. The packing space has kBesideCotangent elements
/// more.
template <class T>
void cholesky_cotangent(View<T> packed, T* diagonal, const Work<T>& work);
inline constexpr size_t kBesideCotangent = 48 * 48;
/// Puts l and the cotangent of its lower triangle together as cholesky_cotangent() takes them; out may be `cotangent`.
template <class T>
void pack_cotangent(const T* l, const T* cotangent, int64_t n, T* out, T* diagonal);
/// Takes the cotangent of the matrix out, with zeros above the diagonal.
template <class T>
void unpack_cotangent(T* packed, int64_t n, const T* diagonal);

/// Factors a in place into L and U; `swapped` gets the row that each of the first k rows was swapped with.
template <class T>
void lu(View<T> a, int64_t* swapped, const Work<T>& work);

/// Computes a := R above the diagonal, the reflectors below it; `scales` has k elements, `panel` has panel_size(m, n)
/// (qr.cpp).
template <class T>
void reflect(View<T> a, T* scales, T* panel, const Work<T>& work);
// Reflectors that are applied at once: more put a larger share of the work into products, but add to the plain loops
// that reduce a panel, and to the work space. Time linalg::qr at n = 1000 to choose it again.
inline constexpr int64_t kPanel = 32;
inline int64_t panel_size(int64_t m, int64_t n) { return m * kPanel + 2 * kPanel * (kPanel + std::max(m, n)); }
/// Overwrites q [m, columns], whose first `count` columns hold reflectors, by the first columns of their product.
template <class T>
void form_q(View<T> q, int64_t count, const T* scales, T* panel, const Work<T>& work);
/// Computes c := Q c, Q the product of the reflectors in the columns of v.
template <class T>
void apply_q(View<T> v, int64_t count, const T* scales, View<T> c, T* panel, const Work<T>& work);

/// Does the same where reflector i lies at at(i), one element behind the other and with its one.
template <class T>
void apply_q(FunctionRef<const T*(int64_t)> at, int64_t count, const T* scales, View<T> c, T* panel,
             const Work<T>& work);

/// A Reflector is H = 1 - scale v v^T with H x = (result, 0, ...). reflector() overwrites x with v; v[0] = 1 is not
/// stored.
template <class T>
struct Reflector {
  T scale, result;
};
template <class T>
Reflector<T> reflector(T* x, int64_t n, int64_t stride);

/// Replaces a [n, n] by its transpose.
template <class T>
void transpose_in_place(T* a, int64_t n) {
  constexpr int64_t kTile = 16;  // rows and columns: two tiles of doubles, 4 KiB, stay in the first cache
  for (int64_t i = 0; i < n; i += kTile) {
    for (int64_t j = 0; j <= i; j += kTile) {
      for (int64_t r = i; r < std::min(n, i + kTile); ++r) {
        for (int64_t c = j; c < std::min(r, j + kTile); ++c) std::swap(a[r * n + c], a[c * n + r]);
      }
    }
  }
}

template <class T>
void qr(const Form& form, const T* a, T* out, std::byte* room, const Work<T>& work);
size_t qr_room(const Form& form);
template <class T>
void eigh(const Form& form, const T* a, T* out, std::byte* room, const Work<T>& work);
size_t eigh_room(const Form& form);
size_t eigh_strip_room(const Form& form);  // of each strip, beside packing; 0 where it is rotations that need room
template <class T>
void svd(const Form& form, const T* a, T* out, std::byte* room, const Work<T>& work);
size_t svd_room(const Form& form);
size_t svd_strip_room(const Form& form);

}  // namespace neap::factor::NEAP_ISA
