#include "planner/kernels/dot_scratch.h"

#include <algorithm>
#include <utility>

namespace neap::planner {
namespace {

// neap-cost's "product" and "thin product" measure these. Tiles are in elements: a tile's share of out stays in the
// cache nearest to the core but one, and costs a few percent to pack.
constexpr int64_t kTileM = 512, kTileN = 256, kBlockK = kDotBlock, kLeastTile = 32;
constexpr int64_t kEnoughTiles = 16;  // with fewer, tiles are halved, so that more threads have some
constexpr int64_t kSmall = 16;        // rows, columns and terms of matrices that are small
constexpr double kMultiplicationsAByte =
    4;                          // that take a core as long as a byte does; 10,000 of 3 x 3 take 0.09 ms for 0.17 so
constexpr int kMostSlots = 16;  // tiles in flight: more let more threads work, and take more scratch

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Cuts an extent into so many tiles alike, or fewer, without a narrow rest; returns how long they are.
int64_t even(int64_t extent, int64_t count) { return std::min(extent, ceil_div(ceil_div(extent, count), 16) * 16); }

size_t packed(int64_t rows, int64_t k, DType dtype) {
  return (static_cast<size_t>(rows * k) * size_of(dtype) + 63) / 64 * 64;
}

// The tiles of a product by their extents: how many there are, and what they pack.
void count_tiles(const DotForm& form, DotTiles& t) {
  t.count_m = ceil_div(form.m, t.tile_m);
  t.count_n = ceil_div(form.n, t.tile_n);
  t.count = form.batch * t.count_m * t.count_n;
  t.lhs_bytes = packed(t.tile_m, t.block_k, form.dtype);
  t.slot_bytes = t.lhs_bytes + packed(t.tile_n, t.block_k, form.dtype);
}

}  // namespace

int tiles_in_flight(int64_t count, double multiplications, double operand_bytes, size_t slot_bytes) {
  const double affordable = operand_bytes / 8 / static_cast<double>(slot_bytes);
  const double worth = multiplications * static_cast<double>(count) / kWorthATile;
  const double most = std::clamp(std::min(std::max(affordable, 2.0), worth), 1.0, double{kMostSlots});
  return static_cast<int>(std::clamp<int64_t>(count, 1, static_cast<int>(most)));
}

DotTiles dot_tiles(const DotForm& form) {
  DotTiles t;
  t.tile_m = std::clamp<int64_t>(form.m, 1, kTileM);
  t.tile_n = std::clamp<int64_t>(form.n, 1, kTileN);
  t.block_k = std::clamp<int64_t>(form.k, 1, kBlockK);
  const auto count = [&] { return form.batch * ceil_div(form.m, t.tile_m) * ceil_div(form.n, t.tile_n); };
  const auto work = [&] {
    return static_cast<double>(t.tile_m) * static_cast<double>(t.tile_n) * static_cast<double>(form.k);
  };
  // Small products: smaller tiles, so that several threads have some.
  while (count() < kEnoughTiles && work() > 2 * kWorthATile && std::max(t.tile_m, t.tile_n) > kLeastTile) {
    int64_t& larger = t.tile_m >= t.tile_n ? t.tile_m : t.tile_n;
    larger = ceil_div(ceil_div(larger, 2), 16) * 16;
  }
  t.tile_m = even(form.m, ceil_div(form.m, t.tile_m));
  t.tile_n = even(form.n, ceil_div(form.n, t.tile_n));
  count_tiles(form, t);
  const double bytes = static_cast<double>(size_of(form.dtype)) * static_cast<double>(form.batch) *
                       (static_cast<double>(form.m) * static_cast<double>(form.k) +
                        static_cast<double>(form.k) * static_cast<double>(form.n) +
                        static_cast<double>(form.m) * static_cast<double>(form.n));
  // Many small matrices wait for memory, not for multiplications.
  const bool small = form.batch > 1 && std::max({form.m, form.n, form.k}) <= kSmall;
  const double moved = kMultiplicationsAByte * bytes / static_cast<double>(std::max<int64_t>(t.count, 1));
  t.slots = tiles_in_flight(t.count, small ? std::max(work(), moved) : work(), bytes, t.slot_bytes);
  return t;
}

DotTiles one_by_one(const DotForm& form, const DotTiles& tiles) {
  const size_t scratch = static_cast<size_t>(tiles.slots) * tiles.slot_bytes;
  DotTiles best = tiles;
  const auto elements = [&](const DotTiles& t) { return t.count_n * form.m + t.count_m * form.n; };  // packed, by k
  for (bool larger = true; std::exchange(larger, false);) {
    const DotTiles from = best;
    for (const bool of_m : {true, false}) {
      DotTiles t = from;
      int64_t& tile = of_m ? t.tile_m : t.tile_n;
      tile = even(of_m ? form.m : form.n, ceil_div(of_m ? t.count_m : t.count_n, 2));
      count_tiles(form, t);
      const bool fits = t.tile_m <= kTileM && t.tile_n <= kTileN && t.slot_bytes <= scratch;
      if (!fits || elements(t) >= elements(best)) continue;
      best = t;
      larger = true;
    }
  }
  best.slots = 1;
  return best;
}

size_t dot_scratch_bytes(const DotForm& form) {
  const DotTiles t = dot_tiles(form);
  return static_cast<size_t>(t.slots) * t.slot_bytes;
}

}  // namespace neap::planner
