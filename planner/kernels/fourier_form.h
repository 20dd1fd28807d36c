// The shape of a Fourier transform, as planner/kernels/fourier.h defines it, and how a CPU runs it.
#pragma once

#include <neap/dtype.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace neap::planner {

enum class FourierKind : uint8_t { pairs, from_reals, to_reals };

/// Describes transforms of length `length` along the second axis of [outer, length, inner], whose complex elements are
/// pairs of numbers side by side. Of an even number of reals, or to as many, pairs has length / 2 + 1 elements.
struct FourierForm {
  DType dtype = DType::f32;  // of the parts: f32 or f64
  FourierKind kind = FourierKind::pairs;
  int64_t outer = 1, length = 1, inner = 1;
  bool reverse = false;  // the exponent is positive
  bool operator==(const FourierForm&) const = default;

  /// What is transformed as complex numbers: of reals, two are one.
  int64_t points() const { return kind == FourierKind::pairs ? length : length / 2; }
};

/// A length is transformed by its divisors, one after the other, none above this.
inline constexpr int64_t kMostRadix = 127;
struct Radices {
  std::array<int, 64> radix{};
  int count = 0;

  const int* begin() const { return radix.data(); }
  const int* end() const { return radix.data() + count; }
};
/// Returns them in the order in which they are taken; none where a prime above kMostRadix divides n, or n is 1 or less.
Radices radices_of(int64_t n);

/// Lengths from 256 on are matrices [rows, columns] of points: results are first along columns, then multiplied by
/// roots of unity, then along rows. That follows from the length alone, and with it the order of operations on each
/// element; what lies side by side in vectors, also from the other axes.
enum class FourierLanes : uint8_t {
  inner,  // the elements of the inner axis
  outer,  // transforms: they are short
  within  // columns, then rows of a transform
};

/// Elements of a vector, of the longest ones: columns and rows are filled up to so many.
constexpr int64_t fourier_lanes(DType dtype) { return dtype == DType::f64 ? 8 : 16; }

/// Says how a CPU runs it: by shape alone, never by threads. What one lane computes does not depend on the others.
struct FourierLayout {
  FourierLanes lanes = FourierLanes::inner;
  int64_t rows = 1, columns = 1;  // of the matrix; otherwise points() and 1
  bool in_slot = true;            // a transform's work is in a slot, else in one array for all
  int slots = 1;                  // of scratch: tasks that run at once
  size_t tile_bytes = 0, slot_bytes = 0, work_bytes = 0;
  // What is known of a length before it is run (fourier_tables()): where it lies, in bytes.
  size_t row_roots = 0, column_roots = 0;    // of the passes along each
  size_t row_places = 0, column_places = 0;  // int32: where result k of the passes lies
  size_t places = 0;                         // of all passes, where a tile has all points; one more
  size_t turns = 0;  // roots between columns and rows, of each row turn_row real parts, then imaginary ones
  int64_t turn_row = 0;
  size_t halves = 0;  // roots of order `length` between reals and pairs, points() and kMoreRoots of them: the same
  size_t fine = 0, coarse = 0;  // f64: roots k, and k * kFineRoots, of order `length`: in pairs
  size_t table_bytes = 0;
  bool is_short = false;  // has turns and halves; else they are computed, of fine and coarse ones

  size_t scratch_bytes() const { return static_cast<size_t>(slots) * slot_bytes + work_bytes; }
};
FourierLayout fourier_layout(const FourierForm& form);

/// How many roots of unity lie side by side of which, with as coarse ones, all are computed.
inline constexpr int64_t kFineRoots = 1024;
/// They go on by so many, for vectors that begin anywhere.
inline constexpr int64_t kMoreRoots = 16;

}  // namespace neap::planner
