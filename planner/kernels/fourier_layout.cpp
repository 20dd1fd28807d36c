#include <algorithm>

#include "core/round_up.h"
#include "planner/kernels/dot_scratch.h"
#include "planner/kernels/fourier_form.h"

namespace neap::planner {
namespace {

// `neap-bench --case ops --form fft` and its kin measure these.
constexpr int64_t kLeastWithin = 256;     // points; a matrix of fewer has rows and columns that fill no vector
constexpr double kMostWaste = 3;          // of vectors that are not full
constexpr size_t kInSlotBytes = 1 << 18;  // of a transform's work that is shared with nobody
constexpr int64_t kShort = 1 << 12;       // points that fit a cache sixteen times, and whose roots are kept
constexpr double kMultiplications = 16;   // what a point of a pass takes as long as

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t padded(int64_t n, int64_t unit) { return ceil_div(n, unit) * unit; }

// The part of vectors along rows and along columns that is used, of a matrix of n elements.
double waste(int64_t rows, int64_t columns, int64_t lanes) {
  return static_cast<double>(rows * padded(columns, lanes) + columns * padded(rows, lanes)) /
         static_cast<double>(2 * rows * columns);
}

// Chooses rows of a matrix of n elements: vectors along rows and along columns should be full, and both short.
int64_t choose_rows(int64_t n, int64_t lanes) {
  int64_t best = 1;
  double least = 0;
  for (int64_t rows = 2; rows * rows <= n; ++rows) {
    if (n % rows != 0) continue;
    for (const int64_t r : {rows, n / rows}) {
      const double unlike = static_cast<double>(n / rows) / static_cast<double>(rows);
      const double cost = waste(r, n / r, lanes) * (1 + unlike / 64);
      if (best == 1 || cost < least) best = r, least = cost;
    }
  }
  return best;
}

// Roots that the passes over n points have: fewer than there are points, and those of odd radices.
size_t count_roots(int64_t n) {
  int64_t count = n;
  for (const int radix : radices_of(n)) count += radix;
  return static_cast<size_t>(count);
}

}  // namespace

Radices radices_of(int64_t n) {
  Radices all;
  const auto take = [&](int radix) {
    all.radix[static_cast<size_t>(all.count++)] = radix;
    n /= radix;
  };
  if (n < 2) return all;
  while (n % 8 == 0 && n != 16) take(8);
  for (const int radix : {4, 2, 3, 5, 7}) {
    while (n % radix == 0) take(radix);
  }
  for (int radix = 11; radix <= kMostRadix; radix += 2) {
    while (n % radix == 0) take(radix);
  }
  if (n != 1) all.count = 0;
  return all;
}

FourierLayout fourier_layout(const FourierForm& form) {
  FourierLayout layout;
  const int64_t n = form.points(), lanes = fourier_lanes(form.dtype);
  const size_t pair = 2 * size_of(form.dtype), row = pair * static_cast<size_t>(lanes);
  layout.rows = n;
  if (n >= kLeastWithin) {
    const int64_t rows = choose_rows(n, lanes);
    if (rows > 1 && (n > kShort || waste(rows, n / rows, lanes) <= kMostWaste)) {
      layout.rows = rows, layout.columns = n / rows;
    }
  }
  const bool split = layout.columns > 1, wide = 2 * form.inner >= lanes;
  layout.lanes = split && (n > kShort || !wide) ? FourierLanes::within
                 : wide                         ? FourierLanes::inner
                                                : FourierLanes::outer;
  const bool within = layout.lanes == FourierLanes::within;
  layout.tile_bytes = static_cast<size_t>(within ? layout.rows : n + 1 + (split ? layout.rows : 0)) * row;
  const size_t work = within ? static_cast<size_t>(padded(layout.rows, lanes) * layout.columns) * pair : 0;
  layout.in_slot = work <= kInSlotBytes;
  layout.slot_bytes = layout.tile_bytes + (layout.in_slot ? work : 0);
  layout.work_bytes = layout.in_slot ? 0 : work;
  const int64_t tiles = layout.lanes == FourierLanes::inner   ? form.outer * ceil_div(form.inner, lanes)
                        : layout.lanes == FourierLanes::outer ? ceil_div(form.outer * form.inner, lanes)
                        : layout.in_slot                      ? form.outer * form.inner
                                                              : ceil_div(layout.columns, lanes);
  const auto passes = static_cast<double>(radices_of(layout.rows).count + radices_of(layout.columns).count + 2);
  const double work_of_tile = passes * kMultiplications *
                              static_cast<double>(within && !layout.in_slot ? layout.rows : n) *
                              static_cast<double>(within && layout.in_slot ? 1 : lanes);
  const double bytes =
      static_cast<double>(form.outer * n) * static_cast<double>(form.inner) * static_cast<double>(pair);
  layout.slots = tiles_in_flight(tiles, work_of_tile, bytes, layout.slot_bytes);

  const auto place = [&](size_t bytes_there) {
    const size_t at = layout.table_bytes;
    layout.table_bytes += round_up_64(bytes_there);
    return at;
  };
  const auto points = [](int64_t count) { return static_cast<size_t>(count); };
  layout.row_roots = place(count_roots(layout.rows) * pair);
  layout.column_roots = place(split ? count_roots(layout.columns) * pair : 0);
  layout.row_places = place(split ? points(layout.rows) * sizeof(int32_t) : 0);
  layout.column_places = place(within ? points(layout.columns) * sizeof(int32_t) : 0);
  layout.places = place(within ? 0 : points(n + 1) * sizeof(int32_t));
  layout.is_short = n <= kShort;
  const bool of_reals = form.kind != FourierKind::pairs;
  if (layout.is_short) {
    layout.turn_row = padded(layout.columns, lanes);
    layout.turns = place(split ? points(layout.rows * layout.turn_row) * pair : 0);
    layout.halves = place(of_reals ? points(n + kMoreRoots) * pair : 0);
  } else if (within || of_reals) {
    layout.fine = place(points(2 * (kFineRoots + kMoreRoots)) * sizeof(double));
    layout.coarse = place(points(2 * (form.length / kFineRoots + 1)) * sizeof(double));
  }
  return layout;
}

}  // namespace neap::planner
