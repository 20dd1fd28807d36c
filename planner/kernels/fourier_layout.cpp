#include <algorithm>

#include "planner/kernels/dot_scratch.h"
#include "planner/kernels/fourier_form.h"

namespace neap::planner {
namespace {

// `neap-bench --case ops --form fft` and its kin measure these.
constexpr int64_t kLeastWithin = 256;        // points; a matrix of fewer has rows and columns that fill no vector
constexpr int64_t kMostOfOneLane = 1 << 12;  // points that fit a cache sixteen times
constexpr size_t kInSlotBytes = 1 << 18;     // of a transform's work that is shared with nobody
constexpr int64_t kMostTurns = 1 << 12;      // roots that are kept rather than computed
constexpr double kMultiplications = 16;      // what a point of a pass takes as long as

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t padded(int64_t n, int64_t unit) { return ceil_div(n, unit) * unit; }
size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Chooses rows of a matrix of n elements: vectors along rows and along columns should be full, and both short.
int64_t choose_rows(int64_t n, int64_t lanes) {
  int64_t best = 1;
  double least = 0;
  for (int64_t rows = 2; rows * rows <= n; ++rows) {
    if (n % rows != 0) continue;
    for (const int64_t r : {rows, n / rows}) {
      const int64_t c = n / r;
      const double waste =
          static_cast<double>(r * padded(c, lanes) + c * padded(r, lanes)) / static_cast<double>(2 * n);
      const double unlike = static_cast<double>(std::max(r, c)) / static_cast<double>(std::min(r, c));
      const double cost = waste * (1 + unlike / 64);
      if (best == 1 || cost < least) best = r, least = cost;
    }
  }
  return best;
}

}  // namespace

Radices radices_of(int64_t n) {
  Radices all;
  const auto take = [&](int radix) {
    all.radix[static_cast<size_t>(all.count++)] = radix;
    n /= radix;
  };
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
  if (form.inner == 1) {
    layout.lanes = FourierLanes::outer;
    if (n >= kLeastWithin) {
      const int64_t rows = choose_rows(n, lanes), columns = n / rows;
      const bool full = 2 * rows * columns >= rows * padded(columns, lanes) && rows >= lanes / 2;
      if (full || (n > kMostOfOneLane && rows > 1)) {
        layout.lanes = FourierLanes::within;
        layout.rows = rows, layout.columns = columns;
      }
    }
  }
  const bool within = layout.lanes == FourierLanes::within;
  layout.tile_bytes = static_cast<size_t>(layout.rows + 1) * row;
  const size_t work = within ? static_cast<size_t>(padded(layout.rows, lanes) * layout.columns) * pair : 0;
  layout.in_slot = work <= kInSlotBytes;
  layout.slot_bytes = layout.tile_bytes + (layout.in_slot ? work : 0);
  layout.work_bytes = layout.in_slot ? 0 : work;
  const int64_t tiles = layout.lanes == FourierLanes::inner   ? form.outer * ceil_div(form.inner, lanes)
                        : layout.lanes == FourierLanes::outer ? ceil_div(form.outer, lanes)
                        : layout.in_slot                      ? form.outer
                                                              : ceil_div(layout.columns, lanes);
  const auto passes = static_cast<double>(radices_of(layout.rows).count + radices_of(layout.columns).count + 2);
  const double work_of_tile = passes * kMultiplications * static_cast<double>(layout.rows) *
                              static_cast<double>(within && layout.in_slot ? layout.columns : lanes);
  const double bytes =
      static_cast<double>(form.outer * n) * static_cast<double>(form.inner) * static_cast<double>(pair);
  layout.slots = tiles_in_flight(tiles, work_of_tile, bytes, layout.slot_bytes);

  const auto place = [&](size_t bytes_there) {
    const size_t at = layout.table_bytes;
    layout.table_bytes += rounded(bytes_there);
    return at;
  };
  const auto points = [](int64_t count) { return static_cast<size_t>(count); };
  // A pass by radix r of blocks of l has (r - 1) l / r roots: fewer than twice as many as there are elements, in all.
  layout.row_roots = place(points(2 * layout.rows) * pair);
  layout.column_roots = place(within ? points(2 * layout.columns) * pair : 0);
  layout.row_places = place(points(layout.rows + 1) * sizeof(int32_t));
  layout.column_places = place(within ? points(layout.columns + 1) * sizeof(int32_t) : 0);
  layout.is_short = n <= kMostTurns;
  const bool of_reals = form.kind != FourierKind::pairs;
  if (layout.is_short) {
    layout.turns = place(within ? points(layout.rows * padded(layout.columns, lanes)) * pair : 0);
    layout.halves = place(of_reals ? points(n + kMoreRoots) * pair : 0);
  } else if (within || of_reals) {
    layout.fine = place(points(2 * (kFineRoots + kMoreRoots)) * sizeof(double));
    layout.coarse = place(points(2 * (form.length / kFineRoots + 1)) * sizeof(double));
  }
  return layout;
}

}  // namespace neap::planner
